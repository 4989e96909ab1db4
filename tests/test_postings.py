"""What find counts is in step with the notes after every kind of write, and can be mended."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command

from django_agent_memory import Memory, analysing, writing
from django_agent_memory.models import Note, NoteContext, Posting, Workspace
from django_agent_memory.results import Defect
from django_agent_memory.writing import Drop, Restore, Save, erase, find_defects, repair

pytestmark = pytest.mark.django_db

PATH = "core"


def apply(*changes: Any) -> None:
    writing.apply(PATH, changes)


def terms() -> dict[int, list[tuple[str, int, int]]]:
    """Return term, frequency and place of each posting, by position."""
    found: dict[int, list[tuple[str, int, int]]] = {}
    for position, *rest in Posting.objects.order_by("position", "place", "term").values_list(
        "position", "term", "frequency", "place"
    ):
        found.setdefault(position, []).append(tuple(rest))
    return found


def contexts() -> dict[int, list[str]]:
    """Return the contexts by the position of the note that stands in them."""
    found: dict[int, list[str]] = {}
    for position, context in NoteContext.objects.order_by("context").values_list(
        "position", "context"
    ):
        found.setdefault(position, []).append(context)
    return found


def sums(path: str = PATH) -> tuple[int, int]:
    """Return how many notes and terms the workspace says there are."""
    workspace = Workspace.objects.get(path=path)
    return workspace.counted_notes, workspace.counted_terms


def nothing_is_counted() -> bool:
    return not (Posting.objects.exists() or NoteContext.objects.exists()) and sums() == (0, 0)


def save(key: str, body: str = "tea and milk", **fields: Any) -> Save:
    return Save(key=key, body=body, **fields)


def test_a_note_is_counted_as_it_is() -> None:
    apply(save("a/b", "tea, more tea: 3 cups", subject="Ann", context=("s1", "s2")))
    assert terms() == {
        1: [
            ("ann", 1, 0),
            ("tea", 2, 1),
            ("3", 1, 3),
            ("cup", 1, 4),
            ("a/b", 1, 5),
            ("b", 1, 6),
            ("s1", 1, 7),
            ("s2", 1, 8),
        ]
    }
    assert contexts() == {1: ["s1", "s2"]}
    assert sums() == (1, 9)
    note = Note.objects.get()
    assert (note.length, note.told, note.has_number) == (9, 4, True)


HISTORIES: dict[str, list[list[Any]]] = {
    "replaced": [[save("a/b")], [save("a/b", "coffee")]],
    "another subject": [[save("a/b", subject="Ann")], [save("a/b", subject="Bo")]],
    "other contexts": [[save("a", context=("x", "y"))], [save("a", context=("y", "z"))]],
    "no contexts any more": [[save("a", context=("x",))], [save("a", context=())]],
    "another date": [[save("a", happened_at=datetime(2023, 5, 8, tzinfo=UTC))]],
    "twice in one batch": [[save("a/b"), save("a/b", "coffee"), Drop(key="a/b"), save("a/b")]],
    "forgotten and stored again": [[save("a/b")], [Drop(key="a/b")], [save("a/b", "coffee")]],
    "restored": [[save("a/b")], [save("a/b", "coffee")], [Restore(key="a/b", revision=2)]],
    "restored after a forget": [
        [save("a/b")],
        [Drop(key="a/b")],
        [Restore(key="a/b", revision=2)],
    ],
    "JSON": [[Save(key="a/b", body={"drink": ["tea", 2]})]],
    "no term at all": [[save("?", "")]],
    "unspaced script": [[save("東京/会議", "東京の会議")]],
    "characters beyond the plane": [[save("𝒳" * 512, "𝒳" * 70, subject="𝒳" * 255)]],
    "the widest row": [[save("𠀀" * 512, "𠀀" * 9, subject="𠀁" * 255, context=("𠀂" * 512,))]],
}


@pytest.mark.parametrize("history", HISTORIES)
def test_after_every_write_what_is_counted_is_what_is_there(history: str) -> None:
    for changes in HISTORIES[history]:
        apply(save("other/note", "about something else", subject="Cy"), *changes)
        assert [*find_defects(PATH)] == []
    apply(
        Drop(key="other/note"),
        *[Drop(key=key) for key in Note.objects.values_list("key", flat=True)],
    )
    assert nothing_is_counted()


def test_a_rollback_counts_what_it_brings_back(memory: Memory) -> None:
    memory.remember("a/b", "s", "tea")
    Memory(PATH, actor="intruder").remember("a/b", "s", "coffee")
    memory.rollback(actor="intruder", since=1)
    assert "tea" in {term for term, *_ in terms()[1]}
    assert [*find_defects(PATH)] == []


def test_what_expired_and_is_stored_again_is_a_new_note(memory: Memory) -> None:
    apply(save("a/b", expires_at=datetime.now(UTC) + timedelta(days=1)))
    Note.objects.update(expires_at=datetime.now(UTC) - timedelta(days=1))
    apply(save("a/b", "coffee"))
    assert [*terms()] == [2]


@pytest.mark.parametrize("key", ["a/b", None])
def test_nothing_of_an_erased_note_is_left(key: str | None) -> None:
    apply(save("a/b"))
    erase(PATH, key)
    assert nothing_is_counted()


def test_erasing_one_note_leaves_the_others() -> None:
    apply(save("a/b"), save("a/c"))
    erase(PATH, "a/b")
    assert [*terms()] == [2]
    assert contexts() == {2: ["a"]}
    assert sums()[0] == 1


def test_another_workspace_has_its_own(memory: Memory) -> None:
    apply(save("a/b"))
    writing.apply("other", [save("a/b", "tea")])
    erase("other")
    assert [*terms()] == [1]


def _swap(term: str) -> None:
    workspace = Workspace.objects.get()
    Posting.objects.filter(position=1, place=0).delete()
    Posting.objects.create(workspace=workspace, term=term, position=1, frequency=1, place=0)


DAMAGE: dict[str, tuple[Callable[[], object], set[str]]] = {
    "no postings": (lambda: Posting.objects.all().delete(), {"a/b", "a/c"}),
    "no contexts": (lambda: NoteContext.objects.all().delete(), {"a/b", "a/c"}),
    "other sums": (lambda: Workspace.objects.update(counted_notes=7), {""}),
    "other sums of terms": (lambda: Workspace.objects.update(counted_terms=7), {""}),
    "another term": (lambda: _swap("other"), {"a/b"}),
    "another length": (lambda: Note.objects.filter(position=1).update(length=9), {"a/b"}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_counted_wrong_is_found_and_mended(damage: str) -> None:
    apply(save("a/b", subject="Ann"), save("a/c", "coffee"))
    sound = terms(), contexts(), sums()
    do, keys = DAMAGE[damage]
    do()
    assert {d.key for d in find_defects(PATH)} == keys
    assert {d.kind for d in find_defects(PATH)} == {"postings_stale"}
    mended = repair(PATH)
    assert {d.kind for d in mended} == {"postings_stale"}
    assert [*find_defects(PATH)] == []
    assert (terms(), contexts(), sums()) == sound
    assert Workspace.objects.get().revision == 2


def test_postings_of_no_note_are_removed() -> None:
    apply(save("a/b"), save("a/c"))
    Note.objects.filter(key="a/c").delete()
    Note.objects.filter(key="a/b").update(position=7)
    assert [*find_defects(PATH)] != []
    repair(PATH)
    assert [*find_defects(PATH)] == []
    assert [*terms()] == [3, 7]


def test_another_analyser_is_a_defect_until_repaired(settings: Any, capsys: Any) -> None:
    apply(save("a/b", "the teas"))
    settings.AGENT_MEMORY_ANALYSER = "tests.test_postings.shouted"
    assert [*find_defects(PATH)] == [Defect(kind="postings_stale", key="a/b")]
    call_command("memory_check", "--repair")
    assert 'postings stale: "a/b"' in capsys.readouterr().out
    assert {term for term, *_ in terms()[1]} == {"THE", "TEAS", "A", "B", "A/B"} - {"A/B"}


def shouted(text: str) -> list[str]:
    """Analyse in capitals."""
    return text.upper().replace("/", " ").split()


@pytest.mark.parametrize(("words", "counted"), [(4, 4), (5, 5), (6, 5)])
def test_so_many_terms_of_a_note_are_counted(monkeypatch: Any, words: int, counted: int) -> None:
    monkeypatch.setattr(analysing, "MOST_TERMS", 5)
    apply(save("?", " ".join(f"w{n}word" for n in range(words)), subject="Ann"))
    assert Note.objects.get().told == counted
    assert ("ann", 1, 0) in terms()[1]  # what is beside the text is counted always
    assert [*find_defects(PATH)] == []


@pytest.mark.parametrize(("length", "seen"), [(18, False), (19, True), (20, True)])
def test_so_many_characters_of_a_note_are_counted(
    monkeypatch: Any, length: int, *, seen: bool
) -> None:
    monkeypatch.setattr(analysing, "MOST_CHARACTERS", length)
    apply(save("?", "zebra eats grass", summary="tea"))  # the last word ends at 3 + 16
    assert ("grass" in {term for term, *_ in terms()[1]}) is seen


def test_a_note_of_the_largest_size_counts_so_much(memory: Memory) -> None:
    body = "".join(chr(0x4E00 + n % 20_000) for n in range(1_000_000))
    memory.remember("k", "s", body)
    assert Note.objects.get().told == analysing.MOST_TERMS
    assert [one.key for one in memory.find(body[:10])] == ["k"]


def test_what_it_costs_in_statements(django_assert_num_queries: Any, monkeypatch: Any) -> None:
    """One for the terms of a new note and one for its contexts; two over a note, or one more."""
    apply(save("a/a"))
    kept = {}
    for name in ("with", "without"):
        if name == "without":
            monkeypatch.setattr("django_agent_memory.writing.channel.store_postings", lambda *_: 0)
        kept[name] = [
            counted(save(f"a/{name}")),
            counted(save(f"a/{name}", "coffee")),
            counted(save(f"a/{name}", "coffee", context="x")),
            counted(save(name)),
        ]
    assert [a - b for a, b in zip(kept["with"], kept["without"], strict=True)] == [2, 2, 4, 1]


def counted(change: Save) -> int:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        apply(change)
    return len(queries)
