"""A busy database: tried again where the transaction is ours, `Busy` where it stays so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from django_agent_memory import Memory, Save
from django_agent_memory.exceptions import Busy

from .crew import another_connection, in_threads, reconnected

PATH = "team/busy"
# The least patience that each database can be given.
IMPATIENT: dict[str, dict[str, Any]] = {
    "sqlite": {"timeout": 0.05},
    "postgresql": {"options": "-c lock_timeout=50ms"},
    "mysql": {"init_command": "SET SESSION innodb_lock_wait_timeout = 0"},
}
# Sent by PostgreSQL as an isolation level of psycopg.
SERIALIZABLE = 4


@pytest.fixture
def impatient(settings: Any) -> Iterator[Any]:
    """A connection, and a channel, that soon give up."""
    settings.AGENT_MEMORY_WRITE_DEADLINE = 0.2
    with reconnected(IMPATIENT[connection.vendor]) as connected:
        yield connected


@contextmanager
def locked_by_another() -> Iterator[Any]:
    """Hold the workspace's row from a second connection, until it is rolled back."""
    with another_connection() as other:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("UPDATE agent_memory_workspace SET revision = revision")
        yield other
        other.rollback()


@pytest.fixture
def memory() -> Memory:
    """A memory of one note."""
    memory = Memory(PATH)
    memory.remember("fact", "A line", "A body")
    return memory


class Watch:
    """An execute wrapper: counts the attempts at a write, and calls `meddle` when one has closed.

    A write closes with the UPDATE that sets its counters; what fails after it fails at COMMIT.
    """

    def __init__(self, meddle: Callable[[], None] = lambda: None) -> None:
        self.meddle = meddle
        self.begun = self.closed = 0

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if sql.startswith("UPDATE") and "agent_memory_workspace" in sql:
            if "updated_at" in sql:
                self.closed += 1
                self.meddle()
            else:
                self.begun += 1
        return result


def test_a_lock_that_stays_is_busy_and_writes_nothing(memory: Memory, impatient: Any) -> None:
    with locked_by_another():
        with pytest.raises(Busy, match="nothing was written") as caught:
            memory.remember("other", "A line", "A body")
        with pytest.raises(Busy):
            memory.forget("fact")
        with pytest.raises(Busy):
            memory.configure(title="Title")
    assert isinstance(caught.value.__cause__, OperationalError)
    assert memory.keys() == ("fact",)
    assert memory.revision() == 1


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite waits by its own timeout")
def test_a_patient_database_is_told_the_deadline(memory: Memory, settings: Any) -> None:
    settings.AGENT_MEMORY_WRITE_DEADLINE = 0.3
    with locked_by_another(), pytest.raises(Busy):
        memory.remember("other", "A line", "A body")
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT current_setting('lock_timeout')")
            assert cursor.fetchone() == ("0",)
        else:
            cursor.execute("SELECT @@innodb_lock_wait_timeout")
            assert cursor.fetchone()[0] > 1
    assert memory.keys() == ("fact",)


def test_a_lock_that_goes_away_is_waited_for(memory: Memory, impatient: Any, settings: Any) -> None:
    settings.AGENT_MEMORY_WRITE_DEADLINE = 10
    attempts = 0
    with locked_by_another() as other:

        def count(execute: Any, sql: str, *rest: Any) -> Any:
            nonlocal attempts
            attempts += sql.startswith("UPDATE")
            if attempts == 3:
                other.rollback()
            return execute(sql, *rest)

        with impatient.execute_wrapper(count):
            assert memory.remember("other", "A line", "A body").outcome == "created"
    assert attempts >= 3


def test_inside_a_callers_transaction_nothing_is_tried_again(
    memory: Memory, impatient: Any, settings: Any
) -> None:
    settings.AGENT_MEMORY_WRITE_DEADLINE = 10
    tried: list[str] = []

    def note(execute: Any, sql: str, *rest: Any) -> Any:
        tried.append(sql)
        return execute(sql, *rest)

    with locked_by_another(), impatient.execute_wrapper(note), transaction.atomic():
        with pytest.raises(Busy):
            memory.remember("other", "A line", "A body")
        transaction.set_rollback(True)
    assert len([sql for sql in tried if sql.startswith("UPDATE")]) == 1


def test_a_callers_transaction_survives_busy_where_the_database_lets_it(
    memory: Memory, impatient: Any
) -> None:
    with transaction.atomic():
        with locked_by_another(), pytest.raises(Busy):
            memory.remember("other", "A line", "A body")
        memory.remember("third", "A line", "A body")
    assert memory.keys() == ("fact", "third")


