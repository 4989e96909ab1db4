"""The past stays as it was: read at any moment, brought back, rolled back, kept from oblivion."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

from django_agent_memory import Drop, Memory, Save
from django_agent_memory.exceptions import Conflict, NotAllowed, Pruned, Refused
from django_agent_memory.models import Note, Revision, Workspace
from django_agent_memory.results import Restored
from django_agent_memory.writing import Restore, prune_revisions

from .test_writing import assert_consistent

DAY = datetime.timedelta(days=1)
HOUR = datetime.timedelta(hours=1)
NAIVE = datetime.datetime(2026, 1, 1)  # noqa: DTZ001


@pytest.fixture
def memory(db: None) -> Memory:
    """1 A, 2 other, 3 B, 4 forgotten, 5 C: the key `k` over five revisions, a day apart."""
    memory = Memory("core", actor="scribe")
    memory.remember("k", "one", "A")
    memory.remember("other", "s", "x")
    memory.remember("k", "two", {"b": [1, None]})
    memory.forget("k")
    memory.remember("k", None, "C")
    start = timezone.now() - 10 * DAY
    for revision in Revision.objects.all():
        revision.created_at = start + revision.number * DAY
        revision.save()
    return memory


def moment(number: int) -> datetime.datetime:
    return Revision.objects.get(number=number).created_at


@pytest.mark.parametrize(
    ("number", "body"),
    [(-5, None), (0, None), (1, "A"), (2, "A"), (3, {"b": [1, None]}), (4, None), (5, "C")]
    + [(6, "C"), (10**15, "C")],
)
def test_as_of_a_revision(memory: Memory, number: int, body: Any) -> None:
    found = memory.as_of("k", number)
    assert (found and found.body) == body


def test_as_of_a_time(memory: Memory) -> None:
    second = datetime.timedelta(seconds=1)
    assert memory.as_of("k", moment(1) - second) is None
    for when, body in [(moment(1), "A"), (moment(3) - second, "A"), (moment(5) + DAY, "C")]:
        found = memory.as_of("k", when)
        assert found is not None
        assert found.body == body
    assert memory.as_of("k", moment(4)) is None
    assert memory.as_of("never", moment(5)) is None


@pytest.mark.parametrize("bad", [True, False, "1", 1.0, None, NAIVE, datetime.date(2026, 1, 1)])
def test_a_moment_is_a_number_or_an_aware_time(memory: Memory, bad: Any) -> None:
    for call in (
        lambda: memory.as_of("k", bad),
        lambda: memory.at(bad),
        lambda: memory.rollback(actor="scribe", since=bad),
    ):
        with pytest.raises(TypeError):
            call()


def test_history_lines(memory: Memory) -> None:
    memory.remember("k", "s", [1, "b", True, None])
    memory.remember("k", "s", 2.0)
    stamps = [f"{r.created_at:%Y-%m-%dT%H:%M:%SZ}" for r in memory.history("k")]
    assert memory.history_lines("k") == (
        f"[v1] remember 'k' = A ({stamps[0]})",
        f"[v3] remember 'k' = {{b: [1, nil]}} ({stamps[1]})",
        f"[v4] forget 'k' ({stamps[2]})",
        f"[v5] remember 'k' = C ({stamps[3]})",
        f"[v6] remember 'k' = [1, b, true, nil] ({stamps[4]})",
        f"[v7] remember 'k' = 2.0 ({stamps[5]})",
    )


@pytest.fixture
def expiring(db: None) -> Memory:
    """1 stays, 2 `exp` until noon of day 2, 3 `late` until noon of day 4, 4 other, days apart."""
    memory = Memory("core")
    start = timezone.now() - 10 * DAY
    memory.remember("stays", "s", "A")
    memory.remember("exp", "s", "B", expires_at=start + 2.5 * DAY)
    memory.remember("late", "s", "C", expires_at=start + 4.5 * DAY)
    Memory("core", session="s1").remember("own", "s", "D", persist=False)
    for revision in Revision.objects.all():
        revision.created_at = start + revision.number * DAY
        revision.save()
    return memory


@pytest.mark.parametrize(
    ("at", "keys"),
    [
        (1, ["stays"]),
        (2, ["exp", "stays"]),
        (3, ["late", "stays"]),
        (4, ["late", "stays"]),
        (5, ["stays"]),
        (10**15, ["stays"]),
        (2.4, ["exp", "stays"]),
        (2.5, ["stays"]),
        (2.6, ["stays"]),
        (4.4, ["late", "stays"]),
        (4.5, ["stays"]),
        (9.9, ["stays"]),
        (99.0, ["stays"]),
    ],
)
def test_what_had_expired_was_not_there(expiring: Memory, at: float, keys: list[str]) -> None:
    start = moment(1) - DAY
    then = at if isinstance(at, int) else start + at * DAY
    past = expiring.at(then)
    assert past.keys() == tuple(keys)
    assert [line.key for line in past.list_memories()] == keys
    assert [match.key for match in past.search("").matches] == keys
    for key in ("stays", "exp", "late"):
        recalled, said, again = past.recall(key), expiring.as_of(key, then), past.as_of(key, 10**9)
        assert {recalled is not None, said is not None, again is not None} == {key in keys}
        assert past.as_of(key, timezone.now()) == again == said
        assert said is None or (said.text, said.number) == (recalled.text, recalled.revision)


def test_a_note_that_is_saved_expired_is_in_the_log_only(db: None) -> None:
    memory = Memory("core")
    memory.remember("exp", "s", "B", expires_at=timezone.now() - DAY)
    for then in (1, 2, timezone.now(), timezone.now() + DAY):
        assert memory.as_of("exp", then) is None
        assert memory.at(then).recall("exp") is None
    assert [revised.text for revised in memory.history("exp")] == ["B"]
    assert memory.at(1).as_of("exp", 1) is None


def test_what_ends_between_two_revisions_gives_the_index_of_the_past_a_new_version(
    expiring: Memory,
) -> None:
    start = moment(1) - DAY
    before, after = expiring.at(start + 2.4 * DAY), expiring.at(start + 2.6 * DAY)
    assert before.index().text != after.index().text
    assert before.index_version() != after.index_version()
    assert before.index_version()[0] == before.index().version
    assert expiring.at(2).index_version() == expiring.at(2).index_version()


def test_the_statements_for_what_expires(expiring: Memory, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        assert expiring.as_of("exp", moment_of_now := timezone.now()) is None
    with django_assert_num_queries(2):
        expiring.at(moment_of_now)
    with django_assert_num_queries(2):
        expiring.as_of("exp", 99)
    with django_assert_num_queries(3):
        expiring.as_of("exp", 2)


def test_a_workspace_at_each_revision(memory: Memory) -> None:
    assert memory.at(0).keys() == ()
    assert memory.at(0).index_note() == ""
    third = memory.at(3)
    assert third.keys() == ("k", "other")
    assert third.index_note() == "[memory index]\n- k: two\n- other: s"
    assert [line.line for line in third.list_memories()] == ["- k: two", "- other: s"]
    recalled = third.recall("k")
    assert recalled is not None
    assert (recalled.body, recalled.summary, recalled.revision) == ({"b": [1, None]}, "two", 3)
    assert (recalled.created_at, recalled.updated_at) == (moment(1), moment(3))
    assert third.search("B").total == 1
    assert third.search("").total == 2
    assert third.search("\x00").total == 0
    assert memory.at(4).recall("k") is None
    assert memory.at(4).keys() == ("other",)
    assert memory.at(5).index_note() == memory.index_note()
    assert memory.at(99).revision() == 5
    assert memory.at(moment(3)).keys() == ("k", "other")
    assert memory.at(moment(1) - DAY).keys() == ()
    assert third.near_keys("othr") == ("other",)
    assert [revised.number for revised in third.history("k")] == [1, 3]
    assert third.as_of("k", 5) == third.as_of("k", 3)
    assert Memory("nowhere").at(5).keys() == ()


def test_the_past_cannot_be_written(memory: Memory) -> None:
    past = memory.at(3)
    writes = [
        lambda: past.remember("k", "s", "b"),
        lambda: past.forget("k"),
        lambda: past.restore("k", 1),
        lambda: past.apply([Drop(key="k")]),
        lambda: past.rollback(actor="scribe", since=1),
        lambda: past.redact("k"),
        lambda: past.erase("k"),
        lambda: past.configure(title="t"),
    ]
    for write in writes:
        with pytest.raises(NotAllowed):
            write()
    assert memory.revision() == 5


def test_a_snapshot_agrees_with_what_was_recorded_on_the_way(db: None) -> None:
    memory = Memory("core")
    seen: dict[int, tuple[Any, ...]] = {}
    for n in range(30):
        key = f"k{n * 7 % 5}"
        if n % 4 == 3:
            memory.forget(key)
        else:
            memory.remember(key, None if n % 3 == 0 else f"s{n}", f"needle {n}" if n % 2 else n)
        seen[memory.revision()] = (
            memory.keys(),
            memory.index_note(),
            memory.search("needle").matches,
            [memory.recall(key) for key in sorted(memory.keys())],
        )
    for number, was in seen.items():
        past = memory.at(number)
        notes = [past.recall(key) for key in was[0]]
        assert (past.keys(), past.index_note(), past.search("needle").matches) == was[:3]
        for note, then in zip(notes, was[3], strict=True):
            assert note is not None
            assert (note.body, note.summary, note.revision, note.created_at) == (
                then.body, then.summary, then.revision, then.created_at
            )  # fmt: skip


def test_restore_is_a_new_revision(memory: Memory) -> None:
    restored = memory.restore("k", 3, reason="it was right")
    assert restored == Restored(
        key="k", outcome="restored", revision=6, restored_revision=3, exists=True,
        workspace_revision=6,
    )  # fmt: skip
    recalled = memory.recall("k")
    assert recalled is not None
    assert (recalled.body, recalled.summary) == ({"b": [1, None]}, "two")
    last = memory.history("k")[-1]
    assert (last.operation, last.reason, last.actor) == ("restore", "it was right", "scribe")
    assert_consistent()


def test_restore_of_what_is_so_already_mints_nothing(memory: Memory) -> None:
    assert memory.restore("k", 5).outcome == "unchanged"
    assert memory.restore("k", 99).outcome == "unchanged"
    assert memory.revision() == 5


def test_restore_brings_back_that_nothing_was_there(memory: Memory) -> None:
    restored = memory.restore("k", 4)
    assert (restored.outcome, restored.exists) == ("restored", False)
    assert memory.recall("k") is None
    assert memory.restore("k", 4).outcome == "unchanged"
    assert memory.restore("k", 1).exists is True
    assert_consistent()


@pytest.mark.parametrize(("key", "number"), [("k", 0), ("other", 1), ("never", 5)])
def test_there_must_have_been_something_to_restore(memory: Memory, key: str, number: int) -> None:
    with pytest.raises(Refused, match="no revision"):
        memory.restore(key, number)
    assert memory.revision() == 5


@pytest.mark.parametrize("bad", [True, "3", 3.0, None, -1])
def test_restore_takes_a_whole_number(memory: Memory, bad: Any) -> None:
    with pytest.raises(Refused, match="whole number"):
        memory.restore("k", bad)


def test_restore_checks_what_the_caller_saw(memory: Memory) -> None:
    with pytest.raises(Conflict) as caught:
        memory.restore("k", 1, expected_revision=3)
    assert caught.value.current_revision == 5
    assert memory.restore("k", 1, expected_revision=5).revision == 6


def test_restores_among_other_changes(memory: Memory) -> None:
    outcomes = memory.apply(
        [
            Restore(key="k", revision=1),
            Save(key="other", summary="s", body="y"),
            Restore(key="other", revision=2),
            Restore(key="k", revision=0),
        ]
    )
    assert [getattr(outcome, "outcome", None) for outcome in outcomes] == [
        "restored", "replaced", "restored", "restored",
    ]  # fmt: skip
    assert memory.keys() == ("other",)
    with pytest.raises(Refused):
        memory.apply([Restore(key="other", revision=1)])
    assert_consistent()


def test_restore_in_a_workspace_that_is_not_there(db: None) -> None:
    with pytest.raises(Refused):
        Memory("nowhere").restore("k", 1)
    with pytest.raises(Refused):
        Memory("nowhere").apply([Restore(key="k", revision=1)])
    assert not Workspace.objects.exists()


def test_rollback_undoes_one_actor_and_leaves_the_others(db: None) -> None:
    good, bad = Memory("core", actor="good"), Memory("core", actor="bad")
    good.remember("kept", "s", "good")
    good.remember("changed", "s", "good")
    good.remember("dropped", "s", "good")
    good.remember("both", "s", "good")
    since = good.revision() + 1
    bad.remember("changed", "s", "bad")
    bad.remember("changed", "s", "worse")
    bad.forget("dropped")
    bad.remember("new", "s", "bad")
    bad.remember("both", "s", "bad")
    good.remember("both", "s", "good again")
    good.remember("first", "s", "good")
    bad.remember("first", "s", "bad")
    done = good.rollback(actor="bad", since=since, reason="it was poisoned")
    assert done.left_alone == ("both",)
    assert [restored.key for restored in done.restored] == ["changed", "dropped", "first", "new"]
    bodies = {note.key: note.value for note in Note.objects.all()}
    assert bodies == {
        "both": "good again", "changed": "good", "dropped": "good", "first": "good", "kept": "good",
    }  # fmt: skip
    assert {r.reason for r in Revision.objects.filter(operation="restore")} == {"it was poisoned"}
    assert_consistent()
    again = good.rollback(actor="bad", since=since)
    assert again.restored == ()


def test_rollback_since_a_time_begins_with_that_time(memory: Memory) -> None:
    done = memory.rollback(actor="scribe", since=moment(3))
    assert [restored.key for restored in done.restored] == ["k"]
    recalled = memory.recall("k")
    assert recalled is not None
    assert recalled.body == "A"
    assert memory.rollback(actor="nobody", since=moment(1)).restored == ()
    later = timezone.now() + DAY
    assert memory.rollback(actor="scribe", since=later).restored == ()


def prune(memory: Memory, *, days: float, keep: int = 1, dry_run: bool = False) -> int:
    return prune_revisions(memory.path, older_than=days * DAY, keep=keep, dry_run=dry_run)


def test_pruning_removes_what_was_superseded_long_ago(memory: Memory) -> None:
    # Revision n is (10 - n) days old; 1 was superseded by 3 (7 days ago), 3 by 4, 4 by 5 (5 days).
    assert prune(memory, days=8, dry_run=True) == 0
    assert prune(memory, days=6.5, dry_run=True) == 1
    assert Revision.objects.count() == 5
    assert prune(memory, days=5.5) == 2
    assert list(Revision.objects.order_by("number").values_list("number", flat=True)) == [2, 4, 5]
    workspace = Workspace.objects.get()
    assert (workspace.revisions_removed, workspace.history_from, workspace.revision) == (2, 4, 5)
    assert memory.keys() == ("k", "other")


@pytest.mark.parametrize(("keep", "gone"), [(1, 3), (2, 2), (3, 1), (4, 0), (5, 0)])
def test_the_last_of_each_key_are_kept(memory: Memory, keep: int, gone: int) -> None:
    assert prune(memory, days=0, keep=keep) == gone
    assert Revision.objects.filter(key="k").count() == 4 - gone
    assert Revision.objects.filter(key="other").count() == 1


def test_rollback_leaves_alone_what_was_before_retention(memory: Memory) -> None:
    Memory("core", actor="bad").remember("k", "s", "bad")
    prune(memory, days=0)
    assert memory.rollback(actor="bad", since=6).left_alone == ("k",)
    assert memory.recall("k") is not None


def test_rollback_leaves_alone_what_only_a_redacted_revision_could_bring_back(
    memory: Memory,
) -> None:
    Memory("core", actor="bad").remember("k", "s", "bad")
    memory.redact("k", 5)
    assert memory.rollback(actor="bad", since=6).left_alone == ("k",)
    recalled = memory.recall("k")
    assert recalled is not None
    assert recalled.body == "bad"


@pytest.mark.parametrize("actor", ["\ud800", "\x00", None, 1, True, "a" * 256])
def test_rollback_takes_an_actor_as_memory_does(memory: Memory, actor: Any) -> None:
    with pytest.raises(Refused, match="actor"):
        memory.rollback(actor=actor, since=1)


EDGES = [
    datetime.datetime(9999, 12, 31, 23, 59, 59, tzinfo=datetime.timezone(-12 * HOUR)),
    datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(12 * HOUR)),
    datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.UTC),
    datetime.datetime(1, 1, 1, tzinfo=datetime.UTC),
]


@pytest.mark.parametrize("edge", EDGES, ids=str)
def test_the_edges_of_the_calendar_are_moments_too(memory: Memory, edge: Any) -> None:
    is_late = edge.year == 9999
    assert (memory.as_of("k", edge) is not None) is is_late
    assert memory.at(edge).keys() == (("k", "other") if is_late else ())
    restored = memory.rollback(actor="scribe", since=edge).restored
    assert bool(restored) is not is_late


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 10**30])
def test_a_number_beyond_all_is_beyond_the_end(memory: Memory, number: int) -> None:
    assert memory.restore("k", number).outcome == "unchanged"
    assert memory.as_of("k", number) == memory.as_of("k", 5)
    assert memory.at(number).revision() == 5
    assert memory.rollback(actor="scribe", since=number).restored == ()
    with pytest.raises(Refused):
        memory.redact("k", number)


def test_restoring_broken_json_brings_back_its_text(memory: Memory) -> None:
    Revision.objects.filter(number=3).update(body="{bad")
    memory.restore("k", 3)
    recalled = memory.recall("k")
    assert recalled is not None
    assert recalled.body == "{bad"
    assert not Note.objects.get(key="k").body_is_json


def test_json_of_any_depth_is_shown(memory: Memory) -> None:
    deep = "[" * 5000 + "]" * 5000
    Note.objects.filter(key="k").update(body=deep, body_is_json=True)
    Revision.objects.filter(number=3).update(body=deep)
    assert memory.history_lines("k")[1].endswith(")")
    recalled = memory.recall("k")
    assert recalled is not None
    assert recalled.body == deep


def test_at_least_one_is_kept(memory: Memory) -> None:
    with pytest.raises(Refused):
        prune(memory, days=0, keep=0)


def test_the_pruned_past_says_so(memory: Memory) -> None:
    third, fifth = moment(3), moment(5)
    prune(memory, days=5.5)
    with pytest.raises(Pruned, match="removed or lost"):
        memory.as_of("k", 3)
    with pytest.raises(Pruned):
        memory.as_of("k", third)
    with pytest.raises(Pruned, match="before revision 4"):
        memory.at(3)
    with pytest.raises(Pruned):
        memory.at(third)
    with pytest.raises(Pruned):
        memory.restore("k", 3)
    assert memory.as_of("k", 0) is None
    assert memory.at(0).keys() == ()
    assert memory.as_of("k", 4) is None
    assert memory.as_of("k", fifth) is not None
    assert memory.at(4).keys() == ("other",)
    assert memory.at(5).keys() == ("k", "other")


def test_statements_of_the_past(memory: Memory, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        memory.history("k")
    with django_assert_num_queries(1):
        memory.as_of("k", 3)
    with django_assert_num_queries(2):
        past = memory.at(3)
    with django_assert_num_queries(1):
        past.list_memories()
    with django_assert_num_queries(2):
        past.index_note()
    with django_assert_num_queries(3):
        past.recall("k")


def test_a_note_that_lost_its_log_is_still_read(memory: Memory) -> None:
    Revision.objects.all().delete()
    assert memory.history("k") == ()
    assert memory.as_of("k", 5) is None
    assert memory.at(5).keys() == ()
    assert memory.recall("k") is not None
    assert Note.objects.count() == 2
