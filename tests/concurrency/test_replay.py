"""Calls of one name that race: one is done, all get its answer. Racing restores: none is lost."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django_agent_memory import Memory
from django_agent_memory.exceptions import Conflict
from django_agent_memory.journal import Calls
from django_agent_memory.models import RecordedCall, Revision
from tests.test_writing import assert_consistent

from .crew import in_threads


def named() -> Memory:
    return Memory("core", actor="scribe", calls=Calls("key:1", name="once"))


def test_ten_equal_remembers_of_one_name_are_one() -> None:
    answers = in_threads([lambda: named().remember("k", "s", "b")] * 10)
    assert len(set(answers)) == 1
    assert answers[0].outcome == "created"
    assert Revision.objects.count() == 1
    assert RecordedCall.objects.count() == 1


def test_ten_equal_forgets_of_one_name_all_say_forgot() -> None:
    Memory("core").remember("k", "s", "b")
    answers = in_threads([lambda: named().forget("k")] * 10)
    assert {answer.outcome for answer in answers} == {"forgot"}
    assert Revision.objects.count() == 2


def test_ten_equal_reads_of_one_name_give_one_answer() -> None:
    Memory("core").remember("k", "s", 0)

    def read(n: int) -> Any:
        Memory("core").remember("k", "s", n)
        recalled = named().recall("k")
        assert recalled is not None
        return recalled.body

    answers = in_threads([lambda n=n: read(n) for n in range(10)])
    assert len(set(answers)) == 1


def test_ten_racing_restores_are_ten_decisions_in_a_row() -> None:
    memory = Memory("core")
    memory.remember("k", "s", "A")
    memory.remember("k", "s", "B")
    done = in_threads([lambda n=n: Memory("core").restore("k", 1 + n % 2) for n in range(10)])
    numbers = sorted(answer.revision for answer in done if answer.outcome == "restored")
    assert numbers == list(range(3, 3 + len(numbers)))
    assert_consistent()


def test_of_ten_restores_that_saw_the_same_state_one_wins() -> None:
    memory = Memory("core")
    memory.remember("k", "s", "A")
    memory.remember("k", "s", "B")

    def restore() -> str:
        try:
            return Memory("core").restore("k", 1, expected_revision=2).outcome
        except Conflict as conflict:
            return f"conflict with {conflict.current_revision}"

    assert Counter(in_threads([restore] * 10)) == {"restored": 1, "conflict with 3": 9}
    assert_consistent()
