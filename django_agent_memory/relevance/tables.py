"""What ranking reads: short statements of portable SQL, each led by an index.

The ORM would take longer to write them than the database to answer them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import connections

from django_agent_memory.models import Note, NoteContext, Posting, Workspace
from django_agent_memory.models.note import after_all_with

from .formula import Statistics

if TYPE_CHECKING:
    from .visible import Visible

_A_STATEMENT = 5_000

MOST_CONTEXTS = 500
"""So many contexts are counted at most: beyond them all are taken for as rare as among so many."""

Neighbours = tuple[int, int | None, int | None]
Hit = tuple[str, int, int, int]
"""Term, position, frequency, place."""


class Place(NamedTuple):
    """What ranking asks of a note; `subject` is "" where it is private. There are thousands, so
    that they are left the plain rows they come as.
    """

    position: int
    length: int
    told: int
    has_number: bool
    subject: str


class Reach(NamedTuple):
    """The terms from `first` up to but without `end`; only `first` if there is no end."""

    first: str
    end: str | None = None

    @classmethod
    def of_prefix(cls, prefix: str) -> Reach:
        return cls(prefix, after_all_with(prefix))


class Tables:
    """The tables of one workspace."""

    def __init__(self, workspace: int, using: str) -> None:
        self._workspace = workspace
        self._connection = connections[using]
        quote = self._connection.ops.quote_name
        self._posting, self._context, self._note, self._space = (
            quote(model._meta.db_table) for model in (Posting, NoteContext, Note, Workspace)
        )

    @property
    def scope(self) -> tuple[int, str]:
        """The workspace and the database alias."""
        return self._workspace, self._connection.alias

    def newest_position(self) -> int:
        """Return the position of the note stored last, 0 without any."""
        newest = self._rows(
            f"SELECT MAX(position) FROM {self._note} WHERE workspace_id = %s",
            [self._workspace],
        )
        return newest[0][0] or 0

    def statistics(self) -> Statistics:
        """Return how many notes and terms there are."""
        ((notes, terms),) = self._rows(
            f"SELECT counted_notes, counted_terms FROM {self._space} WHERE id = %s",
            [self._workspace],
        )
        return Statistics(notes, terms)

    def context_count(self) -> int:
        """Return how many contexts there are, 500 for more: each is one step along the index."""
        following = (
            f"SELECT n.context FROM {self._context} n WHERE n.workspace_id = %s AND n.context > "
        )
        ((count,),) = self._rows(
            f"WITH RECURSIVE c (context, number) AS (SELECT MIN(context), 1 FROM {self._context}"
            f" WHERE workspace_id = %s UNION ALL SELECT ({following} c.context"
            " ORDER BY n.context LIMIT 1), c.number + 1 FROM c"
            " WHERE c.context IS NOT NULL AND c.number < %s)"
            " SELECT COUNT(context) FROM c",
            [self._workspace, self._workspace, MOST_CONTEXTS],
        )
        return int(count)

    def counts(self, reaches: Iterable[Reach]) -> dict[str, int]:
        """Return for each term there is in the reaches how many notes hold it."""
        return dict(self._union("term, COUNT(*)", reaches, " GROUP BY term"))

    def held(self, terms: Sequence[str], most: int) -> dict[str, int]:
        """Return how many notes hold each of the terms, counted up to `most`; none is left out."""
        count = (
            "SELECT %s, COUNT(*) FROM (SELECT 1 AS one"
            f" FROM {self._posting} WHERE workspace_id = %s AND term = %s LIMIT {most}) x"
        )
        parameters = [part for term in terms for part in (term, self._workspace, term)]
        return dict(self._rows(" UNION ALL ".join([count] * len(terms)), parameters))

    def hits(self, reaches: Iterable[Reach], within: Collection[int] | None = None) -> list[Hit]:
        """Return the postings of all terms in the reaches, in these notes or in all."""
        columns = "term, position, frequency, place"
        if within is None:
            return list(self._union(columns, reaches))
        asked = list(reaches)
        return [
            hit
            for numbers in lists(within)
            for hit in self._union(columns, asked, f" AND position IN ({numbers})")
        ]

    def newest_hits(self, term: str, most: int, visible: Visible) -> list[Hit]:
        """Return the postings of a term in those of the visible notes that were stored last."""
        sql, params = visible.condition
        return self._rows(
            f"SELECT term, position, frequency, place FROM {self._posting}"
            f" WHERE workspace_id = %s AND term = %s AND position IN ({sql})"
            " ORDER BY position DESC LIMIT %s",
            [self._workspace, term, *params, most],
        )

    def tied(self, contexts: Sequence[str], most: int) -> list[int]:
        """Return the positions of the notes in any of the contexts that were stored last."""
        if not contexts:
            return []
        marks = ", ".join(["%s"] * len(contexts))
        rows = self._rows(
            f"SELECT position FROM {self._context} WHERE workspace_id = %s"
            f" AND context IN ({marks}) ORDER BY position DESC LIMIT %s",
            [self._workspace, *contexts, most],
        )
        return [position for (position,) in rows]

    def places(self, positions: Collection[int]) -> Iterator[Place]:
        """Yield the columns of `Place` of each of these notes."""
        for numbers in lists(positions):
            yield from self._rows(
                "SELECT position, length, told, has_number,"
                " CASE WHEN session = '' THEN subject ELSE '' END"
                f" FROM {self._note} WHERE workspace_id = %s AND position IN ({numbers})",
                [self._workspace],
            )

    def contexts(self, positions: Collection[int]) -> Iterator[tuple[int, str]]:
        """Yield position and context of each of these notes in each of its contexts."""
        for numbers in lists(positions):
            yield from self._rows(
                f"SELECT position, context FROM {self._context}"
                f" WHERE workspace_id = %s AND position IN ({numbers})",
                [self._workspace],
            )

    def neighbours(self, positions: Collection[int]) -> Iterator[Neighbours]:
        """Yield (note, before, after) for each of these in each of its contexts; None at an end."""
        near = (
            f"SELECT n.position FROM {self._context} n WHERE n.workspace_id = p.workspace_id"
            " AND n.context = p.context AND n.position"
        )
        for numbers in lists(positions):
            yield from self._rows(
                f"SELECT p.position, ({near} < p.position ORDER BY n.position DESC LIMIT 1),"
                f" ({near} > p.position ORDER BY n.position LIMIT 1) FROM {self._context} p"
                f" WHERE p.workspace_id = %s AND p.position IN ({numbers})",
                [self._workspace],
            )

    def _union(self, columns: str, reaches: Iterable[Reach], end: str = "") -> list[Any]:
        """Return the rows of all reaches, each read along the index by a statement of its own.

        An OR of ranges is read through the whole workspace by some planners.
        """
        parts, parameters = [], []
        for reach in reaches:
            span = "term = %s" if reach.end is None else "term >= %s AND term < %s"
            parts.append(
                f"SELECT {columns} FROM {self._posting} WHERE workspace_id = %s AND {span}{end}"
            )
            parameters += [self._workspace, *(part for part in reach if part is not None)]
        return self._rows(" UNION ALL ".join(parts), parameters) if parts else []

    def _rows(self, sql: str, parameters: list[Any]) -> list[Any]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return list(cursor.fetchall())


def lists(positions: Collection[int]) -> Iterator[str]:
    """Yield the numbers in SQL, as many as a statement takes: there are too many for parameters."""
    ordered = sorted(positions)
    for start in range(0, len(ordered), _A_STATEMENT):
        yield ",".join(map(str, ordered[start : start + _A_STATEMENT]))
