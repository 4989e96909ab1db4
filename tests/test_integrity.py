"""Whatever raw SQL did: reads stay total, each defect is named, and repair mends it."""

from __future__ import annotations

from typing import Any

import pytest

from django_agent_memory import Memory, Save
from django_agent_memory.exceptions import Pruned
from django_agent_memory.models import IndexEntry, Note, NoteContext, Posting, Revision, Workspace
from django_agent_memory.writing import find_defects, repair

from .test_writing import assert_consistent


@pytest.fixture
def memory(db: None) -> Memory:
    memory = Memory("core")
    tied = Save(key="k0", summary="s0", body="b0", context=["a", "b"], weight=2)
    rest = [Save(key=f"k{n}", summary=f"s{n}", body=f"b{n}") for n in range(1, 6)]
    memory.apply([tied, *rest])
    memory.forget("k5")
    return memory


def found() -> list[tuple[str, str]]:
    return [(defect.kind, defect.key) for defect in find_defects("core")]


def lose_a_note() -> None:
    Note.objects.filter(key="k1").delete()


def lose_an_entry() -> None:
    IndexEntry.objects.filter(key="k1").delete()


def edit_a_body() -> None:
    Note.objects.filter(key="k1").update(body="by hand")


def edit_a_summary() -> None:
    IndexEntry.objects.filter(key="k1").update(summary="by hand")


def break_json() -> None:
    Note.objects.filter(key="k1").update(body="{", body_is_json=True)


def spoil_the_haystack() -> None:
    Note.objects.filter(key="k1").update(haystack="")


def add_a_note() -> None:
    Note.objects.create(workspace=Workspace.objects.get(), key="new", body="by hand")


def add_an_entry() -> None:
    IndexEntry.objects.create(workspace=Workspace.objects.get(), key="new", summary="by hand")


def lose_history() -> None:
    Revision.objects.filter(key="k1").delete()


def set_the_counter_back() -> None:
    Workspace.objects.update(revision=2)


def set_another_revision() -> None:
    Note.objects.filter(key="k1").update(revision=999)


def set_the_start_ahead() -> None:
    Workspace.objects.update(history_from=77)


def edit_a_weight() -> None:
    Note.objects.filter(key="k1").update(weight=7)


def edit_a_context() -> None:
    Note.objects.filter(key="k1").update(contexts='["by hand"]')


def lose_a_context() -> None:
    position = Note.objects.values("position").get(key="k0")["position"]
    NoteContext.objects.filter(position=position).delete()


def add_a_context() -> None:
    note = Note.objects.get(key="k1")
    NoteContext.objects.create(workspace=note.workspace, position=note.position, context="by hand")


def share_a_position() -> None:
    Note.objects.filter(key__in=("k1", "k0")).update(position=1)


def lose_all_positions() -> None:
    Note.objects.update(position=0)


def spoil_the_fingerprint() -> None:
    Note.objects.filter(key="k1").update(fingerprint="")


def spoil_the_specificity() -> None:
    Note.objects.filter(key="k1").update(specificity=9)


DAMAGE: list[tuple[Any, set[tuple[str, str]], str | None]] = [
    (lose_a_note, {("note_missing", "k1")}, "b1"),
    (lose_an_entry, {("entry_missing", "k1"), ("haystack_stale", "k1")}, "b1"),
    (edit_a_weight, {("note_differs", "k1")}, "b1"),
    (edit_a_context, {("note_differs", "k1")}, "b1"),
    (lose_a_context, {("postings_stale", "k0")}, "b1"),
    (add_a_context, {("postings_stale", "k1")}, "b1"),
    (spoil_the_fingerprint, {("postings_stale", "k1")}, "b1"),
    (share_a_position, {("position_shared", "k0"), ("position_shared", "k1")}, "b1"),
    (
        lose_all_positions,
        {("position_shared", key) for key in ("k0", "k1", "k2", "k3", "k4")},
        "b1",
    ),
    (spoil_the_specificity, {("postings_stale", "k1")}, "b1"),
    (edit_a_body, {("note_differs", "k1"), ("haystack_stale", "k1")}, "by hand"),
    (edit_a_summary, {("entry_differs", "k1"), ("haystack_stale", "k1")}, "b1"),
    (
        break_json,
        {("note_differs", "k1"), ("haystack_stale", "k1"), ("broken_json", "k1")},
        "{",
    ),
    (spoil_the_haystack, {("haystack_stale", "k1")}, "b1"),
    (add_a_note, {("note_without_history", "new"), ("haystack_stale", "new")}, "b1"),
    (add_an_entry, {("entry_without_note", "new")}, "b1"),
    (lose_history, {("revisions_missing", ""), ("note_without_history", "k1")}, "b1"),
    (set_the_counter_back, {("revision_counter_behind", "")}, "b1"),
    (set_another_revision, {("revision_differs", "k1")}, "b1"),
    (set_the_start_ahead, {("history_start_ahead", "")}, "b1"),
]


