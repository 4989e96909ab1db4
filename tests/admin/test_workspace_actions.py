"""What can be done to a whole workspace: forget all notes, end sessions, check and repair."""

from __future__ import annotations

import html
import inspect
import re
from typing import Any
from unittest import mock

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_agent_memory.admin import checking, ending_sessions
from django_agent_memory.exceptions import Busy
from django_agent_memory.memory import Memory
from django_agent_memory.models import IndexEntry, Note, Revision
from django_agent_memory.writing import Save, find_defects, integrity

from .browser import fields_of
from .conftest import url, workspace_of
from .test_timeline import messages_of, text_of

EVIL = '"><img src=x onerror=alert(1)>'
ROLLING_BACK = ("add_note", "change_note", "delete_note")


def at(memory: Memory, page: str) -> str:
    return url("workspace", page, workspace_of(memory))


def page_links(browser: Client, memory: Memory) -> set[str]:
    """Return which of the three pages the page of the workspace leads to."""
    page = browser.get(at(memory, "index")).content.decode()
    return {name for name in ("clear", "sessions", "check") if f'href="{at(memory, name)}"' in page}


# Forgetting all notes


def test_clearing_asks_for_the_path(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key=key, summary="s", body="b") for key in "abc"])
    Memory("core", session="s").remember("mine", "s", "b", persist=False)
    asked = admin.get(at(memory, "clear"))
    assert "All 3 notes in <bdi>core</bdi> will be forgotten" in text_of(asked)
    assert "1 private note of a session stays" in text_of(asked)
    before = memory.revision()
    for typed in ("", "cor", "Core", "core/x", EVIL):
        refused = admin.post(at(memory, "clear"), {"path": typed, "reason": ""})
        assert refused.context["form"].errors.keys() == {"path"}
        assert "<img" not in refused.content.decode()
    assert (
        admin.post(at(memory, "clear"), {"path": "core", "reason": "x" * 1_001}).status_code == 200
    )
    assert memory.revision() == before


def test_clearing_can_be_undone(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key=key, summary="s", body=key) for key in "abc"])
    Memory("core", session="s").remember("mine", "s", "b", persist=False)
    done = admin.post(at(memory, "clear"), {"path": "core", "reason": "start anew"}, follow=True)
    assert done.redirect_chain == [(at(memory, "index"), 302)]
    assert memory.keys() == ()
    assert Note.objects.get().key == "mine"
    tombstones = Revision.objects.filter(number__gt=4)
    assert set(tombstones.values_list("operation", "actor", "reason")) == {
        ("forget", "ada", "start anew")
    }
    assert LogEntry.objects.get().change_message == "3 notes were forgotten. start anew"
    (said,) = messages_of(done)
    assert said.startswith("3 notes were forgotten. The history keeps every text")
    link = re.search(r'href="([^"]*)"', said)
    assert link is not None
    form = fields_of(admin.get(html.unescape(link[1])))
    assert form["actor"] == "ada"
    preview = admin.post(at(memory, "rollback"), {**form, "reason": ""})
    admin.post(at(memory, "rollback"), fields_of(preview))
    assert memory.keys() == ("a", "b", "c")
    assert memory.recall("b").body == "b"


def test_clearing_nothing(memory: Memory, admin: Client) -> None:
    memory.configure(title="t")
    done = admin.post(at(memory, "clear"), {"path": "core", "reason": ""}, follow=True)
    assert messages_of(done) == ["There was nothing to forget."]
    assert not LogEntry.objects.exists()


def test_who_may_only_forget_is_told_who_can_undo_it(memory: Memory, member: Any) -> None:
    memory.remember("k", "s", "b")
    browser = member("delete_note", "view_workspace")
    assert page_links(browser, memory) == {"clear", "sessions"}
    done = browser.post(at(memory, "clear"), {"path": "core", "reason": ""}, follow=True)
    assert messages_of(done) == [
        "1 note was forgotten. The history keeps every text, and an operator can roll this back."
    ]


# Ending sessions


