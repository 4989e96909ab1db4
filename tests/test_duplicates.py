"""Notes that say the same, or nearly: all found, with bounded work, none of a session."""

from __future__ import annotations

import datetime
from itertools import combinations, islice
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory import Memory, Save, duplicates
from django_agent_memory.duplicates import nearly_same, of_same, repeated_later, same
from django_agent_memory.models import Note

HOUR = datetime.timedelta(hours=1)


def key_of(pk: int) -> str:
    return Note.objects.get(pk=pk).key


def near(path: str = "core") -> list[list[tuple[str, int]]]:
    return [
        [(key_of(note.pk), note.percent) for note in group] for group in nearly_same(path).groups
    ]


def numbered(first: int, last: int) -> str:
    return " ".join(f"w{number}" for number in range(first, last + 1))


# The same


def test_groups_that_say_the_same_are_the_largest_first(memory: Memory) -> None:
    for key, body in {"a": "x", "b": "y", "c": "x", "d": "y", "e": "y", "f": "z"}.items():
        memory.remember(key, None, body)
    memory.remember("as JSON", None, ["x"])
    Memory("other").remember("z", None, "z")
    Memory("core", session="s").remember("private", None, "z", persist=False)
    groups = same("core")
    assert [group.size for group in groups] == [3, 2]
    found = of_same("core", groups, most=9)
    assert [[key_of(pk) for pk in found[group.fingerprint]] for group in groups] == [
        ["e", "d", "b"],
        ["c", "a"],
    ]
    first = of_same("core", groups, most=2)
    assert [[key_of(pk) for pk in first[group.fingerprint]] for group in groups] == [
        ["e", "d"],
        ["c", "a"],
    ]


def test_what_has_expired_says_nothing(memory: Memory) -> None:
    memory.remember("a", None, "x")
    memory.remember("b", None, "x", expires_at=timezone.now() + HOUR)
    assert [group.size for group in same("core")] == [2]
    Note.objects.filter(key="b").update(expires_at=timezone.now() - HOUR)
    assert same("core") == []
    Note.objects.update(fingerprint="", expires_at=None)
    assert same("core") == []


@pytest.mark.parametrize(("count", "told"), [(3, 3), (4, 4), (5, 4)])
def test_there_are_at_most_so_many_groups(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, count: int, told: int
) -> None:
    monkeypatch.setattr(duplicates, "MOST_GROUPS", 3)
    memory.apply([Save(key=f"{n}", body=f"{n // 2}") for n in range(2 * count)])
    assert len(same("core")) == told


def test_two_notes_of_one_revision_were_written_at_once(memory: Memory) -> None:
    memory.apply([Save(key=key, body="x") for key in "abc"])
    assert len(repeated_later("core")) == 2
    Note.objects.update(revision=7)
    assert repeated_later("core") == set()
    Note.objects.filter(key="c").update(revision=8)
    assert {key_of(pk) for pk, _ in repeated_later("core")} == {"a", "b"}


# Nearly the same


@pytest.mark.parametrize(("last", "percent"), [(79, None), (80, 80), (81, 81)])
def test_the_threshold_is_80_percent(memory: Memory, last: int, percent: int | None) -> None:
    memory.remember("a", None, numbered(1, last))
    memory.remember("b", None, numbered(1, 100))
    assert near() == ([] if percent is None else [[("b", 100), ("a", percent)]])


def test_capitals_blanks_and_punctuation_make_no_difference(memory: Memory) -> None:
    memory.remember("a", "s", "Alice likes green tea.")
    memory.remember("b", "t", "alice LIKES\r\ngreen... tea!")
    memory.remember("c", "u", "Alice likes black tea.")
    memory.remember("d", "v", "...")
    memory.remember("e", "v", "!")
    assert near() == [[("b", 100), ("a", 100)]]


def test_a_note_goes_to_the_first_it_is_most_like(memory: Memory) -> None:
    memory.remember("one", None, numbered(1, 9))
    memory.remember("middle", None, numbered(1, 10))
    memory.remember("far", None, numbered(1, 13))
    memory.remember("farther", None, numbered(1, 12) + " x")
    # Of the first group is what is like its first, not what is like any of it.
    assert near() == [[("farther", 100), ("far", 85)], [("middle", 100), ("one", 90)]]