@pytest.mark.parametrize(("damage", "defects", "body"), DAMAGE)
def test_a_defect_is_found_by_its_key_and_mended(
    memory: Memory, damage: Any, defects: set[tuple[str, str]], body: str
) -> None:
    assert found() == []
    damage()
    memory.index_note()
    memory.list_memories()
    memory.recall("k1")
    memory.search("b")
    assert set(found()) == defects
    mended = repair("core", actor="operator", reason="after the restore")
    assert {(defect.kind, defect.key) for defect in mended} == defects
    assert found() == []
    recalled = memory.recall("k1")
    assert recalled is not None
    assert recalled.body == body
    if damage is not lose_history:
        assert_consistent()
    assert memory.remember("later", "s", "b").revision == memory.revision()
    assert memory.search("by hand").total == (
        1 if damage in (edit_a_body, edit_a_summary, add_a_note) else 0
    )


def test_what_was_lost_and_what_was_adopted_are_both_in_the_history(memory: Memory) -> None:
    edit_a_body()
    repair("core", actor="operator")
    old, new = memory.history("k1")
    assert (old.body, new.body) == ("b1", "by hand")
    assert (new.operation, new.actor) == ("repair", "operator")


def test_a_repair_shows_in_the_index_that_was_cached(memory: Memory) -> None:
    memory.index_note()
    edit_a_summary()
    assert "by hand" in memory.list_memories()[1].line
    repair("core")
    assert "- k1: by hand" in memory.index_note()


def test_a_dropped_line_is_kept_in_the_history(memory: Memory) -> None:
    add_an_entry()
    repair("core")
    assert [revised.summary for revised in memory.history("new")] == ["by hand", None]
    assert memory.at(8).index_note().endswith("- new: by hand")
    assert "by hand" not in memory.index_note()
    assert memory.keys() == memory.at(9).keys()


def test_a_past_with_holes_says_that_it_is_not_complete(memory: Memory) -> None:
    Revision.objects.filter(number=2).delete()
    repair("core")
    last = memory.revision()
    with pytest.raises(Pruned):
        memory.at(3)
    with pytest.raises(Pruned):
        memory.as_of("k1", 1)
    assert memory.at(last).keys() == memory.keys()


def test_repairing_what_is_sound_writes_nothing(memory: Memory) -> None:
    assert repair("core") == []
    assert memory.revision() == 7
    assert repair("nowhere") == []
    assert list(find_defects("nowhere")) == []
    assert Workspace.objects.count() == 1


def test_erasure_and_pruning_leave_no_defect(memory: Memory) -> None:
    memory.erase("k1")
    memory.remember("k2", "s", "new")
    memory.redact("k2")
    assert found() == []


@pytest.mark.parametrize("size", [499, 500, 501, 1100])
def test_batches_miss_no_key(db: None, size: int) -> None:
    memory = Memory("core")
    memory.apply([Save(key=f"k{n:04}", summary="s", body="b") for n in range(size)])
    Note.objects.filter(key__endswith="9").delete()
    IndexEntry.objects.filter(key__endswith="8").delete()
    expected = {f"k{n:04}" for n in range(size) if n % 10 in (8, 9)}
    assert {key for _, key in found()} == expected
    repair("core")
    assert found() == []
    assert len(memory.keys()) == size


def test_what_is_derived_is_made_anew_without_a_revision(memory: Memory) -> None:
    """As after an upgrade from a version that had none of it."""
    before = list(Note.objects.order_by("key").values("key", "revision", "updated_at"))
    version = memory.index_version()
    spoiled = {"fingerprint": "", "specificity": 9, "length": 0, "told": 0, "has_number": False}
    Note.objects.update(**spoiled)
    for model in (Posting, NoteContext):
        model.objects.all().delete()
    Workspace.objects.update(counted_notes=0, counted_terms=0)
    assert {defect.kind for defect in repair("core")} == {"postings_stale"}
    assert found() == []
    assert list(Note.objects.order_by("key").values("key", "revision", "updated_at")) == before
    assert memory.index_version() == version
    assert [one.key for one in memory.find("b1")] == ["k1"]
