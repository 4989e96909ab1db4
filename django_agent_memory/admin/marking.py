"""Stored text made safe to look at: credentials covered, invisible characters named.

On demand, white space is marked as well. What is copied from the page is the text itself: a cover
is a blur that goes while the credential has the focus, names and marks are drawn by the style
sheet.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from django_agent_memory.text import invisible
from django_agent_memory.text.folding import hits
from django_agent_memory.text.secrets import find_secrets

from . import blanks
from .blanks import Mark

COVERED = "agent-memory-covered"
"""The class of what is blurred while it has not the focus."""

COVERED_HELP = _("Covered: click it, or move the focus to it, to read it.")

_MOST_ESCAPES = 2_000
"""In one text; the rest are left as they are, so that no page gets many times as long as it."""


def marked(text: str, *, pattern: str = "", with_blanks: bool = False) -> SafeString:
    """Return the text escaped, with each credential covered and invisible characters named.

    With `with_blanks`, white space is marked too; see `blanks`. What matches the pattern is
    highlighted, but inside a credential; only short texts take one.
    """
    marks = _marks(text, with_blanks=with_blanks)
    found = hits(text, pattern) if pattern else []
    pieces: list[str] = []
    last = 0
    for secret in find_secrets(text):
        pieces += _highlighted(text, last, secret.start, marks, found)
        pieces.append(_covered(_between(text, secret.start, secret.end, marks)))
        last = secret.end
    pieces += _highlighted(text, last, len(text), marks, found)
    return mark_safe("".join(pieces))  # noqa: S308  (each piece is escaped)


def has_secret(*texts: str | None) -> bool:
    """Whether there is a credential in one of the texts."""
    return any(text and find_secrets(text) for text in texts)


def _highlighted(
    text: str, start: int, end: int, marks: list[Mark], found: list[tuple[int, int]]
) -> Iterator[str]:
    """Yield a part of the text escaped, with what was found of it in elements of its own."""
    for first, last in found:
        first, last = max(first, start), min(last, end)
        if first >= last:
            continue
        yield _between(text, start, first, marks)
        yield f"<mark>{_between(text, first, last, marks)}</mark>"
        start = last
    yield _between(text, start, end, marks)


def _covered(escaped: str) -> SafeString:
    return format_html(
        '<span class="{}" tabindex="0" title="{}">{}</span>',
        COVERED,
        COVERED_HELP,
        mark_safe(escaped),  # noqa: S308  (escaped by _between)
    )


def _marks(text: str, *, with_blanks: bool) -> list[Mark]:
    """Return what is marked in the text, in order: no two of them overlap."""
    hidden = islice(invisible.find_invisible(text), _MOST_ESCAPES)
    marks = [Mark(at, at + 1, blanks.NAMED, invisible.escape(text[at])) for at in hidden]
    if with_blanks:
        marks = sorted([*marks, *blanks.marks_of(text)])
    return marks


def _between(text: str, start: int, end: int, marks: list[Mark]) -> str:
    return "".join(_pieces(text, start, end, marks))


def _pieces(text: str, start: int, end: int, marks: list[Mark]) -> Iterator[str]:
    """Yield a part of the text escaped, with what is marked in it."""
    for mark in marks[bisect_left(marks, (start,)) : bisect_left(marks, (end,))]:
        yield escape(text[start : mark.start])
        start = min(mark.end, end)
        yield format_html(
            '<span class="{}" data-name="{}">{}</span>',
            mark.kind,
            mark.name,
            text[mark.start : start],
        )
    yield escape(text[start:end])
