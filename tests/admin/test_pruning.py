"""Pruning in the admin: asked, shown, done exactly as shown, undone with one click."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone

from django_agent_memory.exceptions import Busy
from django_agent_memory.memory import Memory
from django_agent_memory.models import Grant, Note, NoteUsage, SavedRule, Workspace
from django_agent_memory.writing import Save

from .browser import fields_of
from .conftest import url, workspace_of
from .test_safety import ATTACKS, dangers
from .test_timeline import messages_of, text_of

Member = Callable[..., Client]
UNDOERS = ("add_note", "change_note", "delete_note")


@pytest.fixture
def logs(memory: Memory) -> Memory:
    """Three logs, of which one has no index line, and a fact."""
    memory.apply(
        [
            Save(key=f"log/{n}", body="x" * n, summary="s" if n else None, kind="log")
            for n in range(3)
        ]
    )
    memory.remember("fact", "s", "b", kind="fact")
    return memory


def at(memory: Memory, page: str = "prune") -> str:
    return url("workspace", page, workspace_of(memory))


def ask(browser: Client, memory: Memory, **typed: Any) -> Any:
    return browser.post(at(memory), {"kind": "log", "reason": "too much talk", **typed})


def first_form(page: Any) -> dict[str, str]:
    """Return what the form that forgets sends; behind it is that which saves the rule."""
    fields = fields_of(page)
    fields.pop("name", None)
    return fields


def confirm(browser: Client, memory: Memory, preview: Any, **typed: Any) -> Any:
    return browser.post(at(memory), {**first_form(preview), **typed}, follow=True)


def test_it_asks_which_notes_may_go_and_why(logs: Memory, admin: Client) -> None:
    page = admin.get(url("workspace", "change", workspace_of(logs)))
    assert f'href="{at(logs)}"' in page.content.decode()
    text = text_of(admin.get(at(logs)))
    for label in ("Last written more than", "Not used for", "Weight below", "Longer than"):
        assert label in text
    assert "Saved rules" not in text
    for wrong in (
        {"kind": "", "reason": ""},
        {"reason": " "},
        {"reason": "x" * 1_001},
        {"kind": ""},
        {"older_than_days": "0"},
        {"older_than_days": "36501"},
        {"unrecalled_days": "x"},
        {"weight_below": "0"},
        {"weight_below": "nan"},
        {"size_above": "-1"},
        {"kind": "x" * 65},
        {"slot": "a\0"},
        {"context": "a\r\nb\x01"},
    ):
        response = ask(admin, logs, **wrong)
        assert response.context["form"].errors, wrong
        assert 'name="confirmed"' not in response.content.decode()
    assert logs.revision() == 4


@pytest.mark.parametrize(("n", "fits"), [("1", True), ("36500", True)])
def test_the_bounds_of_days_are_accepted(logs: Memory, admin: Client, n: str, fits: bool) -> None:
    response = ask(admin, logs, older_than_days=n, unrecalled_days=n, size_above="1000000000")
    assert response.context["form"].is_valid() is fits
    assert response.context["total"] == 0


def test_the_preview_says_what_goes_and_what_it_saves(logs: Memory, admin: Client) -> None:
    before = len(logs.index_note())
    page = ask(admin, logs, size_above="0")
    text = text_of(page)
    assert "2 notes will be forgotten" in text
    # Two lines of "- log/1: s" and the newline in front of each.
    assert "22 characters shorter, about 6 tokens" in text
    assert "<li>kind <bdi>“log”</bdi></li>" in text
    assert "<li>longer than 0 characters</li>" in text
    assert [str(key) for _path, key, _when in page.context["sample"]] == [
        '<bdi class="agent-memory-key">log/1</bdi>',
        '<bdi class="agent-memory-key">log/2</bdi>',
    ]
    assert logs.revision() == 4
    confirm(admin, logs, page)
    assert before - len(logs.index_note()) == 22


def test_it_forgets_and_one_click_brings_it_back(logs: Memory, admin: Client) -> None:
    done = confirm(admin, logs, ask(admin, logs))
    assert messages_of(done) == ["3 notes were forgotten."]
    batch = f"{at(logs, 'batch')}?first=5&last=7"
    assert done.redirect_chain == [(batch, 302)]
    assert logs.keys() == ("fact",)
    last = logs.history("log/1")[-1]
    assert (last.operation, last.actor, last.reason) == ("forget", "ada", "too much talk")
    text = text_of(done)
    assert "<bdi>ada</bdi> forgot 3 notes." in text
    assert "3 of them can be brought back as they were." in text
    assert "too much talk" in text

    undone = admin.post(batch, fields_of(done), follow=True)
    assert messages_of(undone) == ["3 notes were brought back."]
    assert logs.keys() == ("fact", "log/0", "log/1", "log/2")
    last = logs.history("log/1")[-1]
    assert (last.operation, last.actor) == ("restore", "ada")
    assert last.reason == "Undo of revisions 5 to 7"
    assert "None of them is to be brought back any more" in text_of(undone)
    assert 'type="submit"' not in undone.content.decode().partition('id="content-main"')[2]
    lines = LogEntry.objects.order_by("pk")
    assert [(line.action_flag, line.get_change_message()) for line in lines] == [
        (CHANGE, "Forgot 3 notes. too much talk"),
        (CHANGE, "3 notes were brought back."),
    ]

    again = admin.post(batch, fields_of(done), follow=True)
    assert messages_of(again)[0] == "0 notes were brought back."
    assert logs.revision() == 10


def test_what_was_written_since_is_left_alone_by_the_undo(logs: Memory, admin: Client) -> None:
    done = confirm(admin, logs, ask(admin, logs))
    logs.remember("log/1", "s", "newer")
    logs.redact("log/2")
    batch = done.redirect_chain[0][0]
    page = admin.get(batch)
    assert "1 of them can be brought back" in text_of(page)
    states = [state for _key, _way, state in page.context["sample"]]
    assert states == ["forgotten", "written since", "its text was redacted or removed"]
    undone = admin.post(batch, fields_of(page), follow=True)
    assert messages_of(undone) == [
        "1 note was brought back.",
        "2 keys were left alone: they were written since, or their text was redacted or removed.",
    ]
    assert logs.recall("log/1").body == "newer"
    assert logs.keys() == ("fact", "log/0", "log/1")


@pytest.mark.parametrize("change", ["written", "forgotten", "another", "recalled"])
def test_only_exactly_what_was_shown_is_forgotten(logs: Memory, admin: Client, change: str) -> None:
    Note.objects.update(updated_at=timezone.now() - datetime.timedelta(days=9))
    preview = ask(admin, logs, unrecalled_days="3")
    assert preview.context["total"] == 3
    if change == "written":
        logs.remember("log/1", "s", "newer")
    elif change == "forgotten":
        logs.forget("log/1")
    elif change == "another":
        logs.remember("log/9", "s", "b", kind="log")
        Note.objects.filter(key="log/9").update(updated_at="2020-01-01T00:00:00Z")
    else:
        note = Note.objects.get(key="log/1")
        NoteUsage.objects.create(
            workspace=note.workspace, position=note.position, recalled_at=timezone.now()
        )
    revision = logs.revision()
    again = confirm(admin, logs, preview)
    assert messages_of(again) == [
        "Something was written or recalled after you looked, so nothing was forgotten. Look again."
    ]
    assert again.context["total"] == (4 if change == "another" else 2)
    assert logs.revision() == revision
    confirm(admin, logs, again)
    assert len(logs.keys("log/")) == (0 if change in ("another", "forgotten") else 1)


def test_time_that_passes_after_the_look_adds_nothing(logs: Memory, admin: Client) -> None:
    """A note that grows old enough between the preview and the click is not forgotten."""
    now = timezone.now()
    Note.objects.filter(key="log/0").update(updated_at=now - datetime.timedelta(days=2))
    edge = now + datetime.timedelta(seconds=2) - datetime.timedelta(days=1)
    Note.objects.filter(key="log/1").update(updated_at=edge)
    preview = ask(admin, logs, older_than_days="1")
    assert preview.context["total"] == 1
    with mock.patch.object(timezone, "now", return_value=now + datetime.timedelta(seconds=9)):
        confirm(admin, logs, preview)
        assert logs.keys("log/") == ("log/1", "log/2")
    for sent in ("", "x", "0001-01-01T00:00:00+00:00", "9999-12-31T00:00:00+00:00", "2020-01-01"):
        assert ask(admin, logs, seen_at=sent, older_than_days="1").context["total"] == 0


def test_a_write_at_the_same_moment_is_not_overwritten(logs: Memory, admin: Client) -> None:
    preview, genuine = ask(admin, logs), Memory.apply

    def late(self: Memory, *args: Any, **kwargs: Any) -> Any:
        Memory("core", actor="agent").remember("log/1", "s", "newer")
        return genuine(self, *args, **kwargs)

    with mock.patch.object(Memory, "apply", late):
        again = confirm(admin, logs, preview)
    assert messages_of(again)[0].startswith("Something was written or recalled")
    assert len(logs.keys("log/")) == 3


def test_a_busy_database_loses_nothing(logs: Memory, admin: Client) -> None:
    preview = ask(admin, logs)
    with mock.patch.object(Memory, "apply", side_effect=Busy("busy")):
        again = confirm(admin, logs, preview)
    assert messages_of(again) == ["The memory is busy, so nothing was written. Try it again."]
    assert first_form(again)["reason"] == "too much talk"
    done = confirm(admin, logs, again)
    batch = done.redirect_chain[0][0]
    with mock.patch.object(Memory, "apply", side_effect=Busy("busy")):
        still = admin.post(batch, fields_of(done), follow=True)
    assert messages_of(still) == ["The memory is busy, so nothing was written. Try it again."]
    assert logs.keys() == ("fact",)


def test_nothing_that_fits_and_another_choice(logs: Memory, admin: Client) -> None:
    page = ask(admin, logs, kind="none", reason="why")
    assert "No note is like that now" in text_of(page)
    assert 'name="confirmed"' not in page.content.decode()
    form = admin.post(at(logs), {**first_form(ask(admin, logs, expired="on")), "_again": "1"})
    sent = fields_of(form)
    assert (sent["kind"], sent["reason"], sent["expired"]) == ("log", "too much talk", "on")
    assert "seen_at" not in sent


def test_two_operators_at_once(logs: Memory, admin: Client, member: Member) -> None:
    other = member("delete_note")
    ours, theirs = ask(admin, logs), ask(other, logs)
    assert messages_of(confirm(other, logs, theirs)) == ["3 notes were forgotten."]
    again = confirm(admin, logs, ours)
    assert messages_of(again)[0].startswith("Something was written or recalled")
    assert again.context["total"] == 0
    assert logs.revision() == 7


# Saved rules


def save(browser: Client, memory: Memory, name: str, **typed: Any) -> Any:
    preview = ask(browser, memory, **typed)
    return browser.post(at(memory), {**first_form(preview), "name": name, "_save": "1"})


def test_a_rule_is_saved_and_used_again(logs: Memory, admin: Client) -> None:
    page = save(admin, logs, "chatter", size_above="1", duplicates="on", weight_below="2.5")
    assert messages_of(page) == ["The rule was saved; memory_prune --rules runs it too."]
    assert logs.revision() == 4
    saved = SavedRule.objects.get()
    assert (saved.name, saved.workspace.path) == ("chatter", "core")
    rule = {"kind": "log", "size_above": 1, "duplicates": True, "weight_below": 2.5}
    assert saved.rule == rule
    (line,) = LogEntry.objects.all()
    assert (line.action_flag, line.object_repr) == (ADDITION, "chatter")
    form = admin.get(at(logs))
    assert f'href="{at(logs)}?rule={saved.pk}"' in form.content.decode()
    assert "weight below 2.5, longer than 1 characters, kind" in text_of(form)
    filled = fields_of(admin.get(at(logs), {"rule": saved.pk}))
    assert {name: filled[name] for name in rule} == {
        "kind": "log",
        "size_above": "1",
        "duplicates": "on",
        "weight_below": "2.5",
    }
    for other in ("x", "99999", "9" * 50, ""):
        assert fields_of(admin.get(at(logs), {"rule": other}))["kind"] == ""
    taken = save(admin, logs, "chatter")
    assert messages_of(taken) == ["There is a rule of this name already; choose another."]
    for name, sentence in (("", "Give the rule a name."), ("x" * 101, "The name is too long")):
        assert messages_of(save(admin, logs, name))[0].startswith(sentence)
    assert "_save" not in fields_of(save(admin, logs, "never", reason=""))
    assert SavedRule.objects.count() == 1


def test_rules_for_every_workspace_are_of_those_who_may_prune_in_every_one(
    logs: Memory, admin: Client
) -> None:
    SavedRule.objects.keep(workspace=None, name="everywhere", rule={"context": "other/tenant"})
    assert "everywhere" in admin.get(at(logs)).content.decode()
    user = User.objects.create_user("bob", "", "pw", is_staff=True)
    Grant.objects.give(workspace="core", user=user, access="read-write")
    browser = Client()
    browser.force_login(user)
    page = browser.get(at(logs), {"rule": SavedRule.objects.get().pk})
    assert "everywhere" not in page.content.decode()
    assert "other/tenant" not in page.content.decode()


def test_rules_are_made_changed_and_deleted_in_the_admin(logs: Memory, admin: Client) -> None:
    workspace = workspace_of(logs)
    add, listed = url("savedrule", "add"), url("savedrule", "changelist")
    typed = {"workspace": workspace.pk, "name": "n", "kind": "log", "older_than_days": "3"}
    admin.post(add, typed)
    saved = SavedRule.objects.get()
    assert saved.rule == {"kind": "log", "older_than_days": 3}
    assert admin.post(add, typed).context["adminform"].form.errors
    assert admin.post(add, {**typed, "name": "m", "kind": "", "older_than_days": ""}).context[
        "adminform"
    ].form.errors == {"__all__": ["Say which notes may go: give the rule at least one condition."]}
    admin.post(add, {**typed, "workspace": ""})
    assert SavedRule.objects.filter(workspace=None, name="n").exists()
    text = text_of(admin.get(listed))
    assert "last written more than 3 days ago, kind <bdi>“log”</bdi>" in text
    assert "every workspace" in text
    page = url("savedrule", "change", saved)
    shown = admin.get(page)
    assert f'href="{at(logs)}?rule={saved.pk}"' in shown.content.decode()
    admin.post(page, {**fields_of(shown), "older_than_days": "", "expired": "on", "name": "x"})
    saved.refresh_from_db()
    assert (saved.name, saved.rule) == ("n", {"kind": "log", "expired": True})
    unchanged = admin.post(page, fields_of(admin.get(page)), follow=True)
    assert messages_of(unchanged)[0].startswith("Nothing was changed")
    admin.post(url("savedrule", "delete", saved), {"post": "yes"})
    assert not SavedRule.objects.filter(pk=saved.pk).exists()
    assert logs.revision() == 4


def test_a_damaged_rule_breaks_no_page(logs: Memory, admin: Client) -> None:
    for rule in ({"colour": "red"}, [], {"kind": ["x"], "older_than_days": "many"}, "x"):
        saved = SavedRule.objects.create(name=repr(rule)[:100], rule=rule)
        assert admin.get(url("savedrule", "change", saved)).status_code == 200
        assert admin.get(at(logs), {"rule": saved.pk}).status_code == 200
    assert "This rule is damaged" in text_of(admin.get(url("savedrule", "changelist")))


# Who may


def test_it_takes_the_right_to_forget(logs: Memory, member: Member, admin: Client) -> None:
    confirmed = first_form(ask(admin, logs))
    done = confirm(admin, logs, ask(admin, logs, kind="fact"))
    batch = done.redirect_chain[0][0]
    saved = SavedRule.objects.keep(workspace=workspace_of(logs), name="n", rule={"kind": "log"})
    browser = member("view_note", "add_note", "change_note", "view_workspace", "view_revision")
    assert browser.get(at(logs)).status_code == 403
    assert ask(browser, logs).status_code == 403
    assert browser.post(at(logs), confirmed).status_code == 403
    assert browser.get(batch).status_code == 403
    assert browser.post(batch).status_code == 403
    for page in ("change", "delete"):
        address = url("savedrule", page, saved)
        assert browser.get(address, follow=True).status_code in (403, 404)
        assert browser.post(address, {"post": "yes"}).status_code in (302, 403)
    assert browser.get(url("savedrule", "changelist")).status_code == 403
    assert browser.get(url("savedrule", "add")).status_code == 403
    page = browser.get(url("workspace", "change", workspace_of(logs))).content.decode()
    assert "/prune/" not in page
    assert len(logs.keys("log/")) == 3
    assert SavedRule.objects.count() == 1


@pytest.mark.parametrize("missing", UNDOERS[:2])
def test_undoing_takes_all_three_rights(logs: Memory, member: Member, missing: str) -> None:
    browser = member(*{*UNDOERS, "view_note"} - {missing})
    done = confirm(browser, logs, ask(browser, logs))
    assert done.status_code == 200
    assert 'type="submit"' not in done.content.decode().partition('id="content-main"')[2]
    assert browser.post(done.redirect_chain[0][0]).status_code == 403
    assert logs.keys() == ("fact",)


def test_rights_in_one_workspace_are_none_in_another(logs: Memory, db: None) -> None:
    Memory("other").remember("log", "s", "b", kind="log")
    Memory("other").forget("log")
    there = workspace_of(Memory("other"))
    user = User.objects.create_user("cy", "", "pw", is_staff=True)
    Grant.objects.give(workspace="core", user=user, access="read-write")
    browser = Client()
    browser.force_login(user)
    for_all = SavedRule.objects.keep(workspace=None, name="all", rule={"kind": "x"})
    theirs = SavedRule.objects.keep(workspace=there, name="theirs", rule={"kind": "x"})
    for page, query in (("prune", ""), ("batch", "?first=2&last=2")):
        address = url("workspace", page, there) + query
        for gone in (browser.get(address, follow=True), browser.post(address, follow=True)):
            assert messages_of(gone) == ["This workspace does not exist."]
    assert Memory("other").keys() == ()
    assert browser.get(at(logs)).status_code == 200
    assert "theirs" not in browser.get(at(logs)).content.decode()
    listed = browser.get(url("savedrule", "changelist")).content.decode()
    assert ("theirs" in listed, ">all<" in listed) == (False, False)
    for rule in (for_all, theirs):
        address = url("savedrule", "change", rule)
        assert browser.get(address).status_code == 302
        browser.post(address, {"kind": "y"})
        browser.post(url("savedrule", "delete", rule), {"post": "yes"})
    add = url("savedrule", "add")
    for workspace in ("", str(there.pk), "999", "x"):
        typed = {"workspace": workspace, "name": "mine", "kind": "log"}
        assert browser.post(add, typed).context["adminform"].form.errors.keys() == {"workspace"}
    browser.post(add, {"workspace": workspace_of(logs).pk, "name": "mine", "kind": "log"})
    rules = SavedRule.objects.order_by("name").values_list("name", "rule")
    assert list(rules) == [
        ("all", {"kind": "x"}),
        ("mine", {"kind": "log"}),
        ("theirs", {"kind": "x"}),
    ]


def test_forgery_and_unknown_places(logs: Memory, operator: User, admin: Client) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(operator)
    assert ask(browser, logs).status_code == 403
    for pk in ("99", "x"):
        for page in ("prune", "batch"):
            gone = admin.get(f"/admin/agent_memory/workspace/{pk}/{page}/", follow=True)
            assert messages_of(gone) == ["This workspace does not exist."]
    for first, last in (("", ""), ("x", "1"), ("1", "4"), ("9" * 30, "1"), ("-1", "5"), ("5", "4")):
        gone = admin.get(at(logs, "batch"), {"first": first, "last": last}, follow=True)
        assert messages_of(gone) == ["There is no such batch."]
        assert gone.redirect_chain == [(at(logs), 302)]


# What is stored is text


@pytest.mark.parametrize("attack", ATTACKS)
def test_stored_text_is_inert(admin: Client, attack: str) -> None:
    memory = Memory("core", actor=attack)
    memory.remember(attack, attack, attack, kind=attack, slot=attack, context=attack)
    typed = {"kind": attack, "slot": attack, "context": attack, "reason": attack}
    saved = save(admin, memory, attack, **typed)
    pages = {
        "form": admin.get(at(memory)),
        "filled": admin.get(at(memory), {"rule": SavedRule.objects.get().pk}),
        "preview": ask(admin, memory, **typed),
        "saved": saved,
        "refused": ask(admin, memory, **{**typed, "weight_below": "0"}),
        "rules": admin.get(url("savedrule", "changelist")),
        "rule": admin.get(url("savedrule", "change", SavedRule.objects.get())),
        "delete rule": admin.get(url("savedrule", "delete", SavedRule.objects.get())),
        "done": confirm(admin, memory, ask(admin, memory, **typed)),
    }
    assert memory.keys() == ()
    pages["undone"] = admin.post(pages["done"].redirect_chain[0][0], follow=True)
    assert memory.keys() == (attack,)
    for name, page in pages.items():
        assert page.status_code == 200, name
        assert dangers(page) == [], name
        assert "&lt;&lt;14" not in page.content.decode(), name


# Numbers


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_many_notes(memory: Memory, admin: Client, language: str) -> None:
    sizes, counts = [], []
    for total in (100, 3_000):
        memory.apply(
            Save(key=f"log/{n:05}", body="b", summary=f"s{n}", kind="log") for n in range(total)
        )
        with override_settings(LANGUAGE_CODE=language, USE_THOUSAND_SEPARATOR=True):
            with CaptureQueriesContext(connection) as queries:
                page = ask(admin, memory, weight_below="1000.5", size_above="0")
            counts.append(len(queries))
            done = confirm(admin, memory, page)
            batch = done.redirect_chain[0][0]
            with CaptureQueriesContext(connection) as queries:
                shown = admin.get(batch)
            counts.append(len(queries))
            assert page.context["total"] == total
            assert page.content.decode().count("log/0") == 20
            assert memory.keys() == ()
            assert len(shown.context["sample"]) == 20
            admin.post(batch, fields_of(shown))
        assert len(memory.keys()) == total
        sizes.append((len(page.content) < 60_000, len(shown.content) < 60_000))
    assert sizes == [(True, True)] * 2
    # Session, user, workspace (and for its address); notes and lines. Of a batch four statements,
    # and two for each 500 notes.
    assert counts == [6, 9, 6, 19]
    assert Workspace.objects.count() == 1
