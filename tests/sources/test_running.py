"""What a run of a source writes, counts and forgets."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory import Memory
from django_agent_memory.exceptions import Conflict, NotAllowed, Refused
from django_agent_memory.models import Note, Posting, Revision, Workspace
from django_agent_memory.sources import Ran, Source, SourceMemory, run
from django_agent_memory.sources.running import Failed, attempt

Into = Callable[..., SourceMemory]


def source(*entries: tuple[Any, dict[str, Any]], name: str = "s") -> Source:
    """A source that stores the entries."""

    def fill(memory: SourceMemory) -> None:
        for content, known in entries:
            memory.store(content, **known)

    return Source(name=name, fill=fill, workspace="core")


def counts(ran: Ran) -> tuple[int, int, int, int]:
    return ran.added, ran.updated, ran.unchanged, ran.removed


def rows() -> list[Any]:
    return [
        list(model._default_manager.order_by("pk").values())
        for model in (Workspace, Note, Revision, Posting)
    ]


A = ("Ask first.", {"slot": "system", "weight": 2})
B = ("Ship daily.", {"key": "ship", "summary": "When", "context": ["ops/ship.py"]})


def test_run_twice_leaves_the_same_rows(memory: Memory) -> None:
    assert counts(run(source(A, B))) == (2, 0, 0, 0)
    before = rows()
    assert counts(run(source(A, B))) == (0, 0, 2, 0)
    assert counts(run(source(B, A), forget_missing=True)) == (0, 0, 2, 0)
    assert rows() == before
    recalled = memory.recall("ship")
    assert recalled is not None
    assert (recalled.source, recalled.contexts) == ("s", ("ops/ship.py",))
    assert {revision.actor for revision in Revision.objects.all()} == {"source:s"}


def test_what_changed_is_updated(memory: Memory) -> None:
    run(source(A, B))
    again = source((A[0], {**A[1], "weight": 3}), ("Ship weekly.", {"key": "ship"}))
    assert counts(run(again)) == (0, 2, 0, 0)
    recalled = memory.recall("ship")
    assert recalled is not None
    assert (recalled.body, recalled.summary, recalled.contexts) == ("Ship weekly.", "When", ())


def test_what_is_gone_is_forgotten_when_asked(memory: Memory) -> None:
    memory.remember("mine", "s", "mine")
    memory.store("Ask first.", source="other")
    memory.remember("old", None, "old", source="s", expires_at=timezone.now())
    run(source(A, B))
    assert counts(run(source(A))) == (0, 0, 1, 0)
    assert memory.recall("ship") is not None
    assert counts(run(source(A), forget_missing=True)) == (0, 0, 1, 1)
    assert memory.recall("ship") is None
    assert memory.history("ship")[-1].reason == "No longer in the source."
    assert Note.objects.count() == 4
    memory.restore("ship", memory.history("ship")[0].number)
    assert memory.recall("ship") is not None
    assert counts(run(source(), forget_missing=True)) == (0, 0, 0, 2)
    assert sorted(Note.objects.values_list("source", flat=True)) == ["", "other", "s"]


def test_what_a_session_has_is_not_the_sources(memory: Memory) -> None:
    memory.remember("k", None, "b", source="s")
    Note.objects.update(session="s1")
    assert counts(run(source(), forget_missing=True)) == (0, 0, 0, 0)


@pytest.mark.parametrize("forget_missing", [False, True])
def test_a_dry_run_writes_nothing_and_counts_the_same(
    memory: Memory, *, forget_missing: bool
) -> None:
    first = source(A, B)
    dry = run(first, dry_run=True, forget_missing=forget_missing)
    assert not Workspace.objects.exists()
    assert counts(dry) == counts(run(first, forget_missing=forget_missing))
    index = memory.index()
    before = rows()
    second = source(("Ship weekly.", {"key": "ship"}), ("New.", {}))
    dry = run(second, dry_run=True, forget_missing=forget_missing)
    assert rows() == before
    assert memory.index() == index
    assert counts(dry) == counts(run(second, forget_missing=forget_missing))
    assert counts(dry) == (1, 1, 0, int(forget_missing))


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(("notes", "writes"), [(499, 1), (500, 1), (501, 2)])
def test_a_chunk_is_one_write(into: Into, notes: int, writes: int, *, dry_run: bool) -> None:
    done: list[int] = []
    memory = into(progress=done.append, dry_run=dry_run)
    for number in range(notes):
        memory.store(f"text {number}")
    memory.flush()
    assert done == [min(notes, 500), notes][-writes:]
    assert Revision.objects.count() == (0 if dry_run else notes)


def test_thirty_notes_take_the_statements_of_ten(into: Into) -> None:
    def statements(count: int) -> int:
        memory = into()
        with CaptureQueriesContext(connection) as captured:
            for number in range(count):
                memory.store(f"text of {count}", key=f"{count}/{number}")
            memory.flush()
        return len(captured.captured_queries)

    run(source(A))
    assert statements(30) == statements(10) <= 25


def test_a_chunk_is_bounded_in_characters_too(into: Into) -> None:
    done: list[int] = []
    memory = into(progress=done.append)
    for letter in "abc":
        memory.store(letter * 1_000_000)
    assert done == [2]
    memory.flush()
    assert done == [2, 3]
    memory.flush()
    assert done == [2, 3]


def test_the_same_knowledge_counts_once(into: Into) -> None:
    memory = into()
    memory.store("text", happened_at=timezone.now())
    memory.store("text")
    memory.store("text", context="x")
    memory.store("keyed", key="k")
    memory.store("keyed", key="k")
    memory.flush()
    assert memory.counts == {"created": 3}


def test_a_key_says_one_thing(into: Into) -> None:
    memory = into()
    memory.store("text", key="k")
    with pytest.raises(Refused, match='The source stores two different things under "k".'):
        memory.store("text", key="k", weight=2)


def test_store_refuses_where_it_is_called(into: Into) -> None:
    memory = into()
    with pytest.raises(Refused, match="The weight must be a finite number of at least 0."):
        memory.store("text", weight=-1)
    with pytest.raises(TypeError):
        memory.store("text", source="other")  # type: ignore[call-arg]
    memory.flush()
    assert not Workspace.objects.exists()


def test_a_source_reads_but_writes_by_store_only(into: Into) -> None:
    memory = into()
    assert memory.memory.find("text") == ()
    with pytest.raises(NotAllowed):
        memory.memory.store("text")


def test_what_is_skipped_is_kept(memory: Memory) -> None:
    run(source(A, B))

    def fill(given: SourceMemory) -> None:
        given.skip("ship: cannot be read\nnow.", key="ship")
        for number in range(20):
            given.skip(f"n{number}")

    ran = run(Source(name="s", fill=fill, workspace="core"), forget_missing=True)
    assert counts(ran) == (0, 0, 0, 1)
    assert memory.recall("ship") is not None
    lines = list(ran.lines())
    assert lines[:2] == [
        "s in core: 0 added, 0 updated, 0 unchanged, 1 removed",
        "  skipped ship: cannot be read now.",
    ]
    assert len(lines) == 22
    assert lines[-1] == "  and 1 more were skipped"


def test_a_source_that_fails_forgets_nothing(memory: Memory) -> None:
    run(source(A, B))

    def fill(given: SourceMemory) -> None:
        given.store("New.")
        raise KeyError("upstream\nis down")

    failing = Source(name="s", fill=fill, workspace="core")
    with pytest.raises(KeyError):
        run(failing, forget_missing=True)
    assert Note.objects.count() == 2
    assert attempt(failing) == Failed(name="s", sentence="KeyError: 'upstream\\nis down'")


def test_what_is_refused_is_its_own_sentence(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    failed = attempt(source(("text", {"slot": 1})))
    assert failed == Failed(name="s", sentence="The slot must be a string, not a number.")
    assert not caplog.records
    nowhere = Source(name="s", fill=lambda _: None)
    failed = attempt(nowhere)
    assert failed == Failed(
        name="s", sentence='The source "s" belongs to no workspace; name one for it.'
    )
    assert isinstance(attempt(nowhere, workspace="core"), Ran)


def test_a_workspace_can_be_named(memory: Memory) -> None:
    ran = run(source(A), workspace="other/one")
    assert (ran.workspace, ran.added) == ("other/one", 1)
    assert not Note.objects.filter(workspace__path="core").exists()


def test_what_changes_meanwhile_is_looked_at_anew(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(source(A, B))
    read = SourceMemory._missing
    reads: list[int] = []

    def racing(given: SourceMemory) -> Any:
        drops = read(given)
        if not reads:
            memory.remember("ship", "s", "Mine now.", source="")
        reads.append(len(drops))
        return drops

    monkeypatch.setattr(SourceMemory, "_missing", racing)
    assert counts(run(source(A), forget_missing=True)) == (0, 0, 1, 0)
    assert reads == [1, 0]
    assert memory.recall("ship") is not None


def test_forever_changing_is_a_conflict(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    run(source(B))
    stale = Note.objects.get()
    memory.remember("ship", "s", "other")
    drop = SourceMemory("core", "s")._missing()
    monkeypatch.setattr(
        SourceMemory,
        "_missing",
        lambda _: [type(drop[0])(key="ship", expected_revision=stale.revision)],
    )
    with pytest.raises(Conflict):
        run(source(A), forget_missing=True)


def test_dates_and_expiry_pass(into: Into) -> None:
    memory = into()
    then = datetime.datetime(2026, 3, 4, tzinfo=datetime.UTC)
    memory.store("text", key="k", happened_at=then, expires_at=then.replace(year=2999), kind="x")
    memory.flush()
    note = Note.objects.get()
    assert (note.happened_at, note.kind) == (then, "x")
