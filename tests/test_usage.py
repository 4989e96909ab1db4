"""Recalls are counted: never in the way of a read, never where nothing may be written."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import (
    DatabaseError,
    InterfaceError,
    OperationalError,
    connection,
    connections,
    transaction,
)
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory import Memory, usage
from django_agent_memory.models import Note, NoteUsage, Workspace

from .api.conftest import MOUNT, Agent

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_pending(settings: Any) -> Iterator[None]:
    """Keep what other tests recalled out, and write only when told to."""
    settings.AGENT_MEMORY_USAGE_SECONDS = 86_400
    usage._PENDING.counts.clear()
    yield
    usage._PENDING.counts.clear()


def used() -> dict[str, int]:
    """Return how often each note was recalled, as rows say."""
    positions = dict(Note.objects.values_list("position", "key"))
    rows = NoteUsage.objects.values_list("position", "recall_count")
    return {positions[position]: count for position, count in rows}


def keys(found: Any) -> list[str]:
    return [one.key for one in found]


def test_recalls_are_counted_and_dated(memory: Memory) -> None:
    memory.remember("a", "s", "b")
    memory.remember("b", "s", "b")
    before = timezone.now()
    for key in ("a", "a", "b", "unknown"):
        memory.recall(key)
    memory.lookup("a")
    usage.flush()
    assert used() == {"a": 3, "b": 1}
    memory.recall("a")
    usage.flush()
    assert used() == {"a": 4, "b": 1}
    recalled_at = NoteUsage.objects.get(recall_count=4).recalled_at
    assert before <= recalled_at <= timezone.now()


def test_a_recall_stays_one_statement_and_touches_no_note(memory: Memory) -> None:
    memory.remember("a", "s", "b")
    before = Note.objects.values().get(), Workspace.objects.values().get()
    with CaptureQueriesContext(connection) as queries:
        memory.recall("a")
    assert len(queries) == 1
    usage.flush()
    assert (Note.objects.values().get(), Workspace.objects.values().get()) == before


def test_what_is_due_is_written_by_a_later_recall(memory: Memory, settings: Any) -> None:
    memory.remember("a", "s", "b")
    memory.recall("a")
    assert used() == {}
    settings.AGENT_MEMORY_USAGE_SECONDS = 0
    memory.recall("a")
    assert used() == {"a": 2}


@pytest.mark.parametrize(("notes", "written"), [(2, False), (3, True), (4, True)])
def test_very_many_are_due(memory: Memory, monkeypatch: Any, notes: int, written: bool) -> None:
    monkeypatch.setattr(usage, "MOST_PENDING", 3)
    for number in range(notes):
        memory.remember(f"k{number}", "s", "b")
        memory.recall(f"k{number}")
    assert (used() != {}) is written


def test_none_switches_it_off(memory: Memory, settings: Any) -> None:
    settings.AGENT_MEMORY_USAGE_SECONDS = None
    memory.remember("a", "s", "b")
    memory.recall("a")
    assert not usage._PENDING.counts


def test_no_read_only_memory_counts(memory: Memory) -> None:
    memory.remember("a", "s", "b")
    Memory("core", read_only=True).recall("a")
    memory.at(1).recall("a")
    assert not usage._PENDING.counts


def test_no_alias_that_is_not_written_to_counts(memory: Memory, settings: Any) -> None:
    memory.remember("a", "s", "b")
    settings.DATABASE_ROUTERS = ["tests.test_usage.WritesElsewhere"]
    Memory("core", using="default").recall("a")
    assert not usage._PENDING.counts
    settings.DATABASE_ROUTERS = []
    Memory("core", using="default").recall("a")
    assert usage._PENDING.counts


class WritesElsewhere:
    """A router for which `default` is a replica."""

    def db_for_write(self, model: Any, **_: Any) -> str:
        return "primary"


def test_a_replayed_recall_is_none(memory: Memory) -> None:
    memory.remember("a", "s", "b")
    for _ in range(2):
        Memory("core", run="r").recall("a")
    usage.flush()
    assert used() == {"a": 1}


def test_nothing_is_written_in_a_transaction_of_the_callers(memory: Memory, settings: Any) -> None:
    settings.AGENT_MEMORY_USAGE_SECONDS = 0
    memory.remember("a", "s", "b")
    with transaction.atomic():
        memory.recall("a")
        assert usage.flush() == set()
        assert used() == {}
    usage.flush()
    assert used() == {"a": 1}


def test_a_request_ends_with_it(settings: Any) -> None:
    agent = Agent()
    agent.remember("a", "s", "b")
    agent.call("recall", key="a")
    assert used() == {}
    settings.AGENT_MEMORY_USAGE_SECONDS = 0
    Client().get(f"{MOUNT}index/")
    usage.after_request()
    assert used() == {"a": 1}


def test_a_locked_database_is_not_waited_for(memory: Memory) -> None:
    memory.remember("a", "s", "b")
    memory.recall("a")
    usage.flush()
    memory.recall("a")
    locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            NoteUsage.objects.update(recall_count=50)
            locked.set()
            done.wait(30)
        connections.close_all()

    other = threading.Thread(target=hold)
    other.start()
    assert locked.wait(30)
    try:
        usage.flush()  # would wait for the end of the other, which waits for it
    finally:
        done.set()
        other.join()
    assert used() == {"a": 50}
    memory.recall("a")
    usage.flush()
    assert used() == {"a": 51}


@pytest.mark.parametrize("error", [DatabaseError("read-only"), InterfaceError("closed")])
def test_a_database_that_refuses_is_let_be(
    memory: Memory, monkeypatch: Any, error: Exception
) -> None:
    memory.remember("a", "s", "b")
    memory.recall("a")

    def refuse(*_: Any) -> None:
        raise error

    monkeypatch.setattr(usage, "_write", refuse)
    usage.flush()
    assert not usage._PENDING.counts


def test_a_database_that_cannot_be_reached_is_let_be(memory: Memory, monkeypatch: Any) -> None:
    memory.remember("a", "s", "b")
    memory.recall("a")
    connection.close()

    def refuse(*_: Any) -> None:
        raise OperationalError("connection refused")

    with monkeypatch.context() as down:
        down.setattr(connection, "connect", refuse)
        usage.after_request()
        usage.flush()
    assert not usage._PENDING.counts


def test_find_takes_the_more_recently_recalled_of_equals(memory: Memory) -> None:
    for key in ("x", "y", "z"):
        memory.remember(key, "s", "tea")
    assert keys(memory.find("tea")) == ["z", "y", "x"]
    assert keys(memory.find(kind="")) == ["z", "y", "x"]
    memory.recall("x")
    usage.flush()
    assert keys(memory.find("tea")) == ["x", "z", "y"]
    assert keys(memory.find(kind="")) == ["x", "z", "y"]
    # Stored again is newer than recalled.
    memory.remember("y", "s", "tea", weight=1.0, kind="x")
    memory.remember("y", "s", "tea", kind="")
    assert keys(memory.find("tea")) == ["y", "x", "z"]


def test_weight_comes_before_it_and_specificity_after(memory: Memory) -> None:
    memory.remember("a", "s", "tea", weight=2.0)
    memory.apply([])
    memory.remember("b", "s", "tea")
    memory.recall("b")
    usage.flush()
    assert keys(memory.find(kind="")) == ["a", "b"]
    moment = timezone.now() + datetime.timedelta(days=1)
    memory.remember("d/e", "s", "tea")
    Note.objects.update(updated_at=moment)
    NoteUsage.objects.all().delete()
    assert keys(memory.find(kind="", min_weight=0)) == ["a", "d/e", "b"]


def test_erase_takes_it(memory: Memory) -> None:
    for key in ("a", "b"):
        memory.remember(key, "s", "b")
        memory.recall(key)
    usage.flush()
    memory.erase("a")
    assert used() == {"b": 1}
    memory.erase()
    assert not NoteUsage.objects.exists()


def test_a_note_that_went_and_came_back_starts_anew(memory: Memory) -> None:
    memory.remember("a", "s", "b")
    memory.recall("a")
    memory.forget("a")
    usage.flush()
    memory.restore("a", 1)
    assert NoteUsage.objects.count() == 0
    assert keys(memory.find(kind="")) == ["a"]
