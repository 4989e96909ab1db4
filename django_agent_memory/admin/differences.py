"""What differs between two texts, as lines a page can show at any size."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from .newlines import lines

_MOST_COMPARED = 400
_MOST_SHOWN = 200
_CONTEXT = 2
_WIDEST = 400


class Line(NamedTuple):
    """A line that only the stored text has, only the person's text has, or both; or a gap."""

    side: Literal["stored", "yours", "both", "gap"]
    text: str


def differences(stored: str, yours: str) -> list[Line]:
    """Return the lines that differ and two around them: at most 201 lines of at most 401 cp.

    Only 400 lines from the first difference on are compared, so that no text is slow.
    """
    old, new = _texts(stored), _texts(yours)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    start = max(0, head - _CONTEXT)
    old, new = old[start:], new[start:]
    found = list(_compared(old[:_MOST_COMPARED], new[:_MOST_COMPARED]))
    cut = len(found) > _MOST_SHOWN or max(len(old), len(new)) > _MOST_COMPARED
    return found[:_MOST_SHOWN] + ([Line("gap", "…")] if cut else [])


def _compared(old: list[str], new: list[str]) -> Iterator[Line]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for number, group in enumerate(matcher.get_grouped_opcodes(_CONTEXT)):
        if number:
            yield Line("gap", "…")
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                yield from (Line("both", _fit(line)) for line in old[old_from:old_to])
                continue
            yield from (Line("stored", _fit(line)) for line in old[old_from:old_to])
            yield from (Line("yours", _fit(line)) for line in new[new_from:new_to])


def _texts(text: str) -> list[str]:
    return [line for line, _ in lines(text)]


def _fit(line: str) -> str:
    return line if len(line) <= _WIDEST else line[:_WIDEST] + "…"
