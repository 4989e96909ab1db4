"""How much two texts say in the same words: which share of all their different words both have.

Capitals, punctuation, line ends, the order of the words and how often each stands there make no
difference; nothing is left out and no word is reduced to its stem: "not" and "8" count as much as
any other. Scripts written without spaces count by pairs of characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cache

from .analysis import UNSPACED_RUNS, marks
from .folding import fold

Words = frozenset[str]


def words(text: str) -> Words:
    """Return the different words of a text, folded."""
    folded = fold(text)
    pattern = _word_pattern(ascii_only=folded.isascii())
    return frozenset(_apart(match[0] for match in pattern.finditer(folded)))


def percent_alike(one: AbstractSet[object], other: AbstractSet[object]) -> int:
    """Return how many of a hundred words of either stand in both, rounded down; 0 without words.

    100 is both having exactly the same words.
    """
    shared = len(one & other)
    either = len(one) + len(other) - shared
    return 100 * shared // either if either else 0


def may_be_alike(one: AbstractSet[object], other: AbstractSet[object], least: int) -> bool:
    """Whether texts with so many words can be `least` percent alike at all."""
    fewer, more = sorted((len(one), len(other)))
    return 100 * fewer >= least * more


def telling(text: AbstractSet[int], least: int) -> list[int]:
    """Return the first words of a text, of which any `least` percent alike text has one.

    Words are numbers here, the same in every text; the rarer the lower, and the fewer texts will
    have one of these.
    """
    # Both have at least `least` percent of each one's words. If they shared none of these, what is
    # left of the one whose last word here is the higher would be too little.
    kept = -(-len(text) * least // 100)
    return sorted(text)[: len(text) - kept + 1] if text else []


def numbered(texts: Iterable[Words]) -> dict[str, int]:
    """Return a number for each word of the texts, the rarest first."""
    frequencies = Counter(word for text in texts for word in text)
    in_order = sorted(frequencies, key=lambda word: (frequencies[word], word))
    return {word: number for number, word in enumerate(in_order)}


def _apart(found: Iterable[str]) -> Iterator[str]:
    """Yield words, and of a run without spaces its pairs of characters."""
    for word in found:
        if word.isascii():
            yield word
            continue
        for at, run in enumerate(UNSPACED_RUNS.split(word)):
            if at % 2:
                yield from ([run[i : i + 2] for i in range(len(run) - 1)] or [run])
            elif run:
                yield run


@cache
def _word_pattern(*, ascii_only: bool) -> re.Pattern[str]:
    # What a mark changes is another word: vowel signs are marks. What follows a word is mostly
    # none, and is seen faster not to be one by its range.
    mark = "" if ascii_only else rf"|(?![\x00-\u02ff\u2000-\u206f])[{marks()}]"
    return re.compile(rf"(?:[^\W_]++{mark})++")
