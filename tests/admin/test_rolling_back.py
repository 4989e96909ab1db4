"""Rolling back one actor: shown first, and then exactly what was shown."""

from __future__ import annotations

import datetime
import html
import re
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone

from django_agent_memory.exceptions import Busy
from django_agent_memory.memory import Memory
from django_agent_memory.models import Revision
from django_agent_memory.writing import Save

from .browser import fields_of
from .conftest import url, workspace_of
from .test_timeline import messages_of, text_of

Member = Callable[..., Client]
LONG_AGO = "2020-01-01T00:00:00"


@pytest.fixture
def past(memory: Memory) -> Memory:
    """The rogue changed `a`, made `b`, and changed `c`, which somebody changed after it."""
    rogue = Memory("core", actor="rogue")
    memory.remember("a", "s", "good")
    memory.remember("c", "s", "good")
    rogue.remember("a", "s", "bad")
    rogue.remember("b", "s", "bad")
    rogue.remember("c", "s", "bad")
    memory.remember("c", "s", "better")
    return memory


def at(memory: Memory) -> str:
    return url("workspace", "rollback", workspace_of(memory))


def ask(browser: Client, memory: Memory, actor: str = "rogue", **typed: Any) -> Any:
    return browser.post(at(memory), {"actor": actor, "since": LONG_AGO, "reason": "", **typed})


def confirm(browser: Client, memory: Memory, preview: Any, **typed: Any) -> Any:
    return browser.post(at(memory), {**fields_of(preview), **typed}, follow=True)


def bodies(memory: Memory) -> dict[str, Any]:
    keys = memory.keys()
    return {key: memory.recall(key).body for key in keys}


def test_it_asks_whose_and_since_when(past: Memory, admin: Client) -> None:
    page = admin.get(url("workspace", "change", workspace_of(past)))
    assert f'href="{at(past)}"' in page.content.decode()
    text = text_of(admin.get(at(past)))
    assert '<option value="rogue">' in text
    assert 'type="datetime-local"' in text
    assert "Time zone: America/Chicago." in text
    for wrong in ({"actor": ""}, {"since": ""}, {"since": "yesterday"}, {"reason": "x" * 1_001}):
        assert ask(admin, past, **wrong).context["form"].errors.keys() == wrong.keys()
    assert past.revision() == 6


def test_an_address_fills_in_whose_and_since_when(past: Memory, admin: Client) -> None:
    page = admin.get(at(past), {"actor": "rogue", "since": LONG_AGO})
    assert fields_of(page) | {"actor": "rogue", "since": LONG_AGO} == fields_of(page)
    evil = '"><img src=x onerror=alert(1)>'
    assert "<img" not in text_of(admin.get(at(past), {"actor": evil, "since": evil}))


def test_the_preview_says_what_becomes_of_each_key(past: Memory, admin: Client) -> None:
    page = ask(admin, past, reason="it lied")
    text = text_of(page)
    assert "2 keys will be rolled back" in text
    assert "1 key is left alone" in text
    effects = {str(key): effect for key, _link, effect in page.context["sample"]}
    assert [effect for _key, effect in sorted(effects.items())] == [
        "says again what revision 1 says",
        "forgotten: nothing was there before",
    ]
    assert page.context["left_total"] == 1
    assert past.revision() == 6


def test_it_does_what_was_shown(past: Memory, admin: Client) -> None:
    done = confirm(admin, past, ask(admin, past, reason="it lied"))
    assert bodies(past) == {"a": "good", "c": "better"}
    said, left_alone = messages_of(done)
    assert said.startswith("2 notes were rolled back. Their history keeps what was undone. <a ")
    assert left_alone == "1 key was left alone: others wrote to it later, or its text was redacted."
    last = Revision.objects.order_by("-number")[:2]
    assert {(r.operation, r.actor, r.reason) for r in last} == {("restore", "ada", "it lied")}
    (entry,) = LogEntry.objects.all()
    assert (entry.action_flag, entry.object_repr) == (CHANGE, "core")
    assert re.fullmatch(
        r"Rolled back “rogue” since 2020-01-01T00:00:00-06:00\. 2 notes were .* it lied",
        entry.get_change_message(),
    )
    again = ask(admin, past)
    assert "keys are left alone" in text_of(again)
    assert again.context["total"] == 0


def test_a_roll_back_is_rolled_back_by_the_way_it_shows(past: Memory, admin: Client) -> None:
    before = bodies(past)
    (said, _left) = messages_of(confirm(admin, past, ask(admin, past)))
    assert bodies(past) != before
    (address,) = re.findall(r'<a href="([^"]+)">Undo…</a>', said)
    form = fields_of(admin.get(html.unescape(address)))
    assert form["actor"] == "ada"
    page = admin.post(at(past), {**form, "reason": ""})
    confirm(admin, past, page)
    assert bodies(past) == before


