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

from django_agent_memory.admin import checking, ending_sessions, links
from django_agent_memory.exceptions import Busy
from django_agent_memory.memory import Memory
from django_agent_memory.models import IndexEntry, Note, Posting, Revision, Workspace
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
    batch = html.unescape(link[1])
    assert batch == links.to_batch("admin", workspace_of(memory).pk, 5, 7)
    memory.remember("c", "s", "written since")
    undone = admin.post(batch, fields_of(admin.get(batch)), follow=True)
    assert messages_of(undone)[0] == "2 notes were brought back."
    assert memory.keys() == ("a", "b", "c")
    assert [memory.recall(key).body for key in "abc"] == ["a", "b", "written since"]
    assert Memory("core", session="s").recall("mine").body == "b"


def test_clearing_nothing(memory: Memory, admin: Client) -> None:
    memory.configure(title="t")
    done = admin.post(at(memory, "clear"), {"path": "core", "reason": ""}, follow=True)
    assert messages_of(done) == ["There was nothing to forget."]
    assert not LogEntry.objects.exists()


def test_who_may_only_forget_is_shown_no_way_to_undo_it(memory: Memory, member: Any) -> None:
    memory.remember("k", "s", "b")
    browser = member("delete_note", "view_workspace")
    assert page_links(browser, memory) == {"clear", "sessions"}
    done = browser.post(at(memory, "clear"), {"path": "core", "reason": ""}, follow=True)
    assert messages_of(done) == [
        "1 note was forgotten. The history keeps every text, so that this can be undone."
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
    assert messages_of(done)[0].startswith(f"{said} <a href=")
    assert LogEntry.objects.get().change_message == f"{said} too old"
    assert sorted(Note.objects.values_list("key", flat=True)) == ["c", "shared"]
    ends = Revision.objects.filter(operation="forget")
    assert set(ends.values_list("actor", "reason")) == {("ada", "too old")}


def ended(admin: Client, memory: Memory, *sessions: str) -> str:
    """End the sessions and return the way to undo it."""
    sent = {"session": sessions, "reason": "too old"}
    (said,) = messages_of(admin.post(at(memory, "sessions"), sent, follow=True))
    link = re.search(r'href="([^"]*)"', said)
    assert link is not None
    return html.unescape(link[1])


def test_what_was_ended_comes_back_to_its_session(memory: Memory, admin: Client) -> None:
    own = {name: Memory("core", session=name) for name in ("s1", "s2", EVIL)}
    for name, keys in (("s1", "ab"), ("s2", "c"), (EVIL, "d")):
        for key in keys:
            own[name].remember(key, f"line {key}", f"secret {key}", persist=False)
    memory.remember("shared", "s", "b")
    before = {name: one.index_note() for name, one in own.items()}
    batch = ended(admin, memory, "s1", EVIL)
    page = admin.get(batch)
    assert page.context["undoable"] == 3
    shown = text_of(page)
    assert "secret" not in shown
    assert "<img" not in shown
    assert [str(state) for _, address, state in page.context["sample"]] == ["forgotten"] * 3
    assert {address for _, address, _ in page.context["sample"]} == {""}
    # Another run of the same numbers: what all share was not forgotten.
    plain = batch.replace("&sessions=1", "")
    assert messages_of(admin.get(plain, follow=True)) == ["There is no such batch."]
    undone = admin.post(batch, fields_of(page), follow=True)
    assert messages_of(undone) == ["3 notes were brought back."]
    assert {name: one.index_note() for name, one in own.items()} == before
    assert own["s1"].recall("a").body == "secret a"
    assert own[EVIL].recall("d").body == "secret d"
    for other in (memory, own["s2"]):
        assert other.recall("a") is None
    note = Note.objects.get(key="a")
    assert (note.session, note.expires_at is not None) == ("s1", True)
    again = admin.post(batch, fields_of(admin.get(batch)), follow=True)
    assert messages_of(again)[0] == "0 notes were brought back."
    assert list(find_defects("core")) == []


def test_what_took_the_key_since_stays(memory: Memory, admin: Client) -> None:
    own = Memory("core", session="s1")
    for key in "abc":
        own.remember(key, "s", f"private {key}", persist=False)
    batch = ended(admin, memory, "s1")
    memory.remember("a", "s", "for all")
    Memory("core", session="s2").remember("b", "s", "of another", persist=False)
    undone = admin.post(batch, fields_of(admin.get(batch)), follow=True)
    assert messages_of(undone)[0] == "1 note was brought back."
    assert memory.recall("a").body == own.recall("a").body == "for all"
    assert Memory("core", session="s2").recall("b").body == "of another"
    assert (own.recall("b"), own.recall("c").body) == (None, "private c")


def test_who_may_not_undo_is_shown_no_way(memory: Memory, member: Any, admin: Client) -> None:
    for name in ("s1", "s2"):
        Memory("core", session=name).remember(name, "s", "b", persist=False)
    browser = member("delete_note", "view_workspace")
    sent = {"session": "s1", "reason": ""}
    done = browser.post(at(memory, "sessions"), sent, follow=True)
    assert "href" not in messages_of(done)[0]
    batch = ended(admin, memory, "s2")
    assert 'value="Undo"' not in browser.get(batch).content.decode()
    assert browser.post(batch).status_code == 403
    assert not Note.objects.exists()


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


def everything() -> list[list[dict[str, Any]]]:
    return [list(model.objects.order_by("pk").values()) for model in (Note, IndexEntry, Revision)]


def test_a_repair_can_be_rolled_back(memory: Memory, admin: Client) -> None:
    keys = ("body", "lineless", "lost", "sound", "summary")
    memory.apply([Save(key=key, summary="s", body="b") for key in keys])
    before = {key: memory.history(key)[-1] for key in keys}
    workspace = workspace_of(memory)
    Note.objects.filter(key="lost").delete()
    Note.objects.filter(key="body").update(body="by SQL")
    IndexEntry.objects.filter(key="lineless").delete()
    IndexEntry.objects.filter(key="summary").update(summary="by SQL")
    IndexEntry.objects.create(workspace=workspace, key="lonely", summary="by SQL")
    Note.objects.create(workspace=workspace, key="unknown", body="by SQL")
    admin.post(at(memory, "check"), {"reason": ""}, follow=True)
    adopted = {"body": "by SQL", "unknown": "by SQL", "lost": "b", "lineless": "b", "summary": "b"}
    assert {key: memory.recall(key).body for key in adopted} == adopted
    assert memory.recall("summary").summary == "by SQL"
    assert memory.history("lonely")[0].summary == "by SQL"
    asked = {"actor": "ada", "since": "2020-01-01T00:00:00", "reason": ""}
    preview = admin.post(at(memory, "rollback"), asked)
    admin.post(at(memory, "rollback"), fields_of(preview))
    # Every key says what its history said before the repair.
    assert memory.keys() == keys
    for key in keys:
        note = memory.recall(key)
        assert (note.body, note.summary) == (before[key].body, before[key].summary)
    assert list(find_defects("core")) == []
    # What the repair had adopted is not lost by that either.
    for key in ("body", "unknown"):
        (repair,) = [row for row in memory.history(key) if row.operation == "repair"]
        memory.restore(key, repair.number)
        assert memory.recall(key).body == "by SQL"


def test_what_is_computed_anew_changes_neither_notes_nor_history(
    memory: Memory, admin: Client
) -> None:
    memory.apply([Save(key=key, summary=" s\n", body=f"{key} \r\n\t") for key in "abc"])
    memory.remember("a", None, "again")
    before = everything()
    counted = set(Posting.objects.values_list("term", "position", "frequency"))
    Posting.objects.filter(position=1).delete()
    Posting.objects.filter(position=2).update(frequency=7)
    Workspace.objects.update(revision=2, counted_notes=9, history_from=99)
    page = admin.get(at(memory, "check"))
    kinds = {defect.kind for defect in find_defects("core")}
    assert kinds == {"postings_stale", "revision_counter_behind", "history_start_ahead"}
    assert "there is nothing to undo" in text_of(page)
    done = admin.post(at(memory, "check"), {"reason": ""}, follow=True)
    assert "Notes, index and history agree" in text_of(done)
    assert everything() == before
    assert set(Posting.objects.values_list("term", "position", "frequency")) == counted
    assert not Revision.objects.filter(operation="repair").exists()


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
        ("sessions", {"session": "s"}, "django_agent_memory.writing.end_session"),
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
