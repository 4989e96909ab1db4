"""Threads that write at once: verdicts are true and nothing is lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections, transaction

from django_agent_memory import Drop, Memory, Save
from django_agent_memory.exceptions import Conflict
from django_agent_memory.models import IndexEntry, Note, Revision, Workspace

from .crew import another_connection, in_threads, reconnected
from .tasks import outer_that_has_read

PATH = "team/threads"


def remember_ten(worker: int) -> list[int]:
    """Remember ten keys of the worker's own."""
    memory = Memory(PATH)
    keys = [f"{worker}/{number}" for number in range(10)]
    return [memory.remember(key, "A line", "A body").revision for key in keys]


def test_threads_lose_nothing() -> None:
    numbers = in_threads([partial(remember_ten, worker) for worker in range(8)])
    assert sorted(sum(numbers, [])) == list(range(1, 81))
    assert Note.objects.count() == IndexEntry.objects.count() == 80


def test_one_new_key_of_one_new_workspace() -> None:
    def remember(worker: int) -> str:
        return Memory(PATH).remember("fact", "A line", f"Worker {worker % 2} says so").outcome

    outcomes = Counter(in_threads([partial(remember, worker) for worker in range(8)]))
    assert outcomes["created"] == 1
    assert outcomes["replaced"] + outcomes["unchanged"] == 7
    assert Workspace.objects.count() == Note.objects.count() == IndexEntry.objects.count() == 1
    assert Revision.objects.count() == 1 + outcomes["replaced"]


def test_of_several_who_make_one_workspace_one_does() -> None:
    def make(worker: int) -> str:
        try:
            return Memory(PATH).configure(new=True, title=f"Of {worker}").title
        except Conflict:
            return ""

    titles = [
        title for title in in_threads([partial(make, worker) for worker in range(8)]) if title
    ]
    assert titles == [Workspace.objects.get().title]


@pytest.mark.parametrize("level", ["read committed", "repeatable read"])
def test_a_new_workspace_inside_callers_transactions(level: str) -> None:
    if connection.vendor != "mysql":
        pytest.skip("MariaDB's levels; elsewhere a caller that has read cannot race so")

    def remember(path: str, worker: int) -> str:
        with reconnected({"isolation_level": level}), outer_that_has_read(path):
            return Memory(path).remember(str(worker), "A line", "A body").outcome

    for attempt in range(5):
        tasks = [partial(remember, f"new/{attempt}", worker) for worker in range(8)]
        assert in_threads(tasks) == ["created"] * 8


def test_one_of_ten_racing_forgets_forgot() -> None:
    Memory(PATH).remember("fact", "A line", "A body")
    outcomes = in_threads([lambda: Memory(PATH).forget("fact").outcome] * 10)
    assert Counter(outcomes) == {"forgot": 1, "was_absent": 9}
    assert Revision.objects.count() == 2


def test_mixed_writes_of_one_key_are_what_happened() -> None:
    """Each verdict names a revision, and the revisions replay to the final state."""
    verbs = [
        lambda: Memory(PATH).remember("fact", "A line", "A body"),
        lambda: Memory(PATH).forget("fact"),
    ]
    outcomes = in_threads(verbs * 5)
    wrote = [o for o in outcomes if o.outcome in ("created", "replaced", "forgot")]
    history = Memory(PATH).history("fact")
    said = {o.revision: "forget" if o.outcome == "forgot" else "remember" for o in wrote}
    assert {revised.number: revised.operation for revised in history} == said
    assert (Memory(PATH).recall("fact") is None) == (history[-1].operation == "forget")