def test_a_deadlock_is_tried_again() -> None:
    """Somebody else locks the note first and the workspace second: one of the two must lose."""
    if not connection.features.has_select_for_update:
        pytest.skip(f"{connection.vendor} has one lock, so nobody can wait in a circle")
    memory = Memory(PATH)
    saves = [Save(key=f"key/{number}", summary="A line", body="A body") for number in range(50)]
    memory.apply(saves)
    holds_note, holds_workspace = threading.Event(), threading.Event()

    def write() -> tuple[str, int]:
        watch = Watch()

        def meet(execute: Any, sql: str, *rest: Any) -> Any:
            is_ours = sql.startswith("UPDATE")
            if is_ours:
                holds_note.wait(10)
            result = watch(execute, sql, *rest)
            if is_ours:
                holds_workspace.set()
            return result

        with connection.execute_wrapper(meet):
            return memory.remember("key/0", "A line", "Another body").outcome, watch.begun

    def lock_the_wrong_way_round() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            # MariaDB gives up the one with less work done, PostgreSQL the one that notices.
            cursor.execute("UPDATE agent_memory_note SET position = position + 1")
            if connection.vendor == "postgresql":
                cursor.execute("SET LOCAL deadlock_timeout = '10s'")
            holds_note.set()
            holds_workspace.wait(10)
            cursor.execute("UPDATE agent_memory_workspace SET title = 'Title'")

    (outcome, begun), _ = in_threads([write, lock_the_wrong_way_round])
    assert (outcome, begun) == ("replaced", 2)
    assert memory.revision() == 51


def test_a_failed_commit_is_tried_again_on_sqlite(memory: Memory, impatient: Any) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("a reader keeps only SQLite, outside WAL, from committing")
    with another_connection() as other, other.cursor() as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM agent_memory_note").fetchall()
        watch = Watch()

        def leave_after_the_first() -> None:
            if watch.closed == 2:
                reader.execute("ROLLBACK")

        watch.meddle = leave_after_the_first
        with impatient.execute_wrapper(watch):
            assert memory.remember("other", "A line", "A body").revision == 2
    assert (watch.begun, watch.closed) == (2, 2)
    assert memory.keys() == ("fact", "other")


def test_a_failed_commit_is_tried_again_on_postgresql(memory: Memory) -> None:
    """A serialization failure that PostgreSQL finds only at COMMIT.

    The other transaction reads the counter that the write has changed, and adds a note where the
    write has looked; once it has committed, the write is the pivot and is doomed.
    """
    if connection.vendor != "postgresql":
        pytest.skip("serializable as PostgreSQL does it")
    with (
        reconnected({"isolation_level": SERIALIZABLE}) as ours,
        another_connection() as other,
        other.cursor() as cursor,
    ):

        def cross() -> None:
            if watch.closed > 1:
                return
            cursor.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
            cursor.execute("SELECT revision FROM agent_memory_workspace")
            cursor.execute(
                "INSERT INTO agent_memory_note (workspace_id, key, body, body_is_json, haystack,"
                " revision, position, created_at, updated_at) SELECT workspace_id, 'p', body,"
                " body_is_json, haystack, 1, 1, now(), now() FROM agent_memory_note LIMIT 1"
            )
            cursor.execute("COMMIT")

        watch = Watch(cross)
        with ours.execute_wrapper(watch):
            assert memory.remember("other", "A line", "A body").revision == 2
    assert (watch.begun, watch.closed) == (2, 2)
    assert memory.keys() == ("fact", "other", "p")


def test_serialization_failures_are_tried_again(memory: Memory) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("serializable as PostgreSQL does it")

    def remember() -> list[int]:
        with reconnected({"isolation_level": SERIALIZABLE}):
            return [
                memory.remember(f"{threading.get_ident()}/{number}", "A line", "A body").revision
                for number in range(5)
            ]

    numbers = in_threads([remember] * 4)
    assert sorted(sum(numbers, [])) == list(range(2, 22))


def test_other_errors_of_the_database_are_not_busy(memory: Memory) -> None:
    def fail(*_: Any) -> None:
        raise OperationalError("disk I/O error")

    with connection.execute_wrapper(fail), pytest.raises(OperationalError, match="disk"):
        memory.remember("other", "A line", "A body")
    assert memory.keys() == ("fact",)
