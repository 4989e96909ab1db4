"""Workspaces: their list, their form and what their agents see."""

from __future__ import annotations

import dataclasses
import datetime
import html
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory.admin.sizes import growth
from django_agent_memory.memory import Memory
from django_agent_memory.models import IndexEntry, Note, Revision, Workspace
from django_agent_memory.text.rendering import estimated_tokens
from django_agent_memory.writing import Save

from .conftest import Submit, url, workspace_of

DAY = datetime.timedelta(days=1)
LIST = "/admin/agent_memory/workspace/"


def rows(admin: Client) -> dict[str, Any]:
    return {row.path: row for row in admin.get(LIST).context["cl"].result_list}


def test_the_list_measures_what_the_agents_get(memory: Memory, admin: Client) -> None:
    memory.remember("a\n b", "x  \t y" * 100, "b")
    memory.remember("c", "\u202e🙂", "b")
    memory.remember("d", None, "b")
    budgeted = Memory("budgeted")
    budgeted.apply([Save(key=str(n), body="", summary="s" * 90) for n in range(9)])
    budgeted.configure(index_budget=300)
    Memory("empty").configure(title="Nothing yet")
    for _ in range(2):  # measured, then from the cache
        listed = rows(admin)
        assert (listed["core"].note_count, listed["core"].line_count) == (3, 2)
        assert (listed["empty"].note_count, listed["empty"].line_count) == (0, 0)
        assert listed["empty"].index_characters == 0
        for path, row in listed.items():
            assert row.index_characters == len(Memory(path).index_note())
    memory.forget("c")
    assert rows(admin)["core"].index_characters == len(memory.index_note())


@override_settings(AGENT_MEMORY_INDEX_CACHE_ALIAS=None)
def test_it_measures_without_a_cache(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "b")
    assert rows(admin)["core"].index_characters == len(memory.index_note())


def test_the_list_takes_the_same_queries_for_any_number(memory: Memory, admin: Client) -> None:
    counts = []
    for n in (1, 40):
        for i in range(n):
            Memory(f"w/{i}").remember("k", "s", "b")
        with CaptureQueriesContext(connection) as queries:
            admin.get(LIST)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 6
    assert "body" not in " ".join(row["sql"] for row in queries)


def test_what_the_agent_sees_is_exactly_that(memory: Memory, admin: Client) -> None:
    memory.remember("a", "<b>&amp;</b>", "b")
    memory.remember("b", "  two\n  lines ", "b")
    page = admin.get(url("workspace", "index", workspace_of(memory)))
    text = re.search(r"<pre[^>]*>\n(.*?)</pre>", page.content.decode(), re.S)
    assert text is not None
    assert html.unescape(text[1]) == memory.index_note()
    size = len(memory.index_note())
    stats = page.context["stats"]
    assert (stats.lines, stats.shown, stats.characters) == (2, 2, size)
    assert stats.tokens == estimated_tokens(size)
    assert f'{reverse_notes()}?workspace=core"' in page.content.decode()


