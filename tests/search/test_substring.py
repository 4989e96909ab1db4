"""Search finds exactly what a plain Python scan finds, on every database."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_agent_memory import Memory, Save
from django_agent_memory.exceptions import Refused
from django_agent_memory.models import Note
from django_agent_memory.search import matching
from django_agent_memory.text.folding import fold
from tests.text.strategies import AWKWARD, patterns


def keys_found(memory: Memory, pattern: str) -> list[str]:
    result = memory.search(pattern)
    assert result.total == len(result.matches)
    return [match.key for match in result.matches]


@pytest.mark.parametrize(
    ("pattern", "body"),
    [
        ("ПРИВЕТ", "Привет, мир"),
        ("οδος", "ΟΔΟΣ"),
        ("straße", "STRASSE"),
        ("CAFÉ", "un cafe\u0301"),
        ("cafe\u0301", "un Café"),
        ("%", "100% sure"),
        ("_", "snake_case"),
        ("\\", "C:\\temp"),
        ("(", "f(x"),
        ("[a-", "[a-z]"),
        (".*", "a.*b"),
        ("$", "5$"),
        ("  ", "two  blanks"),
        ("\n", "line\nbreak"),
        ("\x1f", "unit\x1fseparator"),
        ("'", "it's"),
        ('"', 'say "x"'),
        ("語", "日本語"),
        ("👧", "👩\u200d👧"),
        ('{"a":1', {"a": 1, "b": 2}),
        ("é", ["é"]),
    ],
)
def test_exactly_the_note_that_contains_it(memory: Memory, pattern: str, body: Any) -> None:
    decoys = ["plain words", "ADO", "strase", "-", "a1b2"]
    memory.apply([Save(key=f"decoy{n}", body=decoy) for n, decoy in enumerate(decoys)])
    memory.remember("target", "s", body)
    assert keys_found(memory, pattern) == ["target"]


def test_key_summary_and_body_are_searched_and_no_match_crosses_them(memory: Memory) -> None:
    memory.remember("alpha", "beta" + "x" * 200 + "tail", "gamma")
    for pattern in ("LPH", "beta", "tail", "amm"):
        assert keys_found(memory, pattern) == ["alpha"]
    for pattern in ("alphabeta", "tailgamma", "alpha\x1fbeta", "a\u241fb"):
        assert keys_found(memory, pattern) == []


def test_the_empty_pattern_finds_every_note(memory: Memory) -> None:
    memory.apply([Save(key=f"k{n}", body="") for n in range(3)])
    assert keys_found(memory, "") == ["k0", "k1", "k2"]


@pytest.mark.parametrize("pattern", ["\x00", "a\x00", "\ud800", "x" * 60_000, "x" * 20_000_000])
def test_what_no_note_holds_matches_nothing(memory: Memory, pattern: str) -> None:
    memory.remember("k", "s", "x" * 100)
    assert memory.search(pattern).total == 0


def test_a_very_long_pattern_can_match(memory: Memory) -> None:
    memory.remember("k", "s", "Ж" * 60_000)
    assert keys_found(memory, "ж" * 60_000) == ["k"]


@pytest.mark.parametrize("length", [255, 256, 257, 5_000])
def test_no_database_compares_more_than_256_characters(memory: Memory, length: int) -> None:
    # As bad as it gets: a comparison fails at the last character, and begins anew at the next.
    memory.apply([Save(key=f"k{n}", body=f"{'a' * 20_000}{n}") for n in range(10)])
    memory.remember("k5", None, f"{'a' * 20_000}z{'a' * 300}")
    pattern = "a" * (length - 1) + "Z"
    with CaptureQueriesContext(connection) as queries:
        assert keys_found(memory, pattern) == ["k5"]
        assert list(matching(Note.objects.all(), pattern).values_list("key", flat=True)) == ["k5"]
    longest = max(len(run) for query in queries for run in re.findall("a+", query["sql"]))
    assert longest == min(length - 1, 256)


@pytest.mark.parametrize("count", [7, 8, 9])
def test_the_first_eight_of_what_contains_a_long_pattern(memory: Memory, count: int) -> None:
    pattern = "long " * 60
    keys = [f"k{n:02}" for n in reversed(range(count))]
    memory.apply([Save(key=key, summary=pattern, body="") for key in keys])
    memory.remember("decoy", None, f"{pattern[:299]}_")
    result = memory.search(pattern)
    assert [match.key for match in result.matches] == sorted(keys)[:8]
    assert result.total == count
    assert result.matches[0].summary == pattern


@pytest.mark.parametrize("pattern", [None, 5, ["x"], b"x"])
def test_a_pattern_is_a_string(memory: Memory, pattern: Any) -> None:
    with pytest.raises(Refused):
        memory.search(pattern)


@pytest.mark.parametrize("count", [7, 8, 9])
def test_at_most_eight_are_shown_and_all_are_counted(memory: Memory, count: int) -> None:
    keys = [f"k{n:02}" for n in reversed(range(count))]
    memory.apply([Save(key=key, summary="s", body="needle") for key in keys])
    result = memory.search("NEEDLE")
    assert [match.key for match in result.matches] == sorted(keys)[:8]
    assert result.total == count


def test_the_excerpt_shows_the_hit_where_folding_changes_lengths(memory: Memory) -> None:
    memory.remember("k", "s", "İ" * 500 + "needle" + "İ" * 500)
    (match,) = memory.search("needle").matches
    assert "needle" in match.excerpt
    assert match.excerpt.startswith("…")
    assert match.excerpt_cut


def test_search_follows_every_write(memory: Memory) -> None:
    memory.remember("k", "one", "two")
    memory.remember("k", "three", "two")
    assert keys_found(memory, "one") == []
    assert keys_found(memory, "three") == ["k"]
    memory.forget("k")
    assert keys_found(memory, "three") == []


def test_only_its_own_workspace_is_searched(memory: Memory) -> None:
    Memory("other").remember("k", "needle", "needle")
    assert memory.search("needle").total == 0


alphabet = st.text(st.sampled_from(AWKWARD.replace("\r", "") + "abc"), min_size=1, max_size=12)
bodies = st.text(st.sampled_from(AWKWARD + "abcABC"), max_size=30)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    notes=st.dictionaries(
        alphabet.filter(
            lambda key: not any(ord(c) < 32 and c not in "\t\n" or 127 <= ord(c) < 160 for c in key)
        ),
        st.tuples(st.none() | bodies, bodies),
        min_size=1,
        max_size=12,
    ),
    wanted=st.lists(patterns, min_size=1, max_size=8),
)
def test_it_agrees_with_a_python_scan(
    memory: Memory, notes: dict[str, tuple[str | None, str]], wanted: list[str]
) -> None:
    memory.apply([Save(key=k, summary=s, body=b) for k, (s, b) in notes.items()])
    for key in set(memory.keys()) - notes.keys():
        memory.forget(key)
    for pattern in [*wanted, *(body[2:5] for _, body in notes.values())]:
        expected = sorted(
            key
            for key, (summary, body) in notes.items()
            if any(fold(pattern) in fold(part) for part in (key, summary or "", body))
        )
        result = memory.search(pattern)
        assert [match.key for match in result.matches] == expected[:8]
        assert result.total == len(expected)
