"""A call made again is answered again and not done again."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from django_agent_memory import Drop, Memory, Save
from django_agent_memory.exceptions import Refused, ReplayMismatch
from django_agent_memory.journal import Calls, decode, encode
from django_agent_memory.models import RecordedCall, Revision, Workspace
from django_agent_memory.results import Forgot, Remembered


def named(name: str, *, caller: str = "key:1", workspace: str = "core") -> Memory:
    return Memory(workspace, actor="scribe", calls=Calls(caller, name=name))


def run(name: str = "r1") -> Memory:
    return Memory("core", actor="scribe", run=name)


def a_run(memory: Memory) -> list[Any]:
    """A run that uses every recorded verb."""
    return [
        memory.remember("a", "s", {"n": [1, None, "é"]}),
        memory.remember("a", "s", "two", reason="because"),
        memory.recall("a"),
        memory.recall("missing"),
        memory.lookup("ab"),
        memory.search("TWO"),
        memory.list_memories(),
        memory.listing(),
        memory.keys("a"),
        memory.index(),
        memory.index_note(),
        memory.restore("a", 1),
        memory.forget("a"),
        memory.forget("a"),
        memory.apply(
            [Save(key="b", body=[1]), Drop(key="a"), Save(key="c", summary="", body=None)]
        ),
    ]


@pytest.mark.django_db
def test_a_run_that_is_started_again_gets_its_results_and_changes_nothing() -> None:
    first = a_run(run())
    revision = Memory("core").revision()
    Memory("core", actor="other").remember("a", "later", "later")
    memory = run()
    assert a_run(memory) == first
    assert memory.replayed
    assert Memory("core").revision() == revision + 1
    assert RecordedCall.objects.count() == len(first)


@pytest.mark.django_db
def test_past_its_frontier_a_run_goes_on_live() -> None:
    run().remember("a", "s", "b")
    memory = run()
    memory.remember("a", "s", "b")
    assert memory.replayed
    assert memory.remember("b", "s", "b").revision == 2
    assert not memory.replayed


@pytest.mark.django_db
def test_a_replay_neither_reads_nor_writes_the_memory(django_assert_num_queries: Any) -> None:
    a_run(run())
    memory = run()
    with django_assert_num_queries(15):
        a_run(memory)


@pytest.mark.django_db
def test_a_replayed_recall_gives_the_value_as_it_was() -> None:
    Memory("core").remember("k", "s", "then")
    then = named("n").recall("k")
    Memory("core").remember("k", "s", "now")
    assert named("n").recall("k") == then
    assert then is not None
    assert then.body == "then"


@pytest.mark.django_db
def test_a_replayed_forget_says_forgot_again() -> None:
    Memory("core").remember("k", "s", "b")
    assert isinstance(named("n").forget("k"), Forgot)
    Memory("core").remember("k", "s", "b")
    assert isinstance(named("n").forget("k"), Forgot)
    assert Memory("core").recall("k") is not None


@pytest.mark.django_db
@pytest.mark.parametrize(
    "other",
    [
        lambda memory: memory.remember("k", "s", "other"),
        lambda memory: memory.remember("k2", "s", "b"),
        lambda memory: memory.remember("k", "s", "b", reason="r"),
        lambda memory: memory.remember("k", "s", "b", expected_revision=1),
        lambda memory: memory.forget("k"),
        lambda memory: memory.recall("k"),
    ],
)
def test_a_name_stands_for_one_call(other: Any) -> None:
    named("n").remember("k", "s", "b")
    with pytest.raises(ReplayMismatch):
        other(named("n"))
    assert Revision.objects.count() == 1


@pytest.mark.django_db
def test_one_name_names_one_call() -> None:
    memory = named("n")
    memory.remember("k", "s", "b")
    with pytest.raises(Refused, match="names one call"):
        memory.recall("k")


@pytest.mark.django_db
def test_names_belong_to_a_workspace_and_a_caller() -> None:
    for n, memory in enumerate(
        [named("n"), named("n", caller="key:2"), named("n", workspace="other")]
    ):
        memory.remember("k", "s", n)
        assert not memory.replayed
    assert RecordedCall.objects.count() == 3


@pytest.mark.django_db
def test_only_answers_of_executed_calls_are_kept() -> None:
    with pytest.raises(Refused):
        named("n").remember("", "s", "b")
    with pytest.raises(Refused):
        named("n").recall("\x00")
    with pytest.raises(Refused):
        named("n").search(5)  # type: ignore[arg-type]
    assert not RecordedCall.objects.exists()
    named("n").remember("k", "s", "b")


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["", "\x00", "\ud800", "x" * 244, None, 5])
def test_a_bad_name_is_refused(name: Any) -> None:
    with pytest.raises(Refused):
        Calls("key:1", name=name)


@pytest.mark.django_db
def test_names_are_exact_and_may_be_long() -> None:
    for name in ("n", "N", "n ", "é", "x" * 243, "😀" * 243):
        named(name).remember("k", "s", name)
    assert RecordedCall.objects.count() == 6


@pytest.mark.django_db(transaction=True)
def test_an_outer_rollback_takes_the_record_with_it() -> None:
    with transaction.atomic():
        named("n").remember("k", "s", "b")
        named("m").recall("k")
        transaction.set_rollback(True)
    assert not RecordedCall.objects.exists()
    assert not Workspace.objects.exists()
    assert named("n").remember("k", "s", "b").outcome == "created"


@pytest.mark.django_db
def test_a_recorded_read_of_nothing_stays_nothing() -> None:
    assert named("n").recall("k") is None
    Memory("core").remember("k", "s", "b")
    assert named("n").recall("k") is None


@pytest.mark.django_db
def test_a_no_op_is_recorded_too() -> None:
    assert named("n").forget("k").outcome == "was_absent"
    Memory("core").remember("k", "s", "b")
    assert named("n").forget("k").outcome == "was_absent"
    assert Memory("core").recall("k") is not None


@pytest.mark.django_db
def test_statements_of_a_recorded_write(django_assert_num_queries: Any) -> None:
    named("1").remember("k", "s", "b")
    # SAVEPOINT and RELEASE stand for BEGIN and COMMIT inside the test's transaction.
    with django_assert_num_queries(8 + 2 + 2):
        named("2").remember("k", "t", "c")
    with django_assert_num_queries(1):
        named("2").remember("k", "t", "c")


@pytest.mark.django_db
@pytest.mark.parametrize("answer", ["{bro", '["Nope",{}]', '["Recalled",{}]', "7", "[1]"])
def test_a_damaged_record_is_said_to_be_damaged(answer: str) -> None:
    named("n").remember("k", "s", "b")
    RecordedCall.objects.update(answer=answer)
    with pytest.raises(Refused, match="damaged"):
        named("n").remember("k", "s", "b")


def test_results_survive_being_stored() -> None:
    results = [
        None,
        Remembered(key="k", outcome="created", revision=1, workspace_revision=1),
        ("a", "b"),
        (),
    ]
    for result in results:
        assert decode(encode(result)) == result