def test_of_what_says_the_same_one_stands_for_all(memory: Memory) -> None:
    for key in ("a", "b", "c"):
        memory.remember(key, None, numbered(1, 10))
    memory.remember("d", None, numbered(1, 9))
    memory.remember("a", "written last", numbered(1, 10))
    assert near() == [[("d", 100), ("a", 90)]]
    Note.objects.filter(key="d").delete()
    assert near() == []
    assert nearly_same("core").is_complete
    Note.objects.update(fingerprint="")
    assert near() == [[("c", 100), ("b", 100), ("a", 100)]]


def test_only_what_all_share_and_still_see_is_compared(memory: Memory) -> None:
    memory.remember("a", None, numbered(1, 10))
    Memory("core", session="s").remember("p", None, numbered(1, 9), persist=False)
    memory.remember("old", None, numbered(1, 9), expires_at=timezone.now() + HOUR)
    Note.objects.filter(key="old").update(expires_at=timezone.now() - HOUR)
    Memory("other").remember("b", None, numbered(1, 9))
    assert near() == []
    assert nearly_same("core").looked_at == 1


@pytest.mark.parametrize(
    ("stored", "looked_at", "is_complete"), [(4, 4, True), (5, 5, True), (6, 5, False)]
)
def test_only_the_newest_are_looked_at(
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    stored: int,
    looked_at: int,
    is_complete: bool,
) -> None:
    monkeypatch.setattr(duplicates, "MOST_LOOKED_AT", 5)
    for number in range(stored):
        memory.remember(f"{number}", None, numbered(1, 20 + number))
    found = nearly_same("core")
    assert (found.looked_at, found.is_complete) == (looked_at, is_complete)
    assert [len(group) for group in found.groups] == [looked_at]


@pytest.mark.parametrize(("most", "looked_at"), [(32, 2), (33, 3), (34, 3)])
def test_as_many_as_are_not_too_long_together(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, most: int, looked_at: int
) -> None:
    monkeypatch.setattr(duplicates, "_MOST_CHARACTERS", most)
    for number in range(3):
        memory.remember(f"{number}", None, f"word {number} 34 6")
    found = nearly_same("core")
    assert (found.looked_at, found.is_complete) == (looked_at, looked_at == 3)


def test_work_ends_where_it_is_too_much(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    for chosen in islice(combinations("abcdefghijkl", 6), 0, 900, 30):
        memory.remember("".join(chosen), None, " ".join(chosen))
    assert nearly_same("core").looked_at == 30
    assert nearly_same("core").is_complete
    monkeypatch.setattr(duplicates, "_MOST_COMPARED", 100)
    found = nearly_same("core")
    assert 0 < found.looked_at < 30
    assert not found.is_complete


@pytest.mark.parametrize(("size", "groups"), [(-1, 1), (0, 1), (1, 0)])
def test_a_long_body_is_not_compared(memory: Memory, size: int, groups: int) -> None:
    body = "word " * 4_000
    memory.remember("a", None, body[: duplicates.LONGEST + size] + "x" * size)
    memory.remember("b", None, "word")
    assert len(near()) == groups
    found = nearly_same("core")
    assert (found.looked_at, found.is_complete) == (2, True)


def test_json_and_other_scripts_are_compared_too(memory: Memory) -> None:
    memory.remember("a", None, {"city": "Faro", "days": [1, 2, 3]})
    memory.remember("b", None, '{"days": [3, 2, 1], "city": "Faro"}')
    memory.remember("c", None, "東京の会議は明日の午後")
    memory.remember("d", None, "東京の会議は明日の午後。")
    assert near() == [[("d", 100), ("c", 100)], [("b", 100), ("a", 100)]]


def test_statements_do_not_grow(memory: Memory) -> None:
    counts: list[Any] = []
    for size in (10, 60):
        memory.apply([Save(key=f"{n}", body=f"{n % 3} same words here") for n in range(size)])
        with CaptureQueriesContext(connection) as queries:
            of_same("core", same("core"), most=5)
            nearly_same("core")
        counts.append(len(queries))
    assert counts == [4, 4]
