"""Values under threads: what one of several gets, and what a clear takes."""

from __future__ import annotations

from functools import partial

from django_agent_memory import Memory
from django_agent_memory.models import Note, Revision

from .crew import in_threads

PATH = "team/values"


def test_each_value_is_popped_once() -> None:
    Memory(PATH).values.update({f"job/{n}": n for n in range(10)})

    def work() -> list[int]:
        values = Memory(PATH).values
        popped = [values.pop(f"job/{n}", None) for n in range(10)]
        return [job for job in popped if job is not None]

    done = in_threads([work] * 6)
    assert sorted(sum(done, [])) == list(range(10))
    assert Revision.objects.count() == 20


def test_one_default_is_everybodys() -> None:
    tasks = [partial(Memory(PATH).values.setdefault, "chosen", n) for n in range(6)]
    assert len(set(in_threads(tasks))) == 1
    assert Revision.objects.count() == 1


def test_a_clear_among_writers_forgets_what_it_counts() -> None:
    values = Memory(PATH).values
    values.update({f"old/{n}": n for n in range(10)})

    def write(worker: int) -> int:
        for n in range(5):
            values.set(f"{worker}/{n}", n)
        return 0

    cleared = sum(in_threads([*(partial(write, n) for n in range(4)), values.clear, values.clear]))
    assert cleared + Note.objects.count() == 30
    assert Revision.objects.count() == 30 + cleared


def test_a_summary_given_meanwhile_stays() -> None:
    memory = Memory(PATH)
    memory.remember("k", "A line", 0)

    def describe() -> None:
        for n in range(10):
            memory.remember("k", f"Line {n}", "described")

    def count() -> None:
        for n in range(10):
            memory.values["k"] = n

    in_threads([describe, count])
    assert all(revised.summary for revised in memory.history("k"))
    assert memory.recall("k").summary == "Line 9"  # type: ignore[union-attr]
