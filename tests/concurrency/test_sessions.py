"""A session that ends while it writes: each note is either ended or there, and none is lost."""

from __future__ import annotations

from functools import partial

from django_agent_memory import Memory
from django_agent_memory.exceptions import Conflict
from django_agent_memory.models import IndexEntry, Note
from django_agent_memory.writing import find_defects

from .crew import in_threads

PATH = "team/sessions"


def own() -> Memory:
    return Memory(PATH, session="s1")


def test_ends_and_writes_at_once() -> None:
    def write(worker: int) -> int:
        for number in range(5):
            own().remember(f"{worker}/{number}", "A line", "x", persist=False)
        return 0

    def end() -> int:
        return sum(own().end_session() for _ in range(5))

    ended = sum(in_threads([*(partial(write, worker) for worker in range(4)), end, end]))
    left = Note.objects.count()
    assert ended + left == 20
    assert IndexEntry.objects.count() == left == len(own().keys())
    assert own().end_session() == left
    assert Note.objects.count() == IndexEntry.objects.count() == 0
    assert list(find_defects(PATH)) == []


def test_a_shared_note_wins_the_key_whoever_comes_first() -> None:
    def private() -> str:
        try:
            return own().remember("k", None, "private", persist=False).outcome
        except Conflict:
            return "conflict"

    def shared() -> str:
        return Memory(PATH).remember("k", None, "shared").outcome

    for _ in range(5):
        outcomes = in_threads([private, shared])
        assert outcomes in (["created", "created"], ["conflict", "created"])
        assert Memory(PATH).recall("k").body == "shared"  # type: ignore[union-attr]
        Memory(PATH).forget("k")
