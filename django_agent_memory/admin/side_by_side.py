"""Two texts beside each other: line by line, and word by word where a line was changed.

A text may be a million characters on one line (JSON is), so everything is bounded, and what is left
out is a piece of its own that says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Literal, NamedTuple

from .differences import MOST_SHOWN, WIDEST, Compared, Opcode, compared
from .newlines import lines

_AROUND = 100
_MOST_WORDS = 400
_MOST_PAIRINGS = 200
_LONGEST_WORD = 40
_ALIKE = 0.5
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_ENDS = {"\r\n": "CRLF", "\r": "CR", "\n": "LF"}


class Piece(NamedTuple):
    """A run of a line: equal on both sides, changed, left out (`…`), or the name of its end."""

    kind: Literal["same", "changed", "cut", "end"]
    text: str


class Cell(NamedTuple):
    """A line of one side and its number, as a string that no locale rewrites."""

    number: str
    pieces: tuple[Piece, ...]


class Row(NamedTuple):
    """A line of both sides, or of one (the other is None); a gap has neither."""

    kind: Literal["same", "changed", "gap"]
    left: Cell | None = None
    right: Cell | None = None


class Table(NamedTuple):
    """The rows that differ with two equal ones around them; `cut` where something is left out."""

    rows: list[Row]
    cut: bool


def side_by_side(left: str | None, right: str | None) -> Table:
    """Return what differs between two texts, None being no text: at most 200 rows.

    Line ends count: where only they differ, they are named.
    """
    found = compared(_lines(left), _lines(right))
    rows = list(_rows(found))
    cells = [cell for row in rows[:MOST_SHOWN] for cell in (row.left, row.right) if cell]
    shortened = any(piece.kind == "cut" for cell in cells for piece in cell.pieces)
    return Table(rows[:MOST_SHOWN], found.cut or len(rows) > MOST_SHOWN or shortened)


def _lines(text: str | None) -> list[str]:
    if text is None:
        return []
    found = [line + end for line, end in lines(text)]
    # Behind a final line end there is no line.
    return found[:-1] if len(found) > 1 and not found[-1] else found


def _rows(found: Compared) -> Iterator[Row]:
    for number, group in enumerate(found.groups):
        if number:
            yield Row("gap")
        for opcode in group:
            yield from _rows_of(found, opcode)


def _rows_of(found: Compared, opcode: Opcode) -> Iterator[Row]:
    tag, old_from, old_to, new_from, new_to = opcode
    old, new = found.old[old_from:old_to], found.new[new_from:new_to]
    left, right = found.skipped + old_from, found.skipped + new_from
    for before, after in zip(old, new, strict=True) if tag == "equal" else _pairs(old, new):
        left, right = left + (before is not None), right + (after is not None)
        before_pieces, after_pieces = _pieces(before, after)
        yield Row(
            "same" if tag == "equal" else "changed",
            None if before is None else Cell(str(left), before_pieces),
            None if after is None else Cell(str(right), after_pieces),
        )


def _pairs(old: list[str], new: list[str]) -> Iterator[tuple[str | None, str | None]]:
    """Put each changed line beside what became of it: the most alike first, order kept."""
    if len(old) == len(new) or not 0 < len(old) * len(new) <= _MOST_PAIRINGS:
        yield from zip_longest(old, new)
        return
    places = [(x, y) for x in range(len(old)) for y in range(len(new))]
    x, y = max(places, key=lambda place: _alike(old[place[0]], new[place[1]]))
    if _alike(old[x], new[y]) < _ALIKE:
        yield from zip_longest(old, new)
        return
    yield from _pairs(old[:x], new[:y])
    yield old[x], new[y]
    yield from _pairs(old[x + 1 :], new[y + 1 :])


def _alike(old: str, new: str) -> float:
    return SequenceMatcher(None, old[:_AROUND], new[:_AROUND], autojunk=False).quick_ratio()


def _pieces(before: str | None, after: str | None) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Return both sides of one row."""
    if before is None or after is None:
        whole = _beginning(_split(before or after or "")[0], "changed")
        return whole, whole
    if before == after:
        same = _beginning(_split(before)[0], "same")
        return same, same
    (old, old_end), (new, new_end) = _split(before), _split(after)
    left, right = _marked(old, new)
    if old_end != new_end:
        left, right = left + _end(old_end), right + _end(new_end)
    return left, right


def _split(line: str) -> tuple[str, str]:
    text = line.rstrip("\r\n")
    return text, line[len(text) :]


def _end(end: str) -> tuple[Piece, ...]:
    return (Piece("end", _ENDS[end]),) if end else ()


def _marked(old: str, new: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Mark the words that differ, between what two lines begin and end with alike."""
    head = _word_start(old, _common_prefix(old, new))
    rest = min(len(old), len(new)) - head
    # Reversed, the end of a text is its beginning.
    tail = _common_prefix(old[::-1][:rest], new[::-1][:rest])
    tail = _word_start(old[::-1], tail)
    before = _ending(old[:head])
    after = _beginning(old[len(old) - tail :], "same", most=_AROUND)
    left, right = _words(old[head : len(old) - tail], new[head : len(new) - tail])
    return (*before, *left, *after), (*before, *right, *after)


def _common_prefix(old: str, new: str) -> int:
    """Return the length of the common beginning, by halves: a loop over a million is slow."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _word_start(text: str, place: int) -> int:
    """Return where the word begins that `place` is in, unless it is a very long one."""
    start = place
    while start and place - start < _LONGEST_WORD and text[start - 1].isalnum():
        start -= 1
    return place if start and text[start - 1].isalnum() else start


def _words(old: str, new: str) -> tuple[list[Piece], list[Piece]]:
    """Return both sides in runs of equal and of changed words; all changed if little is equal."""
    before, after = _first_words(old), _first_words(new)
    if max(len(before), len(after)) <= _MOST_WORDS:
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        if matcher.ratio() >= _ALIKE:
            return _runs(matcher.get_opcodes(), before, after)
    return list(_beginning(old, "changed")), list(_beginning(new, "changed"))


def _first_words(text: str) -> list[str]:
    found = _WORD.finditer(text)
    return [match[0] for match, _ in zip(found, range(_MOST_WORDS + 1), strict=False)]


def _runs(
    opcodes: Iterable[Opcode], before: list[str], after: list[str]
) -> tuple[list[Piece], list[Piece]]:
    left: list[Piece] = []
    right: list[Piece] = []
    for tag, old_from, old_to, new_from, new_to in opcodes:
        kind: Literal["same", "changed"] = "same" if tag == "equal" else "changed"
        left += _beginning("".join(before[old_from:old_to]), kind)
        right += _beginning("".join(after[new_from:new_to]), kind)
    return left, right


def _beginning(
    text: str, kind: Literal["same", "changed"], *, most: int = WIDEST
) -> tuple[Piece, ...]:
    if len(text) <= most:
        return (Piece(kind, text),) if text else ()
    return Piece(kind, text[:most]), Piece("cut", "…")


def _ending(text: str) -> tuple[Piece, ...]:
    if len(text) <= _AROUND:
        return (Piece("same", text),) if text else ()
    return Piece("cut", "…"), Piece("same", text[-_AROUND:])
