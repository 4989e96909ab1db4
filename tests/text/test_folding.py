"""Folding is NFC(casefold(NFC(s))), linear in time, and offsets lead back to the original."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given

from django_agent_memory.text.folding import SEPARATOR, first_hit, fold, haystack, hits

from .strategies import patterns, texts


def reference(text: str) -> str:
    """The definition, word for word."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return folded.replace("\x1f", "\u241f")


@given(texts)
def test_fold_is_its_definition(text: str) -> None:
    assert fold(text) == reference(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("привет", "Привет, мир"),
        ("straße", "STRASSE"),
        ("STRASSE", "Straße"),
        ("οδος", "ΟΔΟΣ"),
        ("οδοσ", "οδός οδος"),
        ("café", "un cafe\u0301 noir"),
        ("cafe\u0301", "CAFÉ"),
        ("k", "273 \u212a"),
        ("fi", "ﬁne"),
        ("이름", unicodedata.normalize("NFD", "이름")),
    ],
)
def test_what_people_call_the_same_text_matches(pattern: str, text: str) -> None:
    assert fold(pattern) in fold(text)


def test_dotted_capital_i_keeps_its_dot() -> None:
    assert fold("istanbul") not in fold("İstanbul")
    assert fold("i\u0307stanbul") in fold("İstanbul")


@example("0", "\u08ca", "")  # a mark alone: its letter is the hit
@given(texts, patterns, texts)
def test_first_hit_points_at_the_hit_in_the_original(before: str, pattern: str, after: str) -> None:
    text = before + pattern + after
    at = first_hit(text, pattern)
    if at is None:
        assert fold(pattern) not in fold(text)
        return
    # From the hit on, the pattern begins within the first normalisation segment: the part of the
    # folded text that stands before it is exactly what the original holds before it.
    assert fold(text[:at]) + fold(text[at:]) == fold(text)
    in_folded = fold(text).find(fold(pattern))
    assert len(fold(text[:at])) <= in_folded or not pattern
    first_segment = next(
        (
            n
            for n in range(at + 1, len(text))
            if unicodedata.category(text[n])[0] != "M"
            and fold(text[:n]) + fold(text[n:]) == fold(text)
        ),
        len(text),
    )
    assert in_folded < len(fold(text[:first_segment])) or at == len(text) or not fold(pattern)


@pytest.mark.parametrize(
    ("text", "pattern", "offset"),
    [
        ("needle", "needle", 0),
        ("a needle", "NEEDLE", 2),
        ("İ" * 50 + "needle", "needle", 50),
        ("ß" * 5000 + "needle" + "ß" * 5000, "needle", 5000),
        ("e\u0301" * 200 + "needle", "needle", 400),
        ("ﬃ" * 7 + "ŉ needle", "needle", 9),
        ("xyz", "needle", None),
        ("", "needle", None),
        ("anything", "", 0),
        ("", "", 0),
    ],
)
def test_first_hit(text: str, pattern: str, offset: int | None) -> None:
    assert first_hit(text, pattern) == offset


@pytest.mark.parametrize(
    ("text", "pattern", "found"),
    [
        ("needle", "NEEDLE", [(0, 6)]),
        ("a needle, a Needle", "needle", [(2, 8), (12, 18)]),
        ("aaaaa", "aa", [(0, 2), (2, 4)]),
        ("Straße STRASSE", "strasse", [(0, 6), (7, 14)]),
        ("Straße", "s", [(0, 1), (4, 5)]),  # Half of a letter is the letter.
        ("e\u0301te\u0301", "t\u00e9", [(2, 5)]),
        ("ﬃx", "fix", [(0, 2)]),
        ("İx", "x", [(1, 2)]),
        ("xyz", "needle", []),
        ("", "needle", []),
        ("anything", "", []),
        ("", "", []),
    ],
)
def test_hits(text: str, pattern: str, found: list[tuple[int, int]]) -> None:
    assert hits(text, pattern) == found


@given(texts, patterns, texts)
def test_hits_begin_with_the_first_and_are_apart(before: str, pattern: str, after: str) -> None:
    text = before + pattern + after
    found = hits(text, pattern)
    assert bool(found) == (bool(fold(pattern)) and fold(pattern) in fold(text))
    ends = [0, *(end for _, end in found)]
    for (start, end), last in zip(found, ends, strict=False):
        assert last <= start < end <= len(text)
        assert fold(pattern) in fold(text[start:end])
    if found:
        assert found[0][0] == first_hit(text, pattern)


@pytest.mark.parametrize("marks", ["\u0301\u0316", "\u0f73\u0f71", "\u0344\u0316"])
def test_a_long_run_of_marks_folds_like_any_text(marks: str) -> None:
    small = "e" + marks * 200 + "x"
    assert fold(small) == reference(small)
    # In quadratic time, as CPython orders such a run by itself, this would take over ten minutes.
    assert len(fold("e" + marks * 500_000)) > 1_000_000 - 2


def test_a_haystack_keeps_its_parts_apart() -> None:
    parts = haystack("Key\x1fA", "SUM", "Bödy").split(SEPARATOR)
    assert parts == ["key\u241fa", "sum", "bödy"]
    assert fold("key\x1fsum") not in haystack("key", "sum", "")
