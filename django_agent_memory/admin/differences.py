"""What differs between two texts, as lines a page can show at any size."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Literal, NamedTuple

from .newlines import lines

MOST_SHOWN = 200
WIDEST = 400
_MOST_COMPARED = 400
_CONTEXT = 2

Opcode = tuple[str, int, int, int, int]


class Line(NamedTuple):
    """A line that only the stored text has, only the person's text has, or both; or a gap."""

    side: Literal["stored", "yours", "both", "gap"]
    text: str


class Compared(NamedTuple):
    """The lines from `skipped` on, and what differs in them: groups of `difflib` opcodes."""

    old: list[str]
    new: list[str]
    skipped: int
    groups: list[list[Opcode]]
    cut: bool


def differences(stored: str, yours: str) -> list[Line]:
    """Return the lines that differ and two around them: at most 201 lines of at most 401 cp."""
    found = compared(_texts(stored), _texts(yours))
    shown = list(_lines(found))
    cut = found.cut or len(shown) > MOST_SHOWN
    return shown[:MOST_SHOWN] + ([Line("gap", "…")] if cut else [])


def compared(old: list[str], new: list[str]) -> Compared:
    """Compare lines, with two equal ones around each difference.

    Only 400 lines from the first difference on are compared, so that no text is slow.
    """
    shorter = min(len(old), len(new))
    head = _common(old, new, shorter)
    tail = _common(old[::-1], new[::-1], shorter - head)
    longest = max(len(old), len(new)) - head - tail
    cut = longest > _MOST_COMPARED
    # Cut off, lines that both have at the end would look as if one had lost them.
    tail = tail if cut else max(0, tail - _CONTEXT)
    start = max(0, head - _CONTEXT)
    old, new = old[start : len(old) - tail], new[start : len(new) - tail]
    if cut:
        old, new = old[:_MOST_COMPARED], new[:_MOST_COMPARED]
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    # Where nothing differs, difflib makes one group of equal lines.
    groups = list(matcher.get_grouped_opcodes(_CONTEXT)) if old != new else []
    return Compared(old, new, start, groups, cut)


def _common(old: list[str], new: list[str], most: int) -> int:
    pairs = zip(old[:most], new[:most], strict=True)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _lines(found: Compared) -> Iterator[Line]:
    for number, group in enumerate(found.groups):
        if number:
            yield Line("gap", "…")
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                yield from (Line("both", _fit(line)) for line in found.old[old_from:old_to])
                continue
            yield from (Line("stored", _fit(line)) for line in found.old[old_from:old_to])
            yield from (Line("yours", _fit(line)) for line in found.new[new_from:new_to])


def _texts(text: str) -> list[str]:
    return [line for line, _ in lines(text)]


def _fit(line: str) -> str:
    return line if len(line) <= WIDEST else line[:WIDEST] + "…"
