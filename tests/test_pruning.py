"""Rules that say which notes may go, forgetting by them, and undoing that."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory import Drop, Memory, Save
from django_agent_memory.exceptions import NotAllowed, Refused
from django_agent_memory.models import Note, NoteUsage, Revision, SavedRule, Workspace
from django_agent_memory.pruning import PruneRule, fitting, prune, rule_of
from django_agent_memory.undoing import batch_of, undo

DAY = datetime.timedelta(days=1)
TICK = datetime.timedelta(microseconds=1)


def found(rule: PruneRule, **more: Any) -> list[str]:
    return sorted(key for (key,) in fitting("core", rule, "key", **more))


def age(key: str, moment: datetime.datetime) -> None:
    Note.objects.filter(key=key).update(updated_at=moment)


def recall(key: str, moment: datetime.datetime) -> None:
    note = Note.objects.get(key=key)
    NoteUsage.objects.create(
        workspace=note.workspace, position=note.position, recalled_at=moment, recall_count=1
    )


@pytest.fixture
def three(memory: Memory) -> Memory:
    """Notes without anything in common; `before`, `at` and `after` are of no rule yet."""
    memory.apply([Save(key=key, body=key, summary="s") for key in ("after", "at", "before")])
    return memory


# Each condition


def test_older_than_is_more_days_than_that(three: Memory) -> None:
    now = timezone.now() + DAY
    for key, moment in {"before": now - 3 * DAY - TICK, "at": now - 3 * DAY}.items():
        age(key, moment)
    age("after", now - 3 * DAY + TICK)
    assert found(PruneRule(older_than_days=3), now=now) == ["before"]


def test_unrecalled_is_neither_written_nor_recalled(three: Memory) -> None:
    now = timezone.now() + DAY
    for key in ("before", "at", "after"):
        age(key, now - 9 * DAY)
    three.remember("never", "s", "never")
    age("never", now - 9 * DAY)
    three.remember("new", "s", "new")
    recall("before", now - 3 * DAY - TICK)
    recall("at", now - 3 * DAY)
    recall("after", now - 3 * DAY + TICK)
    assert found(PruneRule(unrecalled_days=3), now=now) == ["before", "never"]


def test_a_recall_of_another_workspace_is_not_one_here(three: Memory) -> None:
    Memory("other").remember("before", "s", "b")
    now = timezone.now() + 9 * DAY
    here = Note.objects.get(key="before", workspace__path="core")
    there = Workspace.objects.get(path="other")
    NoteUsage.objects.create(workspace=there, position=here.position, recalled_at=now)
    assert found(PruneRule(unrecalled_days=3), now=now) == ["after", "at", "before"]


def test_weight_below_is_below(three: Memory) -> None:
    for key, weight in {"before": 0.49, "at": 0.5, "after": 0.51}.items():
        three.remember(key, "s", key, weight=weight)
    assert found(PruneRule(weight_below=0.5)) == ["before"]


def test_size_above_is_above_in_characters(memory: Memory) -> None:
    for key, size in {"below": 9, "at": 10, "above": 11}.items():
        memory.remember(key, "s", "😀" * size)
    assert found(PruneRule(size_above=10)) == ["above"]
    memory.remember("empty", "s", "")
    assert found(PruneRule(size_above=0)) == ["above", "at", "below"]


def test_kind_slot_and_context_are_exact(memory: Memory) -> None:
    for name in ("a", "A", "a ", "ab"):
        memory.remember(f"kind {name}", None, name, kind=name)
        memory.remember(f"slot {name}", None, name, slot=name)
        memory.remember(f"context {name}", None, name, context=[name, "more"])
    memory.remember("a/placed", None, "b")
    memory.remember("a/b/deeper", None, "b")
    assert found(PruneRule(kind="a")) == ["kind a"]
    assert found(PruneRule(slot="a")) == ["slot a"]
    assert found(PruneRule(context="a")) == ["a/placed", "context a"]


def test_expired_is_at_the_expiry_and_after(three: Memory) -> None:
    now = timezone.now() + DAY
    for key, moment in {"before": now + TICK, "at": now, "after": now - TICK}.items():
        Note.objects.filter(key=key).update(expires_at=moment)
    assert found(PruneRule(expired=True), now=now) == ["after", "at"]


def test_of_duplicates_the_last_written_stays(memory: Memory) -> None:
    for key in ("b", "c", "a"):
        memory.remember(key, f"summary of {key}", "same", context="x", slot="y")
    memory.remember("other context", None, "same", slot="y")
    memory.remember("other slot", None, "same", context="x")
    memory.remember("as JSON", None, ["same"])
    memory.remember("as text", None, '["same"]')
    Memory("other").remember("z", None, "same", context="x", slot="y")
    Memory("core", session="s").store("same", context="x", slot="y", key="q", persist=False)
    assert found(PruneRule(duplicates=True)) == ["b", "c"]
    memory.remember("c", "written again", "same")
    assert found(PruneRule(duplicates=True)) == ["a", "b"]
    Note.objects.update(fingerprint="")
    assert found(PruneRule(duplicates=True)) == []


def test_a_duplicate_that_lasts_longer_stays(memory: Memory) -> None:
    soon, later = timezone.now() + DAY, timezone.now() + 2 * DAY
    memory.remember("lasts", None, "same")
    memory.remember("ends later", None, "same", expires_at=later)
    memory.remember("ends too", None, "same", expires_at=later)
    memory.remember("ends soon", None, "same", expires_at=soon)
    assert found(PruneRule(duplicates=True)) == ["ends later"]


# Together


def test_all_that_is_given_must_hold(memory: Memory) -> None:
    memory.remember("a", None, "long body", kind="log", weight=0.1)
    memory.remember("b", None, "long body!", kind="log", weight=2)
    memory.remember("c", None, "long body?", kind="fact", weight=0.1)
    memory.remember("d", None, "-", kind="log", weight=0.1)
    now = timezone.now() + 5 * DAY
    rule = PruneRule(kind="log", weight_below=1, size_above=3, older_than_days=4)
    assert found(rule, now=now) == ["a"]
    assert found(rule) == []
    everything = PruneRule(
        older_than_days=1,
        unrecalled_days=1,
        weight_below=9,
        size_above=0,
        kind="log",
        slot="s",
        context="c",
        expired=True,
        duplicates=True,
    )
    assert found(everything, now=now) == []


@pytest.mark.parametrize(("duplicates", "statements"), [(False, 1), (True, 2)])
def test_a_rule_is_a_statement_or_two_and_reads_no_body(
    memory: Memory, duplicates: bool, statements: int
) -> None:
    rule = PruneRule(
        older_than_days=1, unrecalled_days=1, size_above=0, context="c", duplicates=duplicates
    )
    for _ in range(2):
        memory.apply([Save(key=f"{Note.objects.count()}-{n}", body="b") for n in range(50)])
        with CaptureQueriesContext(connection) as queries:
            fitting("core", rule, "key", "revision")
        assert len(queries) == statements
        for query in queries:
            assert "body" not in query["sql"].partition(" FROM ")[0]


def test_what_a_session_has_to_itself_is_not_pruned(memory: Memory) -> None:
    private = Memory("core", session="s")
    private.remember("p", "s", "b", kind="log", persist=False)
    memory.remember("k", "s", "b", kind="log")
    assert [done.key for done in prune(private, PruneRule(kind="log"), reason="why")] == ["k"]
    assert private.recall("p") is not None


# What is no rule


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "at least one condition"),
        ({"expired": False, "kind": None}, "at least one condition"),
        ({"older_than_days": 0}, "1 to 36500"),
        ({"older_than_days": 36_501}, "1 to 36500"),
        ({"older_than_days": 1.0}, "whole number of days"),
        ({"older_than_days": True}, "whole number of days"),
        ({"unrecalled_days": 0}, "1 to 36500"),
        ({"unrecalled_days": "1"}, "whole number of days"),
        ({"weight_below": 0}, "more than 0"),
        ({"weight_below": -1}, "at least 0"),
        ({"weight_below": float("nan")}, "finite"),
        ({"weight_below": "1"}, "number"),
        ({"size_above": -1}, "0 to 1000000000"),
        ({"size_above": 1_000_000_001}, "0 to 1000000000"),
        ({"kind": ""}, "kind is empty"),
        ({"kind": "x" * 65}, "too long"),
        ({"slot": 1}, "must be a string"),
        ({"slot": "\0"}, "NUL"),
        ({"context": ""}, "context is empty"),
        ({"context": "x" * 513}, "too long"),
        ({"context": ["a"]}, "must be a string"),
        ({"expired": 1}, "true or false"),
        ({"duplicates": "yes"}, "true or false"),
        ({"colour": "red"}, "no condition 'colour'"),
        ([], "object of conditions"),
        (None, "object of conditions"),
    ],
)
def test_bad_rules_are_refused_in_one_sentence(given: Any, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence) as caught:
        rule_of(given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"older_than_days": 1},
        {"older_than_days": 36_500, "unrecalled_days": 36_500},
        {"weight_below": 1e-300, "size_above": 0},
        {"size_above": 1_000_000_000},
        {"kind": "k" * 64, "slot": "s" * 64, "context": "c" * 512},
        {"expired": True, "duplicates": True},
    ],
)
def test_a_rule_is_the_same_after_json(db: None, given: dict[str, Any]) -> None:
    rule = rule_of(given)
    assert rule.as_dict() == given
    assert rule_of(rule.as_dict()) == rule
    assert found(rule) == []


# Forgetting and undoing


@pytest.fixture
def logs(memory: Memory) -> Memory:
    """Three logs and a fact."""
    memory.apply(
        [
            Save(key=f"log/{n}", body=["text", n], summary=f"s{n}", kind="log", weight=n + 1)
            for n in range(3)
        ]
    )
    memory.remember("fact", "s", "b", kind="fact")
    return memory


LOGS = PruneRule(kind="log")


def test_pruning_forgets_in_one_write(logs: Memory) -> None:
    done = prune(logs, LOGS, reason="too much talk")
    assert [(one.key, one.revision) for one in done] == [("log/0", 5), ("log/1", 6), ("log/2", 7)]
    assert logs.keys() == ("fact",)
    last = logs.history("log/1")[-1]
    assert (last.operation, last.actor, last.reason) == ("forget", "scribe", "too much talk")
    assert prune(logs, LOGS, reason="again") == []
    assert logs.revision() == 7


@pytest.mark.parametrize("reason", ["", " ", "\n\t"])
def test_pruning_takes_a_reason(logs: Memory, reason: str) -> None:
    with pytest.raises(Refused, match="Say why"):
        prune(logs, LOGS, reason=reason)
    with pytest.raises(NotAllowed):
        prune(Memory("core", read_only=True), LOGS, reason="why")
    assert logs.revision() == 4


def test_what_is_written_meanwhile_is_looked_at_anew(
    logs: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    genuine = Memory.apply

    def late(self: Memory, *args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(Memory, "apply", genuine)
        logs.remember("log/1", "s", "now a fact", kind="fact")
        return genuine(self, *args, **kwargs)

    monkeypatch.setattr(Memory, "apply", late)
    assert [one.key for one in prune(logs, LOGS, reason="why")] == ["log/0", "log/2"]
    assert logs.keys() == ("fact", "log/1")


def test_undoing_brings_everything_back(logs: Memory) -> None:
    before = [(note.key, note.body, note.summary, note.weight) for note in logs.find(kind="log")]
    prune(logs, LOGS, reason="why")
    batch = batch_of("core", 5, 7)
    assert batch is not None
    assert (batch.actor, batch.reason, len(batch.tombstones)) == ("scribe", "why", 3)
    assert [(change.key, change.revision) for change in batch.restores] == [
        ("log/0", 1),
        ("log/1", 2),
        ("log/2", 3),
    ]
    done = undo(logs, 5, 7, reason="needed after all")
    assert [one.key for one in done.restored] == ["log/0", "log/1", "log/2"]
    assert done.left_alone == ()
    after = [(note.key, note.body, note.summary, note.weight) for note in logs.find(kind="log")]
    assert after == before
    last = logs.history("log/1")[-1]
    assert (last.operation, last.reason) == ("restore", "needed after all")


def test_undoing_twice_does_nothing(logs: Memory) -> None:
    prune(logs, LOGS, reason="why")
    undo(logs, 5, 7)
    revision = logs.revision()
    again = undo(logs, 5, 7)
    assert (again.restored, len(again.left_alone)) == ((), 3)
    assert logs.revision() == revision == 10
    # Nor does it bring back what was forgotten for another reason since.
    logs.forget("log/1")
    assert undo(logs, 5, 7).restored == ()
    assert [one.key for one in undo(logs, 11, 11).restored] == ["log/1"]


def test_what_was_written_since_is_left_alone(logs: Memory) -> None:
    prune(logs, LOGS, reason="why")
    logs.remember("log/0", "s", "new")
    logs.remember("log/1", "s", "new")
    logs.forget("log/1")
    done = undo(logs, 5, 7)
    assert [one.key for one in done.restored] == ["log/2"]
    assert done.left_alone == ("log/0", "log/1")
    assert logs.keys() == ("fact", "log/0", "log/2")
    assert logs.recall("log/0").body == "new"


def test_a_write_at_the_same_moment_is_left_alone(
    logs: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    prune(logs, LOGS, reason="why")
    genuine = Memory.apply

    def late(self: Memory, *args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(Memory, "apply", genuine)
        logs.remember("log/1", "s", "new")
        return genuine(self, *args, **kwargs)

    monkeypatch.setattr(Memory, "apply", late)
    done = undo(logs, 5, 7)
    assert ([one.key for one in done.restored], done.left_alone) == (
        ["log/0", "log/2"],
        ("log/1",),
    )
    assert logs.recall("log/1").body == "new"


def test_what_was_redacted_or_removed_is_left_alone(logs: Memory) -> None:
    prune(logs, LOGS, reason="why")
    logs.redact("log/0", 1)
    Revision.objects.filter(number=2).delete()
    done = undo(logs, 5, 7)
    assert [one.key for one in done.restored] == ["log/2"]
    assert done.left_alone == ("log/0", "log/1")


def test_what_the_same_write_changed_is_undone_too(memory: Memory) -> None:
    memory.apply([Save(key=key, body=f"old {key}", summary="s") for key in "abc"])
    changes = [Drop(key="a"), Drop(key="b"), Save(key="c", body="a and b and c", context=("x",))]
    memory.apply([*changes, Save(key="new", body="n")], reason="Merged")
    assert memory.revision() == 7
    batch = batch_of("core", 4, 7)
    assert [stone.key for stone in batch.tombstones] == ["a", "b"]
    assert [note.key for note in batch.changed] == ["c"]
    assert [one.key for one in batch_of("core", 4, 5).tombstones] == ["a", "b"]
    assert batch_of("core", 4, 5).changed == []
    done = undo(memory, 4, 7)
    assert [one.key for one in done.restored] == ["a", "b", "c"]
    assert done.left_alone == ()
    c = memory.recall("c")
    assert (c.body, c.summary, c.contexts) == ("old c", "s", ())
    assert memory.recall("new").body == "n"
    revision = memory.revision()
    assert undo(memory, 4, 7).left_alone == ("a", "b", "c")
    assert memory.revision() == revision


def test_what_was_changed_and_written_since_is_left_alone(memory: Memory) -> None:
    memory.apply([Save(key=key, body="old", summary="s") for key in "ab"])
    memory.apply([Drop(key="a"), Save(key="b", body="new")])
    memory.remember("b", "s", "newer")
    done = undo(memory, 3, 4)
    assert ([one.key for one in done.restored], done.left_alone) == (["a"], ("b",))
    assert memory.recall("b").body == "newer"


def test_what_one_write_saved_and_forgot_comes_back_once(memory: Memory) -> None:
    memory.remember("a", "s", "old")
    memory.apply([Drop(key="a"), Save(key="a", body="between"), Drop(key="a")])
    done = undo(memory, 2, 4)
    assert [one.key for one in done.restored] == ["a"]
    assert memory.recall("a").body == "between"
    assert done.left_alone == ("a",)


def test_a_batch_is_what_one_write_forgot(logs: Memory) -> None:
    prune(logs, LOGS, reason="why")
    logs.forget("fact")
    Memory("other").remember("k", "s", "b")
    private = Memory("core", session="s")
    private.remember("p", "s", "b", persist=False)
    private.forget("p")
    for first, last in ((4, 7), (8, 7), (10, 10), (99, 99), (0, 0), (2**63 - 1, 2**63 - 1)):
        assert batch_of("core", first, last) is None, (first, last)
    assert batch_of("other", 5, 7) is None
    keys = {
        (first, last): [stone.key for stone in batch.tombstones]
        for first, last in ((5, 7), (5, 8), (6, 6), (5, 2**63 - 1))
        if (batch := batch_of("core", first, last))
    }
    assert keys == {
        (5, 7): ["log/0", "log/1", "log/2"],
        (5, 8): ["log/0", "log/1", "log/2"],
        (6, 6): ["log/1"],
        (5, 2**63 - 1): ["log/0", "log/1", "log/2"],
    }
    assert undo(logs, 1, 4).restored == ()


def test_statements_do_not_grow(memory: Memory) -> None:
    counts = []
    for size in (10, 400):
        memory.apply([Save(key=f"{n}", body="b", summary="s", kind="log") for n in range(size)])
        with CaptureQueriesContext(connection) as pruning:
            done = prune(memory, LOGS, reason="why")
        first, last = done[0].revision, done[-1].revision
        with CaptureQueriesContext(connection) as looking:
            assert len(batch_of("core", first, last).restores) == size
        with CaptureQueriesContext(connection) as undoing:
            assert len(undo(memory, first, last).restored) == size
        counts.append((len(looking), len(pruning) < 60, len(undoing) < 60))
        memory.clear()
    assert counts == [(6, True, True)] * 2


# Saved rules


def test_saved_rules_have_names_of_their_own(memory: Memory) -> None:
    memory.remember("k", "s", "b")
    here = Workspace.objects.get()
    for name in ("n", "N", "n ", "x" * 100):
        SavedRule.objects.keep(workspace=here, name=name, rule={"expired": True})
    SavedRule.objects.keep(workspace=None, name="n", rule={"duplicates": True})
    for workspace in (here, None):
        with pytest.raises(Refused, match="already"):
            SavedRule.objects.keep(workspace=workspace, name="n", rule={"kind": "x"})
    for name, sentence in (("", "a name"), (" ", "a name"), ("x" * 101, "too long"), ("\0", "NUL")):
        with pytest.raises(Refused, match=sentence):
            SavedRule.objects.keep(workspace=here, name=name, rule={"expired": True})
    Memory("other").remember("k", "s", "b")
    of_other = SavedRule.objects.for_workspace("other")
    assert [(rule.name, rule.rule) for rule in of_other] == [("n", {"duplicates": True})]
    assert SavedRule.objects.for_workspace("core").count() == 5
    assert str(of_other[0]) == "n"
    here.delete()
    assert SavedRule.objects.count() == 1


def test_undoing_the_end_of_sessions_is_a_write(logs: Memory) -> None:
    before = logs.revision()
    own = Memory("core", session="s")
    own.remember("own", "s", "b", persist=False)
    own.end_session()
    number = logs.revision()
    assert batch_of("core", number, number) is None
    assert batch_of("core", 1, before, of_sessions=True) is None
    with pytest.raises(NotAllowed):
        undo(Memory("core", read_only=True), number, number, of_sessions=True)
    assert own.recall("own") is None
    done = undo(logs, number, number, of_sessions=True, reason="needed after all")
    assert [one.key for one in done.restored] == ["own"]
    last = Revision.objects.latest("number")
    assert (last.session, last.reason) == ("s", "needed after all")
    assert own.recall("own") is not None
    assert logs.recall("own") is None
