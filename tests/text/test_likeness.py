"""Likeness: by different words, exact at the threshold, and no pair above it is missed."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_agent_memory.text.likeness import may_be_alike, percent_alike, telling, words

from .strategies import texts

LEAST = 80
WORD_SETS = st.frozensets(st.sampled_from("abcdefghijkl"), max_size=12)


def numbered(first: int, last: int) -> frozenset[str]:
    return frozenset(map(str, range(first, last + 1)))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", set()),
        (" \n–— …!", set()),
        ("The cat, the CAT\r\nand the Hat.", {"the", "cat", "and", "hat"}),
        ("snake_case don't 1,000.5", {"snake", "case", "don", "t", "1", "000", "5"}),
        ("Straße STRASSE", {"strasse"}),
        ("cafe\u0301 caf\u00e9", {"caf\u00e9"}),
        ('{"a":[1,1,true]}', {"a", "1", "true"}),
        ("東京都 and 東", {"東京", "京都", "東", "and"}),
        ("नि नी", {"नि", "नी"}),
        ("not no", {"not", "no"}),
    ],
)
def test_words(text: str, found: set[str]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
    ("shared", "either", "percent"),
    [
        (79, 100, 79),
        (80, 100, 80),
        (81, 100, 81),
        (4, 5, 80),
        (3, 4, 75),
        (2, 3, 66),
        (199, 200, 99),
    ],
)
def test_percent_is_rounded_down(shared: int, either: int, percent: int) -> None:
    assert percent_alike(numbered(1, shared), numbered(1, either)) == percent
    assert percent_alike(numbered(1, either), numbered(1, shared)) == percent


def test_both_may_have_words_of_their_own() -> None:
    # 8 in both, one more in each: 8 of 10.
    assert percent_alike(numbered(1, 9), numbered(2, 10)) == 80
    assert percent_alike(numbered(1, 9), numbered(3, 11)) == 63


def test_only_the_same_words_are_100_percent() -> None:
    assert percent_alike(words("a b"), words("B, a, a")) == 100
    assert percent_alike(words(""), words("")) == 0
    assert percent_alike(words("..."), words("!")) == 0


@pytest.mark.parametrize(("fewer", "may"), [(79, False), (80, True), (81, True)])
def test_sizes_that_rule_it_out(fewer: int, may: bool) -> None:
    assert may_be_alike(numbered(1, fewer), numbered(1, 100), LEAST) is may
    assert may_be_alike(numbered(1, 100), numbered(1, fewer), LEAST) is may


@given(WORD_SETS, WORD_SETS, st.integers(1, 100))
def test_what_is_alike_shares_a_telling_word(
    one: frozenset[str], other: frozenset[str], least: int
) -> None:
    frequencies = Counter([*one, *other, *"aaabbc"])
    if percent_alike(one, other) >= least:
        found = (set(telling(text, frequencies, least)) for text in (one, other))
        assert set.intersection(*found)
        assert may_be_alike(one, other, least)


def test_telling_words_are_the_rarest() -> None:
    frequencies = Counter({"the": 9, "a": 9, "cat": 2, "sat": 1, "mat": 1})
    assert telling(frozenset(frequencies), frequencies, 80) == ["mat", "sat"]
    assert telling(frozenset(frequencies), frequencies, 100) == ["mat"]
    assert telling(frozenset(), frequencies, 80) == []


@given(texts)
def test_any_text_has_words_like_its_own(text: str) -> None:
    found = words(text)
    assert words(f"\n{text}\n!\n{text}") == found
    assert percent_alike(found, found) == (100 if found else 0)
    assert "" not in found
