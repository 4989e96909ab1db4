"""The rows of the list of notes: without long texts, but for what a search has found in them."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from django_agent_memory.models import Note
from django_agent_memory.text import rendering
from django_agent_memory.text.folding import first_hit

from .base import MemoryChangeList
from .marking import marked
from .shown import summary_line

MOST_READ = 1_000_000
"""Characters of bodies that are read for the excerpts of one page; notes behind have none."""


class NoteChangeList(MemoryChangeList):
    """The list of notes, which reads neither bodies nor haystacks."""

    def get_queryset(self, *args: Any, **kwargs: Any) -> QuerySet[Note]:
        """Return the rows without what may be a million characters long."""
        return super().get_queryset(*args, **kwargs).defer("body", "haystack", "contexts")

    def get_results(self, request: HttpRequest) -> None:
        """Give the rows of this page their summaries and paths.

        Joined, they would make the count read all rows, and MariaDB sort them. Where somebody has
        searched, the rows get their excerpts as well.
        """
        super().get_results(request)
        rows: Any = self.result_list
        self.result_list = with_summaries(list(rows))
        if self.query:
            _add_excerpts(self.result_list, self.query)


def with_summaries(notes: list[Any]) -> list[Any]:
    """Return the notes, each with `summary`, None without an index line, and `path`."""
    rows = Note.objects.filter(pk__in=[note.pk for note in notes])
    read = {pk: more for pk, *more in rows.values_list("pk", "entry__summary", "workspace__path")}
    for note in notes:
        note.summary, note.path = read.get(note.pk, (None, ""))
    return notes


def note_lines(note: Any) -> SafeString:
    """Return the summary as the index shows it and, where a search has one, the excerpt below."""
    pattern = getattr(note, "pattern", "")
    line = summary_line(note.summary, pattern=pattern)
    if not getattr(note, "excerpt", ""):
        return line
    shown = '{}<div class="agent-memory-excerpt" dir="auto">{}</div>'
    return format_html(shown, line, marked(note.excerpt, pattern=pattern))


def _add_excerpts(notes: list[Any], pattern: str) -> None:
    """Give each note `pattern` and, as far as the budget goes, `excerpt`: as the tool shows it."""
    sizes = accumulate(note.size for note in notes)
    read = [note.pk for note, total in zip(notes, sizes, strict=True) if total <= MOST_READ]
    bodies = dict(Note.objects.filter(pk__in=read).values_list("pk", "body"))
    for note in notes:
        body = bodies.get(note.pk, "")
        note.pattern = pattern
        note.excerpt = rendering.excerpt(body, first_hit(body, pattern))[0] if body else ""
