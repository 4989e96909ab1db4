"""What a live accelerator adds to a remember: with and without it, by turns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

from django_agent_memory import Memory

from . import accelerator
from .corpus import note, stored
from .fill import report
from .patience import call_each
from .timing import Row, rows, turns

WITH, WITHOUT = "with the accelerator", "without"
_PATH = "bench/writes"


def remember_with_and_without(scale: float) -> Iterator[Row]:
    """Measure new notes and overwritten ones in a workspace of 10,000, then remove it."""
    notes, rounds = max(10, int(10_000 * scale)), max(4, int(100 * scale))
    memory = stored(notes, _PATH)
    new: dict[str, list[float]] = {WITH: [], WITHOUT: []}
    over: dict[str, list[float]] = {WITH: [], WITHOUT: []}
    numbers = count(notes)
    for turn in range(1 + 2 * turns(scale)):
        # Each is first as often as second: the table grows, and what is dropped leaves room.
        for name in (WITH, WITHOUT) if turn % 2 else (WITHOUT, WITH):
            (accelerator.build if name == WITH else accelerator.drop)()
            for number in islice(numbers, rounds):
                times = _remember_twice(memory, number, number % notes)
                # The first turn warms up.
                if turn:
                    new[name].append(times["new"])
                    over[name].append(times["over"])
    report("remembered with and without the accelerator")
    accelerator.build()
    memory.erase()
    for case, taken in (("remember, new", new), ("remember, over", over)):
        yield from rows(f"{case}, {notes} notes", taken, ours=WITH, against=WITHOUT, goal="≤ 1.6")


def _remember_twice(memory: Memory, number: int, there: int) -> dict[str, float]:
    key, summary, body = note(number)
    stored_key, *_ = note(there)
    times, _ = call_each(
        {
            "new": lambda: memory.remember(key, summary, body),
            "over": lambda: memory.remember(stored_key, summary, body),
        }
    )
    return times