def test_sessions_are_listed_and_ended(memory: Memory, admin: Client) -> None:
    memory.remember("shared", "s", "b")
    for session, keys in (("s1", "ab"), ("s2", "c"), (EVIL, "d")):
        for key in keys:
            Memory("core", session=session).remember(key, "s", f"secret {key}", persist=False)
    page = admin.get(at(memory, "sessions"))
    assert [(row.name, row.notes) for row, _, _ in page.context["rows"]] == [
        (EVIL, 1),
        ("s1", 2),
        ("s2", 1),
    ]
    assert "secret" not in text_of(page)
    assert "<img" not in text_of(page)
    nothing = admin.post(at(memory, "sessions"), {"reason": ""})
    assert nothing.context["form"].non_field_errors() == ["Choose at least one session."]
    assert [chosen for _, _, chosen in nothing.context["rows"]] == [False] * 3
    chosen = {"session": [EVIL, "s1", "unknown"], "reason": "too old"}
    done = admin.post(at(memory, "sessions"), chosen, follow=True)
    said = "2 sessions were ended. 3 private notes were forgotten; the history keeps their text."
    assert messages_of(done) == [said]
    assert LogEntry.objects.get().change_message == f"{said} too old"
    assert sorted(Note.objects.values_list("key", flat=True)) == ["c", "shared"]
    ends = Revision.objects.filter(operation="forget")
    assert set(ends.values_list("actor", "reason")) == {("ada", "too old")}
    number = Revision.objects.filter(key="a").order_by("number").first().number  # type: ignore[union-attr]
    own = Memory("core", session="s1")
    own.restore("a", number)
    assert own.recall("a").body == "secret a"
    assert memory.recall("a") is None


@pytest.mark.parametrize("sessions", [1, 2, 3])
def test_only_so_many_sessions_are_listed(
    memory: Memory, admin: Client, monkeypatch: pytest.MonkeyPatch, sessions: int
) -> None:
    monkeypatch.setattr(ending_sessions, "MOST_LISTED", 2)
    for n in range(sessions):
        Memory("core", session=f"s{n}").remember(f"k{n}", "s", "b", persist=False)
    page = admin.get(at(memory, "sessions"))
    assert len(page.context["rows"]) == min(2, sessions)
    assert page.context["more"] == max(0, sessions - 2)
    # Those that were not listed are not ended.
    every = [f"s{n}" for n in range(sessions)]
    admin.post(at(memory, "sessions"), {"session": every, "reason": ""})
    assert Note.objects.count() == max(0, sessions - 2)


def test_no_session_has_a_note(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "b")
    assert "No session has a note to itself here." in text_of(admin.get(at(memory, "sessions")))


# Checking and repairing


@pytest.fixture
def damaged(memory: Memory) -> Memory:
    """A note is lost, a line is lost, another body was put there; a private note is damaged too."""
    memory.apply([Save(key=key, summary="s", body="b") for key in ("a", "b", EVIL, "sound")])
    Memory("core", session="s").remember("private", "s", "b", persist=False)
    Note.objects.filter(key="a").delete()
    IndexEntry.objects.filter(key="b").delete()
    Note.objects.filter(key__in=[EVIL, "private"]).update(body="by SQL")
    return memory


def test_defects_are_named_and_repaired(damaged: Memory, admin: Client) -> None:
    page = admin.get(at(damaged, "check"))
    found = list(find_defects("core"))
    assert page.context["total"] == len(found) == 7
    shown = text_of(page)
    assert "7 defects were found" in shown
    assert "The history has a note that is not stored." in shown
    assert "a note of a session" in shown
    assert "private" not in shown
    assert "<img" not in shown
    done = admin.post(at(damaged, "check"), {"reason": "after a restore"}, follow=True)
    (said,) = messages_of(done)
    assert re.fullmatch(r"\d defects were repaired. The history keeps what was there.", said)
    assert "Notes, index and history agree" in text_of(done)
    assert LogEntry.objects.get().change_message == f"{said} after a restore"
    repairs = Revision.objects.filter(operation="repair")
    assert set(repairs.values_list("actor", "reason")) == {("ada", "after a restore")}
    assert damaged.recall("a").body == "b"
    assert damaged.recall(EVIL).body == "by SQL"
    again = admin.post(at(damaged, "check"), {"reason": ""}, follow=True)
    assert messages_of(again) == ["There was nothing to repair."]


def test_every_kind_of_defect_has_its_words() -> None:
    source = inspect.getsource(integrity)
    kinds = set(re.findall(r'(?:append\(|kind=|= \[|else )"([a-z]+_[a-z_]+)"', source))
    assert {"note_missing", "entry_differs", "postings_stale", "revisions_missing"} < kinds
    assert kinds <= checking._MEANINGS.keys()


