"""Restoring a revision: shown first, never over what the person did not see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_agent_memory.exceptions import Busy
from django_agent_memory.memory import Memory
from django_agent_memory.models import Note, Revision, Workspace

from .browser import fields_of
from .conftest import Submit, note_url
from .test_timeline import address, messages_of, text_of

Member = Callable[..., Client]


@pytest.fixture
def past(memory: Memory) -> Memory:
    """Revision 1 says one, 2 says two, 3 is a forget, and 4 says three, which is stored now."""
    memory.remember("k", "s", "one")
    memory.remember("k", "s", "two")
    memory.forget("k")
    memory.remember("k", None, "three")
    return memory


def restore(browser: Client, number: int, **typed: Any) -> Any:
    at = address("restore", revision=number)
    return browser.post(at, {**fields_of(browser.get(at)), **typed}, follow=True)


def last_log() -> tuple[int, str, str]:
    entry = LogEntry.objects.latest("pk")
    return entry.action_flag, entry.object_repr, entry.get_change_message()


def test_it_shows_what_changes_and_then_restores(past: Memory, admin: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        page = admin.get(address("restore", revision=1))
    assert len(queries) == 5  # session, user, workspace, the revision, the note
    text = text_of(page)
    assert "<del>three</del>" in text
    assert "<ins>one</ins>" in text
    assert "no index line" in text
    assert past.revision() == 4
    done = restore(admin, 1, reason="it was right")
    assert past.recall("k").body == "one"
    assert past.index_note() == "[memory index]\n- k: s"
    revision = Revision.objects.get(number=5)
    assert (revision.operation, revision.actor, revision.reason) == (
        "restore", "ada", "it was right"
    )  # fmt: skip
    assert done.redirect_chain == [(address("timeline"), 302)]
    (message,) = messages_of(done)
    assert "Revision 1 was restored as revision 5. This can be undone" in message
    assert f'<a href="{note_url(past)}">' in text_of(done)
    assert last_log() == (CHANGE, "k", "Restored revision 1. it was right")


def test_a_forgotten_note_is_stored_again(past: Memory, admin: Client) -> None:
    past.forget("k")
    assert "The note is forgotten now" in text_of(admin.get(address("restore", revision=2)))
    restore(admin, 2)
    assert past.recall("k").body == "two"
    assert last_log()[0] == ADDITION


def test_restoring_a_forget_is_shown_as_forgetting(past: Memory, admin: Client) -> None:
    page = text_of(admin.get(address("restore", revision=3)))
    assert "restoring it makes agents forget the note" in page
    assert "no note" in page
    assert "Restore: forget it" in page
    done = restore(admin, 3)
    assert past.recall("k") is None
    assert Revision.objects.get(number=5).operation == "restore"
    assert "the note is forgotten, as it was then" in messages_of(done)[0]
    assert last_log() == (DELETION, "k", "Restored revision 3.")
    # And that can be undone.
    restore(admin, 4)
    assert past.recall("k").body == "three"


def test_what_is_so_already_offers_nothing_and_changes_nothing(past: Memory, admin: Client) -> None:
    page = admin.get(address("restore", revision=4))
    assert "Nothing would change" in text_of(page)
    assert "expected_revision" not in fields_of(page)
    done = restore(admin, 4, expected_revision="4")
    assert messages_of(done) == ["Nothing was changed: the key says exactly this already."]
    assert past.revision() == 4
    assert not LogEntry.objects.exists()


def test_a_write_in_between_is_said_and_shown_and_not_overwritten(
    past: Memory, admin: Client
) -> None:
    at = address("restore", revision=1)
    form = {**fields_of(admin.get(at)), "reason": "mine"}
    past.remember("k", "s", "the agent's <b>")
    page = admin.post(at, form)
    assert page.status_code == 200
    assert "was written to after you looked" in text_of(page)
    assert "<del>the agent" in text_of(page)
    assert past.recall("k").body == "the agent's <b>"
    again = fields_of(page)
    assert (again["expected_revision"], again["reason"]) == ("5", "mine")
    assert admin.post(at, again).status_code == 302
    assert past.recall("k").body == "one"
    assert Revision.objects.get(number=6).reason == "mine"


@pytest.mark.parametrize("between", ["forget", "again"])
def test_a_forget_in_between_is_a_conflict_too(past: Memory, admin: Client, between: str) -> None:
    at = address("restore", revision=1)
    form = fields_of(admin.get(at))
    past.forget("k")
    if between == "again":  # The same text as before is still a change.
        past.remember("k", None, "three")
    page = admin.post(at, form)
    assert "was written to after you looked" in text_of(page)
    assert past.revision() == 5 + (between == "again")


def test_two_operators_at_once(past: Memory, admin: Client, member: Member) -> None:
    other = member("view_revision", "change_note")
    ours, theirs = address("restore", revision=1), address("restore", revision=2)
    our_form, their_form = fields_of(admin.get(ours)), fields_of(other.get(theirs))
    assert other.post(theirs, their_form).status_code == 302
    page = admin.post(ours, our_form)
    assert "was written to after you looked" in text_of(page)
    assert past.recall("k").body == "two"
    assert Revision.objects.latest("number").actor == "bob"


def test_a_redacted_revision_is_refused_in_one_sentence(past: Memory, admin: Client) -> None:
    at = address("restore", revision=2)
    form = fields_of(admin.get(at))
    past.redact("k", 2)
    for answer in (admin.get(at, follow=True), admin.post(at, form, follow=True)):
        assert messages_of(answer) == ["Revision 2 was redacted, so it cannot be restored."]
    assert past.recall("k").body == "three"


def test_redacted_while_it_is_being_restored(past: Memory, admin: Client) -> None:
    at, genuine = address("restore", revision=2), Memory.restore

    def late(self: Memory, *args: Any, **kwargs: Any) -> Any:
        past.redact("k", 2)
        kwargs["expected_revision"] = past.revision()
        return genuine(self, *args, **kwargs)

    with mock.patch.object(Memory, "restore", late):
        page = admin.post(at, fields_of(admin.get(at)))
    assert "was redacted; its text is gone" in text_of(page)


def test_a_busy_database_and_an_endless_reason(past: Memory, admin: Client) -> None:
    at = address("restore", revision=1)
    form = {**fields_of(admin.get(at)), "reason": "kept"}
    with mock.patch.object(Memory, "restore", side_effect=Busy("busy")):
        page = admin.post(at, form)
    assert "The memory is busy, so nothing was written" in text_of(page)
    assert fields_of(page)["reason"] == "kept"
    assert admin.post(at, {**form, "reason": "x" * 1_001}).context["form"].errors
    for rubbish in ("", "x", "-1", "9" * 30):
        assert admin.post(at, {**form, "expected_revision": rubbish}).status_code == 200
    assert past.revision() == 4


@pytest.mark.parametrize("number", [0, 9, 10**17])
def test_no_such_revision(past: Memory, admin: Client, number: int) -> None:
    past.remember("other", "s", "b")
    for at in (address("restore", revision=number), address("restore", revision=5)):
        assert messages_of(admin.get(at, follow=True)) == ["This key has no such revision."]


SEE = "view_revision"


@pytest.mark.parametrize(
    ("permissions", "allowed"),
    [
        (("change_note",), set()),
        ((SEE,), set()),
        ((SEE, "add_note", "delete_note"), set()),
        ((SEE, "change_note"), {"change"}),
        (("change_revision", "change_note"), {"change"}),
        ((SEE, "change_note", "add_note"), {"change", "store again"}),
        ((SEE, "change_note", "delete_note"), {"change", "forget"}),
        ((SEE, "change_note", "add_note", "delete_note"), {"change", "store again", "forget"}),
    ],
)
def test_who_may_restore_what(
    past: Memory, member: Member, permissions: tuple[str, ...], allowed: set[str]
) -> None:
    Memory("core").remember("gone", "s", "b")
    Memory("core").forget("gone")
    browser = member(*permissions)
    cases = {
        "change": address("restore", revision=1),
        "forget": address("restore", revision=3),
        "store again": address("restore", "gone", revision=5),
    }
    found = {name for name, at in cases.items() if browser.get(at).status_code == 200}
    form = {"expected_revision": "0", "reason": ""}
    posted = {name for name, at in cases.items() if browser.post(at, form).status_code != 403}
    assert found == allowed
    assert posted == allowed
    # A form that expects what is stored is refused as well, before it is looked at.
    form["expected_revision"] = "4"
    refused = {name for name, at in cases.items() if browser.post(at, form).status_code == 403}
    assert refused == cases.keys() - allowed


def test_the_note_forgotten_in_between_needs_the_right_to_add(past: Memory, member: Member) -> None:
    editor, at = member(SEE, "change_note"), address("restore", revision=1)
    form = fields_of(editor.get(at))
    past.forget("k")
    assert editor.post(at, form).status_code == 403
    assert past.recall("k") is None


def test_forgery_is_refused(past: Memory, operator: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(operator)
    at = address("restore", revision=1)
    form = fields_of(browser.get(at))
    form.pop("csrfmiddlewaretoken")
    assert browser.post(at, form).status_code == 403
    assert past.revision() == 4


def test_looking_writes_nothing(past: Memory, admin: Client, submit: Submit) -> None:
    before = list(Workspace.objects.values()), list(Note.objects.values())
    for page in ("timeline", "compare", "restore"):
        admin.get(address(page, a=1, b=2, revision=1))
    assert (list(Workspace.objects.values()), list(Note.objects.values())) == before
    assert Revision.objects.count() == 4
