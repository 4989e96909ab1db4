"""Case-insensitive matching that is the same on every database.

`fold(s) = NFC(casefold(NFC(s)))` is applied to both sides, in Python; a database only ever compares
code points. A haystack is the folded parts of a note joined by a separator no pattern can hold, so
that no match crosses parts. `first_hit` finds the match again in the original text, whose length
folding may have changed.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

SEPARATOR = "\x1f"
_SEPARATOR_STAND_IN = "\u241f"

# A run of combining marks longer than this never occurs in a language (Unicode's Stream-Safe Text
# Format draws the line at 30). CPython orders the marks of a run by insertion, in quadratic time
# (80,000 marks: 5 s), so longer runs are ordered here first, which changes nothing in the result.
_LONG_RUN = 30


def fold(text: str) -> str:
    """Return NFC(casefold(NFC(text))) with the separator replaced by its printable stand-in."""
    folded = text.lower() if text.isascii() else compose(compose(text).casefold())
    return folded.replace(SEPARATOR, _SEPARATOR_STAND_IN)


def haystack(key: str, summary: str, body: str) -> str:
    """Return what search reads of a note: the folded parts joined by U+001F."""
    return SEPARATOR.join((fold(key), fold(summary), fold(body)))


def first_hit(text: str, pattern: str) -> int | None:
    """Return the offset in `text` of the first match of `pattern`, both folded; None without one.

    Where normalisation joins several characters, it is the offset of the first of them; of a mark
    it is that of the letter before it.
    """
    folded = fold(text)
    at = folded.find(fold(pattern))
    if at < 0:
        return None
    return at if text.isascii() else _original_offset(text, at)


def hits(text: str, pattern: str) -> list[tuple[int, int]]:
    """Return from where to where in a short `text` the matches of `pattern` stand, in order.

    None overlaps another; characters that normalisation joins are in a match or out of it together.
    Takes time and memory for each character, so not for whole bodies.
    """
    wanted = fold(pattern)
    starts, folded, start = [], [], 0
    while wanted and start < len(text):
        end = _segment_start(text, start + 1)
        piece = fold(text[start:end])
        starts += [(start, end)] * len(piece)
        folded.append(piece)
        start = end
    whole, found = "".join(folded), []
    at = whole.find(wanted) if wanted else -1
    while at >= 0:
        following = at + len(wanted)
        last = starts[following - 1]
        found.append((starts[at][0], last[1]))
        while starts[following : following + 1] == [last]:
            following += 1
        at = whole.find(wanted, following)
    return found


def _original_offset(text: str, at: int) -> int:
    """Map offset `at` of `fold(text)` to the start of the segment of `text` it comes from.

    Equal lengths prove nothing (one part may grow where another shrinks), so the folded lengths of
    segments are added up: of long runs of them first, then of ever shorter ones.
    """
    start = folded_start = 0
    for step in (4096, 64, 1):
        start, folded_start = _advance(text, at, start, folded_start, step)
    return start


def _advance(text: str, at: int, start: int, folded_start: int, step: int) -> tuple[int, int]:
    """Move both starts on by runs of about `step` characters while they stay at or before `at`."""
    while True:
        end = _segment_start(text, start + step)
        folded_end = folded_start + len(fold(text[start:end]))
        if folded_end > at or end >= len(text):
            return start, folded_start
        start, folded_start = end, folded_end


def _segment_start(text: str, offset: int) -> int:
    """Return the first offset from `offset` on where normalisation may cut `text`."""
    while offset < len(text) and _joins_previous(text[offset]):
        offset += 1
    return min(offset, len(text))


def _joins_previous(char: str) -> bool:
    """Whether normalisation may merge or reorder `char` with what stands before it.

    That is every mark (category M) and the vowels and finals of a decomposed Hangul syllable.
    """
    return char > "\u02ff" and (
        unicodedata.category(char)[0] == "M"
        or "\u1161" <= char <= "\u1175"
        or "\u11a8" <= char <= "\u11c2"
    )


def compose(text: str) -> str:
    """Return NFC(text) in linear time."""
    if unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", _order_long_runs(text))


def _order_long_runs(text: str) -> str:
    """Put long runs of combining marks into canonical order, as normalisation itself would."""
    return _long_runs().sub(_in_canonical_order, text) if len(text) > _LONG_RUN else text


def _in_canonical_order(run: re.Match[str]) -> str:
    marks = "".join(unicodedata.normalize("NFD", mark) for mark in run[0])
    return "".join(sorted(marks, key=unicodedata.combining))


@cache
def _long_runs() -> re.Pattern[str]:
    """Match more than 30 characters in a row that decompose to combining marks only."""
    marks = [
        char
        for char in map(chr, range(0x300, 0x20000))
        if all(map(unicodedata.combining, unicodedata.normalize("NFD", char)))
    ]
    return re.compile(f"[{''.join(marks)}]{{{_LONG_RUN + 1},}}")
