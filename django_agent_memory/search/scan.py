"""The substring scan: one statement, the same rows, order and total on every database.

Both sides are folded in Python (`text.folding`); the database compares code points and nothing
else, whatever its collations. The statement reads only the notes of the workspace.
"""

from __future__ import annotations

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, Value, Window
from django.db.models.functions import Concat, StrIndex
from django.db.models.sql.compiler import SQLCompiler

from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Refused
from django_agent_memory.models import Note, Workspace
from django_agent_memory.models.note import NoteQuerySet
from django_agent_memory.results import Match, SearchResult
from django_agent_memory.text.folding import first_hit, fold
from django_agent_memory.text.gate import is_storable
from django_agent_memory.text.rendering import MATCHES_SHOWN, excerpt

# One code point folds to at most three (measured over all of Unicode).
_MOST_EXPANSION = 3


def search(path: str, pattern: str, *, using: str) -> SearchResult:
    """Return the first 8 notes, in key order, that contain `pattern`, and how many there are.

    The pattern is plain text and is not trimmed; "" is in every note. One that no note can hold
    (NUL, a lone surrogate, longer than any note) matches nothing.
    """
    if not isinstance(pattern, str):
        raise Refused("The pattern must be a string.")
    workspaces = Workspace.objects.using(using)
    notes = matching(Note.objects.using(using).filter(workspace__path=path), pattern)
    # Ordered by an expression equal to the key: given the key itself, PostgreSQL may walk its index
    # for the first 8 and test note after note instead of finding the matches first.
    rows = notes.annotate(total=Window(Count("*"))).order_by(Concat("key", Value("")))
    columns = ("key", "body", "entry__summary", "total", "workspace__revision")
    found = list(rows.values_list(*columns)[:MATCHES_SHOWN])
    return SearchResult(
        pattern=pattern,
        matches=tuple(_match(key, body, summary, pattern) for key, body, summary, *_ in found),
        total=found[0][3] if found else 0,
        workspace_revision=found[0][4] if found else workspaces.last_revision(path),
    )


def matching(notes: NoteQuerySet, pattern: str) -> NoteQuerySet:
    """Return those of `notes` that contain `pattern`, for every surface that searches."""
    longest = conf.max_key_length + conf.max_summary_length + conf.max_body_length + 2
    if len(pattern) > longest * _MOST_EXPANSION or not is_storable(pattern):
        return notes.none()
    if not pattern:
        return notes
    return notes.alias(found_at=_Position("haystack", Value(fold(pattern)))).filter(found_at__gt=0)


class _Position(StrIndex):
    """Position of a substring by code points; MySQL's own would go by collation."""

    def as_mysql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: Any
    ) -> tuple[str, Any]:
        """Compare bytes, 1.4 times as fast: UTF-8 never matches inside a character."""
        return self.as_sql(
            compiler,
            connection,
            function="INSTR",
            template="%(function)s(CAST(%(expressions)s AS BINARY))",
            arg_joiner=" AS BINARY), CAST(",
        )


def _match(key: str, body: str, summary: str | None, pattern: str) -> Match:
    text, cut = excerpt(body, first_hit(body, pattern))
    return Match(key=key, summary=summary, excerpt=text, excerpt_cut=cut)