def test_bulk_drops_in_opposite_orders_across_two_workspaces() -> None:
    paths = ["team/one", "team/two"]
    keys = [f"key/{number}" for number in range(20)]

    def drop(keys: list[str], paths: list[str]) -> list[str]:
        changes = [Drop(key=key) for key in keys]
        return [o.outcome for path in paths for o in Memory(path).apply(changes)]

    for _ in range(3):
        for path in paths:
            Memory(path).apply([Save(key=key, summary="A line", body="A body") for key in keys])
        forth, back = partial(drop, keys, paths), partial(drop, keys[::-1], paths[::-1])
        outcomes = Counter(sum(in_threads([forth, back]), []))
        assert outcomes == {"forgot": 40, "was_absent": 40}


def test_read_modify_write_loses_no_increment() -> None:
    Memory(PATH).remember("counter", None, 0)

    def increment() -> None:
        memory = Memory(PATH)
        while True:
            seen = memory.recall("counter")
            assert seen is not None
            try:
                memory.remember("counter", None, seen.body + 1, expected_revision=seen.revision)
            except Conflict:
                continue
            return

    def increment_five_times() -> None:
        for _ in range(5):
            increment()

    in_threads([increment_five_times] * 4)
    counter = Memory(PATH).recall("counter")
    assert counter is not None
    assert (counter.body, counter.revision) == (20, 21)


def test_only_one_of_many_expecting_absence_creates() -> None:
    def create(worker: int) -> str:
        try:
            return Memory(PATH).remember("fact", "A line", worker, expected_revision=0).outcome
        except Conflict as conflict:
            return f"conflict with {conflict.current_revision}"

    outcomes = Counter(in_threads([partial(create, worker) for worker in range(8)]))
    assert outcomes == {"created": 1, "conflict with 1": 7}


def test_ten_async_remembers_are_kept() -> None:
    async def remember_all() -> list[int]:
        memory = Memory(PATH)
        done = await asyncio.gather(
            *(memory.aremember(f"key/{number}", "A line", number) for number in range(10))
        )
        assert await memory.arecall("key/3") is not None
        await sync_to_async(connections.close_all)()
        return [remembered.revision for remembered in done]

    assert sorted(asyncio.run(remember_all())) == list(range(1, 11))
    assert sorted(note.value for note in Note.objects.all()) == list(range(10))


def test_many_parallel_recalls_while_somebody_writes() -> None:
    Memory(PATH).remember("fact", "A line", "The body")
    readers = 50 if connection.vendor == "sqlite" else 20

    def recall() -> str | None:
        found = Memory(PATH).recall("fact")
        return found and found.text

    writer = partial(remember_ten, 1)
    *bodies, numbers = in_threads([*[recall] * readers, writer])
    assert bodies == ["The body"] * readers
    assert len(numbers) == 10


def test_a_callers_rollback_leaves_nothing_and_poisons_no_cache() -> None:
    memory = Memory(PATH)
    memory.remember("kept", "Kept", "Kept")
    with transaction.atomic():
        memory.remember("lost", "Lost", "Lost")
        assert "- lost: Lost" in memory.index_note()
        transaction.set_rollback(True)
    assert memory.index_note() == "[memory index]\n- kept: Kept"
    assert memory.keys() == ("kept",)
    assert memory.recall("lost") is None
    assert memory.history("lost") == ()
    assert memory.remember("next", "Next", "Next").revision == 2
    assert memory.index_note() == "[memory index]\n- kept: Kept\n- next: Next"


def test_the_lock_lets_rows_that_point_at_the_workspace_in() -> None:
    if not connection.features.has_select_for_no_key_update:
        pytest.skip(f"{connection.vendor} has no lock weak enough")
    Memory(PATH).remember("fact", "A line", "A body")
    workspace = Workspace.objects.get()
    with transaction.atomic():
        Memory(PATH).remember("fact", "A line", "Another body")
        with another_connection() as other, other.cursor() as cursor:
            cursor.execute("SET lock_timeout = '200ms'")
            cursor.execute(
                "INSERT INTO agent_memory_agentkey"
                " (workspace_id, name, prefix, digest, access, created_at)"
                " VALUES (%s, 'a', 'p', 'd', 'read', now())",
                [workspace.pk],
            )
    assert workspace.agent_keys.count() == 1
