"""The index costs no memory beyond its answer, and reads in one statement, however long it is."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from django_agent_memory import Memory, Save, streaming
from django_agent_memory.admin.sizes import index_characters
from django_agent_memory.models import IndexEntry, Workspace
from django_agent_memory.text.rendering import index_text


def filled(path: str, entries: int, *, summary: str = "s" * 60) -> Memory:
    """Return a memory with so many index entries, written past the channel for speed."""
    Memory(path).configure(title="t")
    Workspace.objects.filter(path=path).update(revision=entries)
    workspace = Workspace.objects.get(path=path)
    rows = (
        IndexEntry(workspace=workspace, key=f"note/{n:06}", summary=summary) for n in range(entries)
    )
    IndexEntry.objects.bulk_create(rows, batch_size=1_000)
    return Memory(path)


def peak(call: Callable[[], object]) -> int:
    """Return the most bytes that Python held at once during the call, after a first one."""
    call()
    cache.clear()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture
def no_cache(settings: Any) -> None:
    """The test's cache pickles, which is memory of its own."""
    settings.AGENT_MEMORY_INDEX_CACHE_ALIAS = None


KB = 1024


@pytest.mark.parametrize("budget", [1_000, 20_000, 200_000])
def test_under_a_budget_four_times_the_notes_take_the_same_memory(
    transactional_db: None, no_cache: None, budget: int
) -> None:
    peaks = []
    for entries in (5_000, 20_000):
        memory = filled(f"w{entries}", entries)
        memory.configure(index_budget=budget)
        peaks.append(peak(memory.index_note))
        assert len(memory.index_note()) <= budget
    assert peaks[1] <= 1.1 * peaks[0] + 64 * KB


@pytest.mark.parametrize("entries", [5_000, 20_000])
def test_without_one_it_takes_the_text_twice(
    transactional_db: None, no_cache: None, entries: int
) -> None:
    memory = filled("core", entries)
    # The lines joined so far and then all of them; and a batch of rows.
    assert peak(memory.index_note) <= 2.1 * len(memory.index_note()) + 512 * KB


def test_long_summaries_take_the_memory_of_two_batches(
    transactional_db: None, no_cache: None
) -> None:
    memory = filled("core", 4_000, summary="w" * 10_000)
    text = memory.index_note()
    assert len(text) < 600 * KB
    # One being read and one coming in, of 500; all of them would be 40 MB.
    assert peak(memory.index_note) <= 2.1 * len(text) + 2.2 * 500 * 10_000


def test_the_list_of_workspaces_does_not_hold_them_either(
    transactional_db: None, no_cache: None
) -> None:
    workspaces = []
    for entries in (5_000, 20_000):
        memory = filled(f"w{entries}", entries)
        memory.configure(index_budget=2_000)
        workspaces.append(Workspace.objects.get(path=memory.path))
    one, both = (
        peak(lambda rows=rows: index_characters(rows)) for rows in (workspaces[:1], workspaces)
    )
    assert both <= 1.1 * one + 64 * KB


@pytest.fixture
def memory(transactional_db: None, monkeypatch: Any) -> Memory:
    """Entries of which the code thinks that they are many."""
    monkeypatch.setattr(streaming, "FEW", 0)
    memory = Memory("core")
    memory.apply([Save(key=f"ключ {n:03}", summary=f"% {n} 🙂", body="b") for n in range(600)])
    return memory


def expected(memory: Memory) -> str:
    return index_text([(line.key, line.summary) for line in memory.list_memories()])


def test_a_streamed_text_is_the_same(memory: Memory) -> None:
    assert memory.index_note() == expected(memory)
    assert index_characters(Workspace.objects.all()) == {
        Workspace.objects.get().pk: len(memory.index_note())
    }


@pytest.mark.parametrize(("budget", "statements"), [(None, 2), (100_000, 2), (100, 3), (0, 3)])
def test_statements(memory: Memory, budget: int | None, statements: int) -> None:
    memory.configure(index_budget=budget)
    with CaptureQueriesContext(connection) as queries:
        text = memory.index_note()
    reads = [query["sql"] for query in queries if "agent_memory" in query["sql"]]
    # On PostgreSQL a cursor of the server; where it is, the log has its transaction too.
    assert len(reads) == statements, reads
    assert text


def test_inside_a_transaction_it_ends_nothing(memory: Memory) -> None:
    with transaction.atomic():
        memory.remember("ключ 599", "new", "b")
        memory.configure(index_budget=100)
        assert "showing 1 of 600" in memory.index_note()
        memory.configure(index_budget=None)
        assert memory.index_note().endswith("- ключ 599: new")
        memory.forget("ключ 599")
    assert memory.index_note() == expected(memory)
    assert len(memory.keys()) == 599


def test_the_connection_is_free_again(memory: Memory) -> None:
    rows = streaming.stream(IndexEntry.objects.values_list("key", "summary"), at_most=10**6)
    assert next(rows)
    rows.close()
    assert IndexEntry.objects.count() == 600
    assert not connection.in_atomic_block


def test_a_connection_that_is_not_there_yet(memory: Memory) -> None:
    connection.close()
    rows = streaming.stream(IndexEntry.objects.values_list("key"), at_most=10**6)
    assert len(list(rows)) == 600


def test_autocommit_off(memory: Memory) -> None:
    transaction.set_autocommit(False)
    try:
        assert memory.index_note() == expected(memory)
        assert IndexEntry.objects.count() == 600
    finally:
        transaction.rollback()
        transaction.set_autocommit(True)
