"""Forgetting from the list and from a note's page."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest
from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import strip_tags

from django_agent_memory.exceptions import Busy
from django_agent_memory.memory import Memory
from django_agent_memory.models import IndexEntry, Note, Revision, Workspace
from django_agent_memory.writing import Save

from .browser import fields_of
from .conftest import note_of, note_url

LIST = "/admin/agent_memory/note/"


def ask(admin: Client, *pks: int, query: str = "", **more: Any) -> Any:
    data = {"action": "forget_selected", "index": "0", "_selected_action": list(pks), **more}
    return admin.post(LIST + query, data)


def confirm(admin: Client, page: Any, *pks: int, query: str = "", **more: Any) -> Any:
    fields = {**fields_of(page), "reason": "why", **more}
    fields.pop("q", None)
    if pks:
        fields["_selected_action"] = list(pks)
    return admin.post(LIST + query, fields, follow=True)


def messages_of(response: Any) -> list[str]:
    return [strip_tags(str(message)) for message in response.context["messages"]]


def test_django_s_own_delete_is_gone(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "b")
    page = admin.get(LIST).content.decode()
    assert "delete_selected" not in page
    assert admin.post(note_url(memory, page="delete"), {"post": "yes"}).status_code == 403
    ask_delete = {"action": "delete_selected", "_selected_action": [note_of(memory).pk]}
    admin.post(LIST, {**ask_delete, "post": "yes"})
    assert Note.objects.count() == 1


def test_the_action_asks_first_and_then_forgets(memory: Memory, admin: Client) -> None:
    for key in ("a", "b", "c"):
        memory.remember(key, "s", "text of it")
    pks = [note_of(memory, key).pk for key in ("a", "b")]
    page = ask(admin, *pks)
    text = page.content.decode()
    assert "2 notes will be forgotten" in text
    # Two lines of "- a: s" and the newline in front of each.
    assert "14 characters shorter, about 4 tokens" in text
    assert Note.objects.count() == 3

    done = confirm(admin, page, *pks, reason="stale")
    assert messages_of(done) == ["2 notes were forgotten. Undo…"]
    assert memory.keys() == ("c",)
    assert memory.index_note() == "[memory index]\n- c: s"
    last = list(Revision.objects.order_by("number"))[-2:]
    assert [(r.operation, r.actor, r.reason) for r in last] == [("forget", "ada", "stale")] * 2
    (entry,) = LogEntry.objects.all()
    assert (entry.action_flag, entry.object_repr) == (CHANGE, "core")
    assert entry.get_change_message() == "Forgot 2 notes. stale"


def test_the_page_of_a_note_asks_first_and_then_forgets(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "b")
    address = note_url(memory, page="forget")
    page = admin.get(address)
    assert "1 note will be forgotten" in page.content.decode()
    done = admin.post(address, {**fields_of(page), "reason": "why"}, follow=True)
    assert messages_of(done) == ["1 note was forgotten. Undo…"]
    assert memory.recall("k") is None
    assert Revision.objects.latest("number").reason == "why"
    (entry,) = LogEntry.objects.all()
    assert (entry.action_flag, entry.object_repr) == (DELETION, "k")
    gone = admin.get(address, follow=True)
    assert messages_of(gone) == ["This note is not stored any more."]


def test_what_is_written_after_the_look_is_left_alone(memory: Memory, admin: Client) -> None:
    memory.remember("a", "s", "b")
    memory.remember("b", "s", "b")
    page = ask(admin, note_of(memory, "a").pk, select_across="1")
    memory.remember("a", "s", "news")
    memory.remember("new", "s", "b")
    done = confirm(admin, page, note_of(memory, "a").pk)
    assert memory.keys() == ("a", "new")
    assert messages_of(done) == [
        "1 note was forgotten. Undo…",
        "2 notes were left alone: they were written after you looked.",
    ]


def test_select_across_keeps_to_the_filter_and_the_search(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key=f"old/{n:03}", body="needle", summary="s") for n in range(150)])
    memory.remember("kept", "s", "something else")
    Memory("other").remember("kept too", "s", "needle")
    query = "?q=needle&workspace=core"
    page = ask(admin, note_of(memory, "old/000").pk, query=query, select_across="1")
    assert "150 notes will be forgotten" in page.content.decode()
    confirm(admin, page, query=query)
    assert list(Note.objects.values_list("key", flat=True)) == ["kept", "kept too"]


def test_several_workspaces_each_get_a_line_in_the_log(memory: Memory, admin: Client) -> None:
    for path in ("a", "b"):
        Memory(path).apply([Save(key=str(n), body="") for n in range(3)])
    pk = Note.objects.first().pk
    confirm(admin, ask(admin, pk, select_across="1"))
    assert not Note.objects.exists()
    entries = LogEntry.objects.order_by("object_repr").values_list("object_repr", "change_message")
    assert list(entries) == [("a", "Forgot 3 notes. why"), ("b", "Forgot 3 notes. why")]


def test_a_busy_workspace_is_named_and_the_others_are_done(memory: Memory, admin: Client) -> None:
    for path in ("a", "b"):
        Memory(path).remember("k", "s", "b")
    apply = Memory.apply

    def busy(self: Memory, *args: Any, **kwargs: Any) -> Any:
        if self.path == "a":
            raise Busy("locked")
        return apply(self, *args, **kwargs)

    page = ask(admin, Note.objects.first().pk, select_across="1")
    with mock.patch.object(Memory, "apply", busy):
        done = confirm(admin, page)
    assert [note.workspace.path for note in Note.objects.all()] == ["a"]
    assert any(text.startswith("a: The memory is busy") for text in messages_of(done))


def test_an_unreadable_time_asks_again(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "b")
    page = ask(admin, note_of(memory).pk)
    for seen_at in ("", "yesterday", "2026-01-01T00:00:00", "2026-99-99T00:00:00+00:00"):
        again = confirm(admin, page, seen_at=seen_at)
        assert "1 note will be forgotten" in again.content.decode()
    assert confirm(admin, page, reason="x" * 1_001).context["form"].errors
    assert memory.recall("k") is not None


def test_many_take_a_reason_and_one_does_not(memory: Memory, admin: Client) -> None:
    for key in "ab":
        memory.remember(key, "s", "b")
    page = ask(admin, note_of(memory, "a").pk)
    assert page.context["form"]["reason"].build_widget_attrs({})["required"] is True
    for reason in ("", " ", " \t"):
        again = confirm(admin, page, reason=reason)
        assert again.context["form"].errors == {"reason": ["This field is required."]}
        assert "1 note will be forgotten" in again.content.decode()
    assert memory.keys() == ("a", "b")
    address = note_url(memory, "a", "forget")
    admin.post(address, fields_of(admin.get(address)))
    assert memory.keys() == ("b",)
    assert memory.history("a")[-1].reason == ""


def test_the_way_to_undo_it_is_offered_to_those_who_may(
    memory: Memory, admin: Client, member: Callable[..., Client]
) -> None:
    for path in [f"w{n}" for n in range(7)]:
        Memory(path).apply([Save(key=str(n), body="") for n in range(3)])
    pk = Note.objects.first().pk
    done = confirm(admin, ask(admin, pk, select_across="1"))
    (message,) = messages_of(done)
    named = " ".join(f"Undo in w{n}…" for n in range(5))
    assert message == f"21 notes were forgotten. {named}"
    first = Workspace.objects.get(path="w0")
    way = f"/admin/agent_memory/workspace/{first.pk}/batch/?first=4&amp;last=6"
    assert f'<a href="{way}">Undo in w0…</a>' in done.content.decode()
    admin.post(way.replace("&amp;", "&"))
    assert Memory("w0").keys() == ("0", "1", "2")
    assert Memory("w1").keys() == ()
    browser = member("view_note", "delete_note")
    pk = Note.objects.first().pk
    assert messages_of(confirm(browser, ask(browser, pk), pk)) == ["1 note was forgotten."]


@pytest.mark.parametrize("budget", [None, 0, 60, 200, 10_000])
@pytest.mark.parametrize("gone", [["a"], ["b", "none"], ["a", "b", "c"], ["none"]])
def test_what_it_saves_is_what_the_index_loses(
    memory: Memory, admin: Client, budget: int | None, gone: list[str]
) -> None:
    memory.apply([Save(key=key, body="b", summary=key * 50) for key in "abc"])
    memory.remember("none", None, "b")
    memory.configure(index_budget=budget)
    before = len(memory.index_note())
    page = ask(admin, *(note_of(memory, key).pk for key in gone))
    for key in gone:
        memory.forget(key)
    less = before - len(memory.index_note())
    assert [row["characters"] for row in page.context["saved"]] == ([less] if less else [])


def test_what_each_of_several_workspaces_saves(memory: Memory, admin: Client) -> None:
    for n in range(1, 8):
        Memory(f"w{n}").apply([Save(key="k", body="", summary="s" * n)])
    Memory("none").remember("k", None, "b")
    Memory("budgeted").remember("k", "s" * 50, "b")
    Memory("budgeted").configure(index_budget=10_000)
    before = {path: len(Memory(path).index_note()) for path in ("budgeted", "w7", "w4")}
    page = ask(admin, Note.objects.first().pk, select_across="1")
    assert before == {"budgeted": 70, "w7": 27, "w4": 24}
    text = page.content.decode()
    assert "<li><bdi>budgeted</bdi>: 70 characters shorter, about 18 tokens</li>" in text
    shown = [(row["path"], row["characters"]) for row in page.context["saved"]]
    assert shown == [("budgeted", 70), ("w7", 27), ("w6", 26), ("w5", 25), ("w4", 24)]
    assert "<li>and 3 more workspaces</li>" in text
    assert text.count("characters shorter") == 5
    assert "Every turn of the agents gets" not in text


def test_one_of_several_workspaces_saves(memory: Memory, admin: Client) -> None:
    Memory("a").remember("k", None, "b")
    Memory("b").remember("k", "s", "b")
    text = ask(admin, Note.objects.first().pk, select_across="1").content.decode()
    assert "<li><bdi>b</bdi>: 21 characters shorter, about 6 tokens</li>" in text
    assert text.count("characters shorter") == 1


@pytest.fixture
def many(memory: Memory) -> Iterator[Memory]:
    memory.apply(Save(key=f"k/{n:05}", body="", summary=f"s{n}") for n in range(20_000))
    return memory


def test_twenty_thousand_notes(many: Memory, admin: Client) -> None:
    pk = note_of(many, "k/00000").pk
    with CaptureQueriesContext(connection) as queries:
        page = ask(admin, pk, select_across="1")
    assert "20,000" in page.content.decode() or "20000" in page.content.decode()
    assert len(page.content) < 200_000
    assert page.content.decode().count("k/0") == 20
    # Session, user; the list's two filters, count, page and summaries; the notes, lines' count.
    assert len(queries) <= 10
    done = confirm(admin, page)
    assert messages_of(done) == ["20000 notes were forgotten. Undo…"]
    assert not Note.objects.exists()
    assert not IndexEntry.objects.exists()
    assert Revision.objects.count() == 40_000


def test_the_times_of_rows_are_untouched_by_asking(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "b")
    before: list[datetime.datetime] = list(Note.objects.values_list("updated_at", flat=True))
    ask(admin, note_of(memory).pk)
    assert list(Note.objects.values_list("updated_at", flat=True)) == before
