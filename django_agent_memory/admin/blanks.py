"""White space made visible: what is marked, and by which sign.

A space is ·, a tab →, a line feed ↵; a carriage return is named CR, as many fonts have no sign for
it, a no-break space NBSP, and others by their numbers. What stands at the end of a line is marked
as that, for nobody sees it otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from django.http import HttpRequest

from django_agent_memory.text.invisible import escape

MOST_MARKED = 10_000
"""Marks in one text; what comes behind is left as it is, so that no page gets far too long."""

NAMED = "agent-memory-invisible"

_ENDS = "\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_RUN = re.compile(f"(?P<end>[{_ENDS}])|[^\\S{_ENDS}]+")
_END = re.compile(f"[{_ENDS}]|\\Z")
# Few spaces at a time: what is drawn over them cannot follow where a longer run is wrapped.
_PIECE = re.compile(" {1,8}|[^ ]")
_SIGNS = {"\t": "→", "\n": "↵", "\r": "CR", "\xa0": "NBSP"}


class Mark(NamedTuple):
    """A part of a text, the class it is drawn by, and what is drawn."""

    start: int
    end: int
    kind: str
    name: str


def is_asked(request: HttpRequest) -> bool:
    """Whether the address asks for the page with its white space marked."""
    return request.GET.get("exact") == "1"


def marks_of(text: str) -> list[Mark]:
    """Return the marks of the white space, in order, at most the first 10,000."""
    return list(islice(_marks(text), MOST_MARKED))


def is_marked_whole(text: str) -> bool:
    """Whether that is all there is to mark."""
    return next(islice(_marks(text), MOST_MARKED, None), None) is None


def _marks(text: str) -> Iterator[Mark]:
    for run in _RUN.finditer(text):
        start, end = run.span()
        if run["end"]:
            kind = "agent-memory-line-end" if run[0] == "\n" else NAMED
            yield Mark(start, end, kind, _sign(run[0]))
            continue
        is_trailing = _END.match(text, end) is not None
        for piece in _PIECE.finditer(text, start, end):
            yield Mark(*piece.span(), _kind(piece[0], is_trailing=is_trailing), _sign(piece[0]))


def _kind(blank: str, *, is_trailing: bool) -> str:
    kind = "agent-memory-blank" if blank[0] in " \t" else NAMED
    return f"{kind} agent-memory-trailing" if is_trailing else kind


def _sign(blank: str) -> str:
    return "·" * len(blank) if blank[0] == " " else _SIGNS.get(blank) or escape(blank)
