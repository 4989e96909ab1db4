"""Which stored keys look like one that is not stored.

Models decorate and misspell keys. A near key is only ever suggested, never acted on. Similarity is
Dice's coefficient over the bigrams of the folded keys: linear in their length, so that no key is
slow to compare.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable

from .folding import fold

MOST_SUGGESTIONS = 3
_LEAST_SIMILARITY = 0.5
_MOST_SEGMENTS = 8
_QUOTES = "\"'`“”‘’«»"


def undecorated(key: str) -> list[str]:
    """Return the plain keys that `key` may be a decorated form of, the likeliest first.

    Undone are: quotes, brackets, list markers, outer slashes and blanks, a copied index line
    (`- key: summary`), capitals, dots for slashes, and a made-up path in front.
    """
    copied_line = re.sub(r"^\s*[-*•]\s+", "", key)
    forms = [key.strip(), copied_line, copied_line.partition(": ")[0]]
    forms = [form.strip().strip(_QUOTES + "[](){}<>").strip("/ \t\n") for form in forms]
    forms += [form.lower() for form in forms]
    forms += [form.replace(".", "/") for form in forms]
    for form in list(forms):
        segments = form.split("/")
        forms += ["/".join(segments[i:]) for i in range(1, min(len(segments), _MOST_SEGMENTS))]
    return [form for form in dict.fromkeys(forms) if form and form != key]


def nearest(key: str, candidates: Iterable[str]) -> list[str]:
    """Return up to 3 of `candidates` that are similar to `key`, the most similar first."""
    wanted = _bigrams(key)
    scored = (
        (_similarity(wanted, _bigrams(other)), other)
        for other in dict.fromkeys(candidates)
        if other != key
    )
    near = ((-score, other) for score, other in scored if score >= _LEAST_SIMILARITY)
    return [other for _, other in heapq.nsmallest(MOST_SUGGESTIONS, near)]


def _similarity(a: frozenset[str], b: frozenset[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b))


def _bigrams(key: str) -> frozenset[str]:
    """Return the pairs of neighbours in the folded key, its two edges marked."""
    edged = f"\x02{fold(key)}\x03"
    return frozenset(edged[i : i + 2] for i in range(len(edged) - 1))
