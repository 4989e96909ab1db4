"""What the index costs and how it grows: exact, at the edges of its window too."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from django_agent_memory import Drop, Memory, Save
from django_agent_memory.models import Note, Revision, Workspace
from django_agent_memory.results import Stats
from django_agent_memory.text.rendering import index_text
from django_agent_memory.writing import prune_revisions

NOW = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
MOMENT = datetime.timedelta(microseconds=1)
HEADER = len("[memory index]")


@pytest.fixture(autouse=True)
def _noon(monkeypatch: Any) -> None:
    monkeypatch.setattr("django_agent_memory.stats.timezone.now", lambda: NOW)


def made(memory: Memory, days: float) -> None:
    """Have the workspace made so many days ago, and all of its revisions then."""
    when = NOW - days * DAY
    Workspace.objects.filter(path=memory.path).update(created_at=when)
    Revision.objects.filter(workspace__path=memory.path).update(created_at=when)


def written(memory: Memory, number: int, when: datetime.datetime) -> None:
    """Have the revision, and all after it, written then."""
    later = Revision.objects.filter(workspace__path=memory.path, number__gte=number)
    assert later.update(created_at=when)


def whole(memory: Memory) -> tuple[int, int]:
    """Return lines and length of the text of all entries."""
    entries = [(line.key, line.summary) for line in memory.list_memories()]
    return len(entries), len(index_text(entries))


def assert_grown_since(memory: Memory, number: int) -> Stats:
    """Assert that what was gained is what the whole texts of now and then differ by."""
    stats = memory.stats()
    gained = tuple(
        now - then for now, then in zip(whole(memory), whole(memory.at(number)), strict=True)
    )
    days = stats.growth_days
    assert (stats.lines_per_day * days, stats.characters_per_day * days) == pytest.approx(gained)
    assert stats.tokens_per_day == stats.characters_per_day / 4
    return stats


def test_a_workspace_that_is_not_there_is_all_zeros(memory: Memory) -> None:
    assert memory.stats() == Stats(
        notes=0,
        lines=0,
        shown=0,
        characters=0,
        tokens=0,
        index_budget=None,
        growth_days=0.0,
        lines_per_day=0.0,
        characters_per_day=0.0,
        tokens_per_day=0.0,
        workspace_revision=0,
    )
    assert memory.at(0).stats() == memory.stats()
    assert not Workspace.objects.exists()


def test_all_of_it_to_the_number(memory: Memory) -> None:
    memory.remember("a", "s" * 10, "b")
    memory.remember("hidden", None, "b")
    memory.remember("b", "s" * 10, "b")
    made(memory, 60)
    memory.remember("c", "s" * 10, "b")
    memory.remember("a", "s" * 40, "b")
    memory.remember("new and hidden", None, "b")
    written(memory, 4, NOW - 3 * DAY)
    size = HEADER + len("\n- a: \n- b: \n- c: ") + 60
    assert memory.stats() == Stats(
        notes=5,
        lines=3,
        shown=3,
        characters=size,
        tokens=-(-size // 4),
        index_budget=None,
        growth_days=30.0,
        lines_per_day=1 / 30,
        characters_per_day=(len("\n- c: ") + 10 + 30) / 30,
        tokens_per_day=(len("\n- c: ") + 10 + 30) / 30 / 4,
        workspace_revision=6,
    )


def test_the_first_line_brings_the_header_and_the_last_takes_it(memory: Memory) -> None:
    memory.configure(title="t")
    made(memory, 60)
    memory.remember("a", "s", "b")
    written(memory, 1, NOW - DAY)
    assert memory.stats().characters_per_day * 30 == pytest.approx(len("[memory index]\n- a: s"))
    made(memory, 60)
    memory.forget("a")
    written(memory, 2, NOW - DAY)
    stats = assert_grown_since(memory, 1)
    assert (stats.lines, stats.characters) == (0, 0)
    assert stats.characters_per_day * 30 == pytest.approx(-len("[memory index]\n- a: s"))


@pytest.mark.parametrize(
    ("age", "days"),
    [
        (MOMENT, 1.0), (DAY / 24, 1.0), (DAY - MOMENT, 1.0), (DAY, 1.0), (1.5 * DAY, 1.5),
        (29 * DAY, 29.0), (30 * DAY, 30.0), (30 * DAY + MOMENT, 30.0), (900 * DAY, 30.0),
        (-DAY, 1.0),
    ],
)  # fmt: skip
def test_the_window_is_as_old_as_the_workspace_from_1_to_30_days(
    memory: Memory, age: datetime.timedelta, days: float
) -> None:
    memory.remember("k", "s" * 94, "b")
    made(memory, age / DAY)
    Workspace.objects.update(created_at=NOW - age)
    written(memory, 1, max(NOW - age, NOW - 30 * DAY + MOMENT))
    stats = memory.stats()
    assert stats.growth_days == days
    assert stats.lines_per_day == 1 / days
    assert stats.characters_per_day == (HEADER + 100) / days


@pytest.mark.parametrize(
    ("when", "gained"),
    [(NOW - 30 * DAY - MOMENT, 0), (NOW - 30 * DAY, 0), (NOW - 30 * DAY + MOMENT, 1), (NOW, 1)],
)
def test_the_edge_of_the_window(memory: Memory, when: datetime.datetime, gained: int) -> None:
    memory.remember("old", "s", "b")
    made(memory, 400)
    memory.remember("k", "s", "b")
    written(memory, 2, when)
    stats = memory.stats()
    assert stats.lines_per_day * 30 == gained
    assert stats.characters_per_day * 30 == pytest.approx(gained * len("\n- k: s"))


def test_a_key_written_often_counts_by_its_first_and_last_state(memory: Memory) -> None:
    memory.remember("k", "first", "b")
    memory.remember("k", "before", "b")
    made(memory, 60)
    for summary in ("x" * 100, None, "y", "after all"):
        memory.remember("k", summary, "b")
    memory.apply([Drop(key="k"), Save(key="k", summary="and at last", body="b")])
    written(memory, 3, NOW - DAY)
    stats = assert_grown_since(memory, 2)
    assert stats.lines_per_day == 0
    assert stats.characters_per_day * 30 == pytest.approx(len("and at last") - len("before"))


def test_revisions_of_one_moment_are_all_before_it(memory: Memory) -> None:
    memory.apply([Save(key=f"k{n}", summary="s", body="b") for n in range(50)])
    made(memory, 60)
    written(memory, 1, NOW - 30 * DAY)
    assert memory.stats().lines_per_day == 0
    written(memory, 26, NOW - 30 * DAY + MOMENT)
    assert memory.stats().lines_per_day * 30 == 25


@pytest.fixture
def old(memory: Memory) -> Memory:
    """Revisions 1 to 6, written long ago: four notes with a line, one without, one forgotten."""
    for key in ("a", "b", "c", "d"):
        memory.remember(key, f"about {key}", "b")
    memory.remember("hidden", None, "b")
    memory.remember("gone", "about gone", "b")
    memory.forget("gone")
    made(memory, 60)
    return memory


def test_forgets_restores_and_a_rollback(old: Memory) -> None:
    old.forget("a")
    old.restore("gone", 6)
    old.remember("b", "another text", "b")
    old.restore("b", 2)
    Memory("core", actor="intruder").remember("c", "planted " * 9, "b")
    written(old, 8, NOW - 2 * DAY)
    assert_grown_since(old, 7)
    old.rollback(actor="intruder", since=8)
    written(old, 13, NOW - DAY)
    stats = assert_grown_since(old, 7)
    assert stats.lines_per_day == 0
    assert stats.characters_per_day * 30 == pytest.approx(len("gonegone") - len("aa"))


def test_a_redaction_gains_nothing_and_blank_is_what_the_past_says(old: Memory) -> None:
    old.remember("a", "a second text", "b")
    made(old, 60)
    old.redact("a")
    written(old, 9, NOW - DAY)
    assert assert_grown_since(old, 8).characters_per_day == 0
    old.remember("b", "a second text", "b")
    old.redact("b")
    written(old, 10, NOW - DAY)
    stats = assert_grown_since(old, 8)
    assert stats.characters_per_day * 30 == pytest.approx(
        len("a second text") - len("(no summary)")
    )


def test_what_was_erased_was_never_there(old: Memory) -> None:
    old.remember("new", "s", "b")
    old.remember("e", "s", "b")
    written(old, 8, NOW - DAY)
    old.erase("e")
    old.erase("a")
    stats = assert_grown_since(old, 7)
    assert stats.lines_per_day * 30 == pytest.approx(1)
    old.erase()
    stats = assert_grown_since(old, 7)
    assert (stats.notes, stats.lines, stats.lines_per_day, stats.growth_days) == (0, 0, 0, 30)


def test_it_looks_no_further_back_than_the_past_is_complete(old: Memory) -> None:
    for number, days in ((8, 20), (9, 10), (10, 4)):
        old.remember("a", "x" * number, "b")
        old.remember(f"new {number}", "s", "b")
        written(old, 2 * number - 8, NOW - days * DAY)
    assert assert_grown_since(old, 7).growth_days == 30
    before = old.stats()
    # Of a's revisions 1, 8, 10, 12 the first two go: complete from 10 on, written 10 days ago.
    removed = prune_revisions("core", older_than=DAY * 7, keep=1, dry_run=False)
    assert removed
    number = Workspace.objects.get().history_from
    since = Revision.objects.get(number=number).created_at
    stats = assert_grown_since(old, number)
    assert stats.growth_days == (NOW - since) / DAY
    assert stats.growth_days < before.growth_days
    assert (stats.lines, stats.characters) == (before.lines, before.characters)


@pytest.mark.parametrize(("days", "shown"), [(0.5, 1.0), (1, 1.0), (2, 2.0), (31, 30.0)])
def test_the_past_is_complete_since(old: Memory, days: float, shown: float) -> None:
    old.remember("x", "s", "b")
    old.remember("y", "s", "b")
    written(old, 8, NOW - days * DAY)
    Workspace.objects.update(history_from=8)
    stats = old.stats()
    assert stats.growth_days == shown
    assert stats.lines_per_day == (1 / shown if days <= 30 else 0)


def test_a_past_of_which_nothing_is_left(old: Memory) -> None:
    Workspace.objects.update(history_from=8, revision=9)
    Workspace.objects.update(created_at=NOW - 90 * DAY)
    stats = old.stats()
    assert (stats.lines, stats.growth_days, stats.lines_per_day) == (4, 30.0, 0.0)


@pytest.mark.parametrize("less", [0, 1])
def test_growth_is_that_of_the_whole_index_and_cost_is_within_the_budget(
    memory: Memory, less: int
) -> None:
    memory.apply([Save(key=f"k{n:02}", summary="s" * 40, body="b") for n in range(12)])
    made(memory, 3)
    whole = memory.stats()
    memory.configure(index_budget=whole.characters - less)
    stats = memory.stats()
    assert (stats.lines, stats.shown) == (12, 10 if less else 12)
    assert stats.characters == len(memory.index_note()) <= stats.index_budget
    assert stats.tokens == -(-stats.characters // 4)
    assert stats.characters_per_day == whole.characters_per_day == whole.characters / 3
    assert stats.lines_per_day == 4


def test_a_past_memory_says_what_it_cost_then(memory: Memory) -> None:
    memory.configure(title="t")
    for number in range(1, 6):
        memory.remember(f"k{number}", "s" * 20, "b")
    memory.forget("k2")
    for number in range(1, 7):
        written(memory, number, NOW - (60 - 10 * number) * DAY)
    Workspace.objects.update(created_at=NOW - 60 * DAY)
    then = memory.at(5).stats()
    # Its window: the 30 days before revision 5, which came 50 days after the workspace was made.
    assert (then.notes, then.lines, then.growth_days) == (5, 5, 30.0)
    assert then.characters == len(memory.at(5).index_note())
    assert then.lines_per_day * 30 == pytest.approx(3)
    assert then.workspace_revision == 5
    assert memory.at(1).stats().growth_days == 10.0
    assert memory.at(NOW - 15 * DAY).stats().workspace_revision == 4
    assert memory.at(6).stats() == memory.stats()
    before_all = memory.at(0).stats()
    assert (before_all.lines, before_all.lines_per_day, before_all.notes) == (0, 0, 0)


def test_a_recorded_call_answers_it_again(memory: Memory) -> None:
    memory.remember("k", "s", "b")
    first = Memory("core", actor="loop", run="r").stats()
    memory.remember("k2", "s", "b")
    again = Memory("core", actor="loop", run="r")
    assert (again.stats(), again.replayed) == (first, True)


@pytest.mark.django_db(transaction=True)
def test_the_async_twin() -> None:
    memory = Memory("core")
    memory.remember("k", "s", "b")

    async def turn() -> Stats:
        stats = await memory.astats()
        await sync_to_async(connections.close_all)()
        return stats

    assert asyncio.run(turn()) == memory.stats()


def statements(memory: Memory) -> int:
    with CaptureQueriesContext(connection) as queries:
        memory.stats()
    return len(queries)


@pytest.mark.parametrize("notes", [3, 700])
def test_statements(transactional_db: None, notes: int) -> None:
    memory = Memory("core")
    memory.apply([Save(key=f"k{n}", summary="s", body="b") for n in range(notes)])
    assert statements(memory) == 5  # The text is made.
    assert statements(memory) == 4
    made(memory, 60)
    memory.index_note()
    assert statements(memory) == 5
    memory.apply([Save(key=f"k{n}", summary="new", body="b") for n in (1, 2, 10_000)])
    memory.index_note()
    assert statements(memory) == 5 + 2
    Workspace.objects.update(history_from=notes + 1)
    assert statements(memory) == 6 + 2
    assert statements(Memory("nowhere")) == 2


@pytest.mark.parametrize(("keys", "batches"), [(499, 1), (500, 1), (501, 2)])
def test_statements_for_what_was_written(transactional_db: None, keys: int, batches: int) -> None:
    memory = Memory("core")
    memory.apply([Save(key=f"k{n}", summary="s", body="b") for n in range(keys)])
    made(memory, 60)
    memory.apply([Save(key=f"k{n}", summary="new", body="b") for n in range(keys)])
    memory.index_note()
    assert statements(memory) == 5 + 2 * batches
    stats = assert_grown_since(memory, keys)
    assert stats.characters_per_day * 30 == pytest.approx(2 * keys)


def test_it_reads_no_body_and_what_is_older_only_by_its_key(memory: Memory) -> None:
    memory.remember("k", "s", "b")
    with CaptureQueriesContext(connection) as queries:
        memory.stats()
    assert "body" not in " ".join(query["sql"] for query in queries)
    assert Note.objects.count() == 1


def analysed_as_smaller() -> None:
    """Leave SQLite the statistics of sixty workspaces of a hundred notes each."""
    for n in range(60):
        Memory(f"other/{n}").apply([Save(key=f"k{m}", summary="s", body="b") for m in range(100)])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


@pytest.mark.parametrize("is_analysed", [False, True])
def test_more_keys_than_are_read_at_once(
    transactional_db: None, monkeypatch: Any, is_analysed: bool
) -> None:
    if is_analysed and connection.vendor == "sqlite":
        analysed_as_smaller()
    monkeypatch.setattr("django_agent_memory.streaming.FEW", 0)
    memory = Memory("core")
    memory.apply([Save(key=f"k{n}", summary="s", body="b") for n in range(600)])
    made(memory, 60)
    memory.apply([Save(key=f"k{n}", summary="longer", body="b") for n in range(300, 1_200)])
    written(memory, 601, NOW - DAY)
    assert assert_grown_since(memory, 600).lines_per_day * 30 == 600
