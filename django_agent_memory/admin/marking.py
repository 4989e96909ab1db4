"""Stored text made safe to look at: credentials covered, invisible characters named.

What is copied from the page is the text itself: a cover is a blur that goes while the credential
has the focus, the name of a character is drawn by the style sheet beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from django_agent_memory.text import invisible
from django_agent_memory.text.folding import hits
from django_agent_memory.text.secrets import find_secrets

COVERED = "agent-memory-covered"
"""The class of what is blurred while it has not the focus."""

COVERED_HELP = _("Covered: click it, or move the focus to it, to read it.")

_MOST_ESCAPES = 2_000
"""In one text; the rest are left as they are, so that no page gets many times as long as it."""


def marked(text: str, pattern: str = "") -> SafeString:
    """Return the text escaped, with each credential covered and invisible characters named.

    What matches the pattern is highlighted, but inside a credential; only short texts take one.
    """
    pieces: list[str] = []
    last = 0
    found = hits(text, pattern) if pattern else []
    for secret in find_secrets(text):
        pieces += _highlighted(text, last, secret.start, found)
        pieces.append(_covered(text[secret.start : secret.end]))
        last = secret.end
    pieces += _highlighted(text, last, len(text), found)
    return mark_safe("".join(pieces))  # noqa: S308  (each piece is escaped)


def has_secret(*texts: str | None) -> bool:
    """Whether there is a credential in one of the texts."""
    return any(text and find_secrets(text) for text in texts)


def _highlighted(text: str, start: int, end: int, found: list[tuple[int, int]]) -> Iterator[str]:
    """Yield the stretch of the text, with what was found of it in elements of its own."""
    for first, last in found:
        first, last = max(first, start), min(last, end)
        if first >= last:
            continue
        yield _named(text[start:first])
        yield f"<mark>{_named(text[first:last])}</mark>"
        start = last
    yield _named(text[start:end])


def _covered(text: str) -> SafeString:
    return format_html(
        '<span class="{}" tabindex="0" title="{}">{}</span>',
        COVERED,
        COVERED_HELP,
        text,
    )


def _named(text: str) -> str:
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    last = 0
    for at in islice(invisible.find_invisible(text), _MOST_ESCAPES):
        yield escape(text[last:at])
        yield format_html(
            '<span class="agent-memory-invisible" data-name="{}">{}</span>',
            invisible.escape(text[at]),
            text[at],
        )
        last = at + 1
    yield escape(text[last:])