def text_of(page: Any) -> str:
    """Return what stands on the page, on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page.content.decode())).split())


def test_what_it_costs_and_how_it_grows(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key=f"k{n:02}", summary="s" * 40, body="b") for n in range(12)])
    Workspace.objects.update(created_at=timezone.now() - 60 * DAY)
    Revision.objects.filter(number__lte=6).update(created_at=timezone.now() - 40 * DAY)
    address = url("workspace", "index", workspace_of(memory))
    shown = text_of(admin.get(address))
    assert "Notes 12 Lines 12 Characters 590 Tokens per turn (estimate) 148" in shown
    grown = "+0.2 lines and about +2.4 tokens per turn, per day (over the last 30 days)"
    assert f"Growth {grown} Index budget none" in shown
    memory.configure(index_budget=589)
    shown = text_of(admin.get(address))
    assert "Lines 10 of 12: the index budget cuts the rest Characters 556" in shown
    assert f"Growth of the whole index {grown} Index budget 589 characters" in shown


def test_an_index_that_shrinks_or_does_not_grow(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s" * 40, "b")
    Workspace.objects.update(created_at=timezone.now() - 60 * DAY)
    Revision.objects.update(created_at=timezone.now() - 40 * DAY)
    address = url("workspace", "index", workspace_of(memory))
    assert "Growth none (over the last 30 days)" in text_of(admin.get(address))
    memory.forget("k")
    assert "Growth −0.03 lines and about −0.5 tokens per turn" in text_of(admin.get(address))


@pytest.mark.parametrize(
    ("per_day", "days", "shown"),
    [
        (0.004, 30.0, "±0 lines and about ±0 tokens per turn, per day (over the last 30 days)"),
        (1.25, 1.0, "+1.2 lines and about +2.5 tokens per turn, per day (over the last 1 day)"),
        (99.6, 3.46, "+100 lines and about +199 tokens per turn, per day (over the last 3.5 days)"),
    ],
)  # fmt: skip
def test_how_growth_is_said(memory: Memory, per_day: float, days: float, shown: str) -> None:
    stats = dataclasses.replace(
        memory.stats(),
        lines_per_day=per_day,
        characters_per_day=8 * per_day,
        tokens_per_day=2 * per_day if per_day > 1 else 0.0,
        growth_days=days,
    )
    assert growth(stats) == shown


def test_the_page_takes_view_workspace(memory: Memory, member: Any) -> None:
    memory.remember("k", "s", "b")
    address = url("workspace", "index", workspace_of(memory))
    assert member("view_note").get(address).status_code == 403


def test_the_page_takes_the_same_queries_for_any_number(memory: Memory, admin: Client) -> None:
    counts = []
    for n in (1, 40):
        memory.apply([Save(key=f"k{i}", summary="s", body="b") for i in range(n)])
        with CaptureQueriesContext(connection) as queries:
            admin.get(url("workspace", "index", workspace_of(memory)))
        counts.append(len(queries))
    assert counts[0] == counts[1]


def reverse_notes() -> str:
    return url("note", "changelist")


def test_an_empty_index_says_so(memory: Memory, admin: Client) -> None:
    memory.configure(title="t")
    page = admin.get(url("workspace", "index", workspace_of(memory))).content.decode()
    assert "The index is empty" in page
    assert "<pre" not in page


def test_lines_without_notes_are_named(memory: Memory, admin: Client) -> None:
    memory.remember("lost & found", "s", "b")
    memory.remember("kept", "s", "b")
    Note.objects.filter(key="lost & found").delete()
    page = admin.get(url("workspace", "index", workspace_of(memory))).content.decode()
    assert "1 line has no note behind it" in page
    address = re.search(r'<a href="([^"]*)"><bdi class="agent-memory-key">lost &amp; found', page)
    assert address is not None
    form = admin.get(html.unescape(address[1]))
    assert form.context["adminform"].form["key"].value() == "lost & found"


def test_a_lost_note_can_be_stored_again(memory: Memory, submit: Submit) -> None:
    memory.remember("k", "s", "b")
    Note.objects.all().delete()
    form = {"workspace": workspace_of(memory).pk, "key": "k", "summary": "s", "body": "new"}
    assert submit(url("note", "add"), **form).status_code == 302
    assert memory.recall("k").body == "new"


def test_a_workspace_that_is_gone(admin: Client) -> None:
    for page in ("999/index/", "rubbish/index/"):
        assert admin.get(LIST + page).status_code == 302


def test_the_form_writes_what_was_changed(memory: Memory, submit: Submit) -> None:
    memory.remember("k", "s", "b")
    version = workspace_of(memory).index_version
    submit(url("workspace", "change", workspace_of(memory)), title="Core", description="a\r\nb")
    workspace = workspace_of(memory)
    assert (workspace.title, workspace.description) == ("Core", "a\nb")
    assert workspace.index_version == version
    submit(url("workspace", "change", workspace), index_budget="40")
    workspace = workspace_of(memory)
    assert (workspace.title, workspace.index_budget) == ("Core", 40)
    assert workspace.index_version != version


def test_an_untouched_form_writes_nothing(memory: Memory, submit: Submit) -> None:
    memory.configure(title="t", description="a\r\nb\n", index_budget=7)
    before = list(Workspace.objects.values())
    submit(url("workspace", "change", workspace_of(memory)))
    assert list(Workspace.objects.values()) == before


def test_the_path_is_given_once(memory: Memory, submit: Submit) -> None:
    submit(url("workspace", "add"), path="team/alpha", title="Alpha")
    workspace = Workspace.objects.get()
    assert (workspace.path, workspace.title) == ("team/alpha", "Alpha")
    submit(url("workspace", "change", workspace), path="moved", title="Beta")
    workspace.refresh_from_db()
    assert (workspace.path, workspace.title) == ("team/alpha", "Beta")


@pytest.mark.parametrize("path", ["", "a b", "a//b", "..", "x" * 256, "taken", "a/é"])
def test_bad_paths(memory: Memory, submit: Submit, path: str) -> None:
    Memory("taken").configure(title="theirs")
    response = submit(url("workspace", "add"), path=path, title="mine")
    assert "path" in response.context["adminform"].form.errors
    assert Workspace.objects.get().title == "theirs"


@pytest.mark.parametrize("path", [" sp", "sp ", "\tsp", "sp\u3000", "sp\n"])
def test_a_bad_path_is_refused_and_not_repaired(db: None, submit: Submit, path: str) -> None:
    response = submit(url("workspace", "add"), path=path)
    (error,) = response.context["adminform"].form.errors["path"]
    assert error.startswith("A workspace path is segments of A-Z a-z 0-9")
    assert not Workspace.objects.exists()


@pytest.mark.parametrize("title", ["  t ", " ", "a\r\nb", "\ta", "\u3000"])
def test_saving_a_workspace_untouched_says_that_nothing_was_changed(
    memory: Memory, admin: Client, submit: Submit, title: str
) -> None:
    memory.configure(title=title, description=" d\r\n")
    before = list(Workspace.objects.values())
    address = url("workspace", "change", workspace_of(memory))
    with CaptureQueriesContext(connection) as queries:
        submit(address)
    assert 'UPDATE "agent_memory' not in " ".join(row["sql"] for row in queries)
    messages = [str(message) for message in admin.get(LIST).context["messages"]]
    assert messages == ["Nothing was changed: exactly this is stored already."]
    assert list(Workspace.objects.values()) == before
    assert not LogEntry.objects.exists()
    submit(address, index_budget="9")
    assert LogEntry.objects.get().get_change_message() == "Changed Index budget."
    assert (workspace_of(memory).title, workspace_of(memory).index_budget) == (title, 9)


def test_a_title_is_stored_as_typed(memory: Memory, submit: Submit) -> None:
    submit(url("workspace", "add"), path="core", title="  t ")
    assert workspace_of(memory).title == "  t "
    submit(url("workspace", "change", workspace_of(memory)), title="t ")
    assert workspace_of(memory).title == "t "


@pytest.mark.parametrize(
    ("field", "value"),
    [("description", "x" * 10_001), ("index_budget", "-1"), ("title", "x" * 201)],
)
def test_bad_values(memory: Memory, submit: Submit, field: str, value: str) -> None:
    memory.configure(title="t")
    response = submit(url("workspace", "change", workspace_of(memory)), **{field: value})
    assert response.status_code == 200
    assert response.context["errors"]


def test_a_workspace_cannot_be_deleted(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "b")
    workspace = workspace_of(memory)
    assert "delete_selected" not in admin.get(LIST).content.decode()
    assert admin.post(url("workspace", "delete", workspace), {"post": "yes"}).status_code == 403
    assert IndexEntry.objects.count() == 1


def test_links_survive_localised_numbers(
    memory: Memory, admin: Client, submit: Submit, settings: Any
) -> None:
    settings.USE_THOUSAND_SEPARATOR = True
    settings.LANGUAGE_CODE = "de"
    Workspace.objects.create(pk=1234567, path="core")
    memory.remember("k", "s", "b")
    Note.objects.update(id=7654321, revision=1234)
    note = Note.objects.get()
    assert url("note", "change", note) in admin.get("/admin/agent_memory/note/").content.decode()
    assert "/1234567/index/" in admin.get(LIST).content.decode()
    opened = admin.get(url("note", "change", note))
    page = opened.content.decode()
    assert 'name="expected_revision" value="1234"' in page
    assert 'name="workspace" value="1234567"' in page
    assert submit(url("note", "change", note), opened=opened, body="c").status_code == 302
    clash = submit(url("note", "change", note), opened=opened, body="d").content.decode()
    assert 'name="_overwrite" value="2"' in clash
    listed = {"action": "forget_selected", "index": "0", "_selected_action": note.pk}
    asked = admin.post("/admin/agent_memory/note/", listed).content.decode()
    assert 'name="_selected_action" value="7654321"' in asked
