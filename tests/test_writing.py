"""The channel: several changes are one, in order, all or nothing, whatever the batches."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from django_agent_memory import Drop, Memory, Save
from django_agent_memory.exceptions import Conflict, Refused
from django_agent_memory.models import IndexEntry, Note, Revision, Workspace


def assert_consistent(path: str = "core") -> None:
    """Assert that numbers are gap-free and that notes and entries are what the revisions say."""
    workspace = Workspace.objects.get(path=path)
    revisions = list(workspace.revisions.order_by("number"))
    assert [revision.number for revision in revisions] == list(range(1, workspace.revision + 1))
    last = {revision.key: revision for revision in revisions}
    notes = {note.key: note for note in workspace.notes.all()}
    entries = dict(workspace.index_entries.values_list("key", "summary"))
    living = {key: r for key, r in last.items() if r.body is not None}
    assert notes.keys() == living.keys()
    assert entries == {key: r.summary for key, r in living.items() if r.summary is not None}
    for key, revision in living.items():
        assert (notes[key].body, notes[key].body_is_json) == (revision.body, revision.body_is_json)
        assert notes[key].revision == revision.number


def test_changes_are_decided_in_order(memory: Memory) -> None:
    memory.remember("old", "s", "b")
    outcomes = memory.apply(
        [
            Save(key="a", summary="s", body="1"),
            Save(key="a", summary="s", body="1"),
            Save(key="a", summary="s", body="2"),
            Drop(key="a"),
            Drop(key="a"),
            Save(key="a", summary="s", body="3"),
            Drop(key="old"),
            Save(key="old", body="new"),
        ]
    )
    assert [outcome.outcome for outcome in outcomes] == [
        "created", "unchanged", "replaced", "forgot", "was_absent", "created", "forgot", "created",
    ]  # fmt: skip
    assert [getattr(o, "revision", None) for o in outcomes] == [2, 2, 3, 4, None, 5, 6, 7]
    assert outcomes[2].replaced_revision == 2
    assert Note.objects.get(key="a").position == 5
    assert Note.objects.get(key="old").position == 7
    assert not IndexEntry.objects.filter(key="old").exists()
    assert_consistent()


def test_no_changes_are_no_outcomes_and_no_workspace(memory: Memory) -> None:
    assert memory.apply([]) == []
    assert memory.apply(iter([])) == []
    assert not Workspace.objects.exists()


@pytest.mark.parametrize("size", [499, 500, 501, 1001])
def test_batches_are_invisible(memory: Memory, size: int) -> None:
    outcomes = memory.apply([Save(key=f"k{n:04}", summary="s", body=str(n)) for n in range(size)])
    assert [outcome.revision for outcome in outcomes] == list(range(1, size + 1))
    assert_consistent()
    again = memory.apply([Save(key=f"k{n:04}", summary="s", body=str(n)) for n in range(size)])
    assert {outcome.outcome for outcome in again} == {"unchanged"}
    mixed = memory.apply(
        [Drop(key=f"k{n:04}") if n % 2 else Save(key=f"k{n:04}", body="x") for n in range(size)]
    )
    assert len(mixed) == size
    assert Note.objects.count() == size - size // 2
    assert not IndexEntry.objects.exists()
    assert_consistent()


def test_a_key_in_two_batches_meets_its_own_earlier_state(memory: Memory) -> None:
    changes: list[Any] = [Save(key=f"k{n}", body="b") for n in range(500)]
    changes += [Drop(key="k0"), Save(key="k1", body="c"), Save(key="k1", body="c")]
    outcomes = memory.apply(changes)
    assert [o.outcome for o in outcomes[500:]] == ["forgot", "replaced", "unchanged"]
    assert_consistent()


@pytest.mark.parametrize("position", [0, 3, 600])
def test_a_conflict_undoes_everything(memory: Memory, position: int) -> None:
    memory.remember("kept", "s", "b")
    changes = [Save(key=f"k{n}", summary="s", body="b") for n in range(601)]
    changes.insert(position, Save(key="kept", body="x", expected_revision=9))
    with pytest.raises(Conflict) as caught:
        memory.apply(changes)
    assert caught.value.current_revision == 1
    assert memory.keys() == ("kept",)
    assert memory.revision() == 1
    assert_consistent()


def test_a_change_is_a_save_or_a_drop(memory: Memory) -> None:
    with pytest.raises(Refused, match="Save, a Drop or a Restore"):
        memory.apply([{"key": "k"}])  # type: ignore[list-item]


def test_an_outer_transaction_takes_the_write_with_it(memory: Memory) -> None:
    with transaction.atomic():
        memory.remember("k", "s", "b")
        transaction.set_rollback(True)
    assert not Workspace.objects.exists()
    assert not Revision.objects.exists()


def test_a_note_put_there_by_sql_is_replaced_and_forgotten(memory: Memory) -> None:
    workspace = memory.configure()
    Note.objects.create(workspace=workspace, key="k", body="by hand")
    IndexEntry.objects.create(workspace=workspace, key="lonely", summary="by hand")
    assert memory.remember("k", "s", "b").outcome == "replaced"
    assert memory.remember("lonely", "s", "b").outcome == "created"
    assert memory.forget("k").outcome == "forgot"
    assert_consistent()


@pytest.mark.django_db(transaction=True)
def test_the_numbers_are_unique_whatever_happens() -> None:
    Memory("core").remember("k", "s", "b")
    revision = Revision.objects.get()
    revision.pk = None
    with pytest.raises(DatabaseError):
        revision.save(force_insert=True)


@pytest.mark.django_db(transaction=True)
def test_the_first_statement_takes_the_lock(django_assert_max_num_queries: Any) -> None:
    memory = Memory("core")
    memory.remember("k", "s", "b")
    with django_assert_max_num_queries(20) as captured:
        memory.remember("k", "s", "c")
    statements = [query["sql"] for query in captured.captured_queries]
    assert statements[0].startswith("BEGIN")
    # MariaDB is told how long to wait in front of it.
    assert re.match(r"(SET STATEMENT .* FOR )?UPDATE", statements[1])
    assert connection.ops.quote_name("agent_memory_workspace") in statements[1]