def test_what_is_written_after_the_preview_is_shown_before_it_is_undone(
    past: Memory, admin: Client
) -> None:
    preview = ask(admin, past)
    Memory("core", actor="rogue").remember("d", "s", "bad")
    again = confirm(admin, past, preview)
    assert messages_of(again) == [
        "Something was written after you looked, so nothing was rolled back. Look again."
    ]
    assert past.revision() == 7
    assert again.context["total"] == 3
    # Of others' writes only those to the same keys matter.
    past.remember("elsewhere", "s", "b")
    confirm(admin, past, again)
    assert bodies(past) == {"a": "good", "c": "better", "elsewhere": "b"}


def test_a_write_at_the_same_moment_is_not_overwritten(past: Memory, admin: Client) -> None:
    preview, genuine = ask(admin, past), Memory.apply

    def late(self: Memory, *args: Any, **kwargs: Any) -> Any:
        Memory("core", actor="agent").remember("a", "s", "newer")
        return genuine(self, *args, **kwargs)

    with mock.patch.object(Memory, "apply", late):
        again = confirm(admin, past, preview)
    assert "Something was written after you looked" in messages_of(again)[0]
    assert bodies(past) == {"a": "newer", "b": "bad", "c": "better"}
    assert (again.context["total"], again.context["left_total"]) == (1, 2)


def test_two_operators_at_once(past: Memory, admin: Client, member: Member) -> None:
    other = member("add_note", "change_note", "delete_note")
    ours, theirs = ask(admin, past), ask(other, past)
    done = confirm(other, past, theirs)
    assert messages_of(done)[0].startswith("2 notes were rolled back")
    again = confirm(admin, past, ours)
    assert messages_of(again)[0].startswith("Something was written after you looked")
    assert past.revision() == 8


def test_nothing_to_roll_back_and_a_busy_database(past: Memory, admin: Client) -> None:
    page = ask(admin, past, actor="nobody")
    assert "There is nothing to roll back." in text_of(page)
    assert 'name="confirmed"' not in page.content.decode()
    preview = ask(admin, past)
    with mock.patch.object(Memory, "apply", side_effect=Busy("busy")):
        again = confirm(admin, past, preview)
    assert messages_of(again) == ["The memory is busy, so nothing was written. Try it again."]
    assert again.context["total"] == 2
    assert past.revision() == 6


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/St_Johns"])
def test_since_is_a_time_of_the_current_zone(past: Memory, admin: Client, zone: str) -> None:
    moment = timezone.now() - datetime.timedelta(days=1)
    Revision.objects.filter(number__lte=3).update(created_at=moment)
    with override_settings(TIME_ZONE=zone):
        local = timezone.localtime(moment + datetime.timedelta(minutes=1))
        preview = ask(admin, past, since=local.strftime("%Y-%m-%dT%H:%M:%S"))
        assert f"Time zone: {zone}." in text_of(admin.get(at(past)))
        assert preview.context["total"] == 1
        confirm(admin, past, preview)
    assert bodies(past) == {"a": "bad", "c": "better"}


@pytest.mark.parametrize("language", ["en", "de", "he"])
def test_many_keys_are_a_number_and_twenty_of_them(
    memory: Memory, admin: Client, language: str
) -> None:
    Memory("core", actor="rogue").apply(Save(key=f"k/{n:04}", body="b") for n in range(1_500))
    with override_settings(LANGUAGE_CODE=language, USE_THOUSAND_SEPARATOR=True):
        with CaptureQueriesContext(connection) as queries:
            page = ask(admin, memory)
        # Session, user, workspace, first number, log, what was before (3), redacted, the sample's.
        assert len(queries) <= 12
        assert page.content.decode().count("k/0") == 20
        assert len(page.content) < 60_000
        assert page.context["more"] == 1_480
        done = confirm(admin, memory, page)
    assert memory.keys() == ()
    assert len(done.redirect_chain) == 1


def test_the_choice_can_be_changed(past: Memory, admin: Client) -> None:
    preview = ask(admin, past, reason="why")
    page = admin.post(at(past), {**fields_of(preview), "_again": "1"})
    sent = fields_of(page)
    assert (sent["actor"], sent["reason"]) == ("rogue", "why")
    # Browsers leave the field empty where its value has an offset.
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", sent["since"])
    assert admin.post(at(past), sent).context["since"] == preview.context["since"]
    assert past.revision() == 6


@pytest.mark.parametrize(
    "permissions",
    [
        ("add_note", "change_note"),
        ("add_note", "delete_note"),
        ("change_note", "delete_note"),
        ("change_workspace", "view_revision"),
    ],
)
def test_it_takes_all_three_rights(
    past: Memory, member: Member, admin: Client, permissions: tuple[str, ...]
) -> None:
    browser = member(*permissions)
    confirmed = ask(admin, past).context["confirmed"]
    assert browser.get(at(past)).status_code == 403
    assert ask(browser, past).status_code == 403
    assert ask(browser, past, confirmed=confirmed).status_code == 403
    assert past.revision() == 6


def test_forgery_and_unknown_workspaces(past: Memory, operator: User, admin: Client) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(operator)
    assert ask(browser, past).status_code == 403
    for pk in ("99", "x"):
        gone = admin.get(f"/admin/agent_memory/workspace/{pk}/rollback/", follow=True)
        assert messages_of(gone) == ["This workspace does not exist."]
