"""Likeness: by different words, exact at the threshold, and no pair above it is missed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_agent_memory.text.likeness import (
    may_be_alike,
    numbered,
    percent_alike,
    telling,
    words,
)

from .strategies import texts

LEAST = 80
WORD_SETS = st.frozensets(st.sampled_from("abcdefghijkl"), max_size=12)


def span(first: int, last: int) -> frozenset[str]:
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
    assert percent_alike(span(1, shared), span(1, either)) == percent
    assert percent_alike(span(1, either), span(1, shared)) == percent


def test_both_may_have_words_of_their_own() -> None:
    # 8 in both, one more in each: 8 of 10.
    assert percent_alike(span(1, 9), span(2, 10)) == 80
    assert percent_alike(span(1, 9), span(3, 11)) == 63


def test_only_the_same_words_are_100_percent() -> None:
    assert percent_alike(words("a b"), words("B, a, a")) == 100
    assert percent_alike(words(""), words("")) == 0
    assert percent_alike(words("..."), words("!")) == 0


@pytest.mark.parametrize(("fewer", "may"), [(79, False), (80, True), (81, True)])
def test_sizes_that_rule_it_out(fewer: int, may: bool) -> None:
    assert may_be_alike(span(1, fewer), span(1, 100), LEAST) is may
    assert may_be_alike(span(1, 100), span(1, fewer), LEAST) is may


@given(st.lists(WORD_SETS, min_size=2, max_size=5), st.integers(1, 100))
def test_what_is_alike_shares_a_telling_word(texts: list[frozenset[str]], least: int) -> None:
    numbers = numbered(texts)
    one, other = ({numbers[word] for word in text} for text in texts[:2])
    if percent_alike(one, other) >= least:
        assert set(telling(one, least)) & set(telling(other, least))
        assert may_be_alike(one, other, least)


def test_words_are_numbered_from_the_rarest() -> None:
    texts = [frozenset("ab"), frozenset("abc"), frozenset("a")]
    assert numbered(texts) == {"c": 0, "b": 1, "a": 2}
    assert numbered([]) == {}


def test_the_fewest_words_that_tell() -> None:
    assert telling({4, 2, 0, 1, 3}, 80) == [0, 1]
    assert telling({4, 2, 0, 1, 3}, 100) == [0]
    assert telling({7}, 80) == [7]
    assert telling(frozenset(), 80) == []


@given(texts)
def test_any_text_has_words_like_its_own(text: str) -> None:
    found = words(text)
    assert words(f"\n{text}\n!\n{text}") == found
    assert percent_alike(found, found) == (100 if found else 0)
    assert "" not in found