@pytest.mark.parametrize("most", [6, 7, 8])
def test_only_so_many_defects_are_shown(
    damaged: Memory, admin: Client, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(checking, "MOST_SHOWN", most)
    page = admin.get(at(damaged, "check"))
    assert page.context["total"] == 7
    assert len(page.context["defects"]) == min(most, 7)
    assert ("… and 1 more." in text_of(page)) == (most == 6)


@pytest.mark.parametrize("name", ["MOST_NOTES", "MOST_REVISIONS"])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_large_workspace_is_left_to_the_command(
    memory: Memory, admin: Client, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    memory.apply([Save(key=key, summary="s", body="b") for key in "ab"])
    monkeypatch.setattr(checking, name, most)
    for page in (admin.get(at(memory, "check")), admin.post(at(memory, "check"), {"reason": ""})):
        is_large = "manage.py memory_check --workspace core" in page.content.decode()
        assert is_large == (most == 1)


def test_who_may_only_look_cannot_repair(damaged: Memory, member: Any) -> None:
    browser = member("view_note", "view_workspace")
    assert page_links(browser, damaged) == {"check"}
    assert 'value="Repair"' not in browser.get(at(damaged, "check")).content.decode()
    before = damaged.revision()
    assert browser.post(at(damaged, "check"), {"reason": ""}).status_code == 403
    assert damaged.revision() == before


# All of them


@pytest.mark.parametrize(
    ("permissions", "opened"),
    [
        (("view_workspace", "change_workspace"), set()),
        (("view_note",), {"check"}),
        (("change_note", "add_note"), set()),
        (("delete_note",), {"clear", "sessions"}),
        (("view_note", *ROLLING_BACK), {"clear", "sessions", "check"}),
    ],
)
def test_each_takes_its_permissions(
    memory: Memory, member: Any, permissions: tuple[str, ...], opened: set[str]
) -> None:
    memory.remember("k", "s", "b")
    Memory("core", session="s").remember("mine", "s", "b", persist=False)
    browser = member(*permissions)
    sent = {"path": "core", "session": "s", "reason": ""}
    for name in ("clear", "sessions", "check"):
        answer = browser.get(at(memory, name)).status_code
        assert answer == (200 if name in opened else 403), name
        if name not in opened:
            assert browser.post(at(memory, name), sent).status_code == 403
    assert Note.objects.count() == 2


def test_what_is_not_there_and_forged_requests(memory: Memory, operator: Any) -> None:
    memory.remember("k", "s", "b")
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(operator)
    for name in ("clear", "sessions", "check"):
        for pk in ("999", "rubbish", "9" * 30, "\x00"):
            address = f"/admin/agent_memory/workspace/{pk}/{name}/"
            assert browser.get(address).status_code == 302
        assert browser.post(at(memory, name), {"path": "core", "session": "s"}).status_code == 403
    assert memory.keys() == ("k",)


@pytest.mark.parametrize(
    ("name", "sent", "verb"),
    [
        ("clear", {"path": "core"}, "django_agent_memory.memory.Memory.clear"),
        ("sessions", {"session": "s"}, "django_agent_memory.memory.Memory.end_session"),
        ("check", {}, "django_agent_memory.writing.repair"),
    ],
)
def test_a_busy_memory_says_so(
    damaged: Memory, admin: Client, name: str, sent: dict[str, str], verb: str
) -> None:
    with mock.patch(verb, side_effect=Busy("busy")):
        page = admin.post(at(damaged, name), {**sent, "reason": "typed"})
    assert messages_of(page) == ["The memory is busy, so nothing was written. Try it again."]
    assert fields_of(page)["reason"] == "typed"
    assert not LogEntry.objects.exists()


def test_asking_takes_the_same_statements_for_any_number(memory: Memory, admin: Client) -> None:
    counts = []
    for n in (1, 40):
        memory.apply([Save(key=f"k{i}", summary="s", body="b") for i in range(n)])
        for i in range(n):
            Memory("core", session=f"s{i}").remember(f"p{i}", "s", "b", persist=False)
        for name in ("clear", "sessions", "check"):
            with CaptureQueriesContext(connection) as queries:
                assert admin.get(at(memory, name)).status_code == 200
            counts.append(len(queries))
    assert counts[:3] == counts[3:]
