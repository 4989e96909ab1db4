"""The engine interface, and what works on every database: the scan of a workspace's haystacks."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, F, Func, Value
from django.db.models.sql.compiler import SQLCompiler
from django.utils import timezone

from django_agent_memory.models import IndexEntry, Note, Workspace
from django_agent_memory.models.note import NoteQuerySet
from django_agent_memory.text.rendering import MATCHES_SHOWN

NOTE_TABLE = Note._meta.db_table
ENTRY_TABLE = IndexEntry._meta.db_table
WORKSPACE_TABLE = Workspace._meta.db_table

_NOTES = f'SELECT 1 FROM "{NOTE_TABLE}" x WHERE x."workspace_id" = w."id"'

HAS_HIDDEN = (
    f"""(EXISTS ({_NOTES} AND x."session" = '' AND x."expires_at" <= %s)"""
    f""" OR EXISTS ({_NOTES} AND x."session" > ''))"""
)
"""Whether the workspace `w` has notes that have expired at a time, or are private."""

_IDS = f'SELECT x."id" FROM "{NOTE_TABLE}" x WHERE x."workspace_id" = %s'
_EXPIRED = f"""{_IDS} AND x."session" IN ('', %s) AND x."expires_at" <= %s"""
_FOREIGN = f"""{_IDS} AND x."session" > '' AND x."session" <> %s"""

Progress = Callable[[int, int], None]
"""Is told how much of how much is done."""

Shown = tuple[str, str, str | None]
"""Key, body and summary of a note that matches."""


class State(StrEnum):
    """What there is of a search index."""

    LIVE = "live"
    ABSENT = "absent"
    DAMAGED = "damaged"
    UNAVAILABLE = "unavailable"


class Status(NamedTuple):
    """What there is of it, and one sentence about that for an operator."""

    state: State
    sentence: str


class Rows(NamedTuple):
    """A query whose columns are `id` and `key`: all notes of a workspace that match."""

    sql: str
    params: tuple[Any, ...]


class Survey(NamedTuple):
    """What is known of a workspace before it is searched.

    `has_hidden` is whether it has notes that not every read shows; `session` is who searches.
    """

    pk: int
    revision: int
    has_hidden: bool = False
    session: str = ""


class Comparison(Func):
    """A condition on `haystack` and a value, in the SQL that is its form."""

    output_field = BooleanField()

    def __init__(self, form: str, value: str) -> None:
        super().__init__(F("haystack"), Value(value))
        self.form = form

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *_: Any, **__: Any
    ) -> Any:
        """Return the form with both sides compiled into it."""
        sides = [compiler.compile(side) for side in self.get_source_expressions()]
        sql = self.form.format(*(side for side, _params in sides))
        return sql, [param for _sql, params in sides for param in params]


class Engine:
    """Finds what matches in one database. `connection` is the Django connection to it.

    SQL is written with double quotes for names and %s for values; `_sql` spells it for the vendor.
    """

    contains: ClassVar[str] = "INSTR({}, {}) > 0"
    """The scan's condition on haystack and pattern: compares code points, uses no index."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self.connection = connection

    # Searching

    def first_matches(
        self, path: str, folded: str | None, session: str = ""
    ) -> tuple[int, list[Shown], int]:
        """Return how many notes contain `folded`, the first 8, and the workspace's revision.

        Notes are those that `session` sees. None is in no note, "" in every one. The revision is
        read first: whoever writes on the strength of it meets a conflict rather than overwriting
        what was not in the answer.
        """
        survey = self._survey(path)
        if survey is None or folded is None:
            return 0, [], 0 if survey is None else survey.revision
        total, shown = self._first_of(survey._replace(session=session), folded)
        return total, shown, survey.revision

    def matching(self, notes: NoteQuerySet, folded: str) -> NoteQuerySet:
        """Return those of `notes` that contain `folded`."""
        return notes.filter(self.condition(folded))

    def condition(self, folded: str) -> Func:
        """Return the scan's condition as an expression for `filter`."""
        return Comparison(self.contains, self.pattern(folded))

    def pattern(self, folded: str) -> str:
        """Return `folded` the way the scan's condition takes it."""
        return folded

    # The search index

    def status(self) -> Status:
        """Return what there is of a search index; never fails over a damaged one."""
        return Status(State.UNAVAILABLE, "This database has no search index; it is scanned.")

    def build(self, progress: Progress | None = None) -> None:
        """Make the search index anew, whatever is there of it."""

    def drop(self) -> None:
        """Remove the search index, whatever is there of it."""

    def compact(self) -> None:
        """Let go of what the search index remembers of notes that are gone."""

    # What engines share

    def _survey(self, path: str) -> Survey | None:
        row = self._row(
            f'SELECT w."id", w."revision", {HAS_HIDDEN} FROM "{WORKSPACE_TABLE}" w'
            ' WHERE w."path" = %s',
            self._now(),
            path,
        )
        return None if row is None else Survey(*row)

    def _first_of(self, survey: Survey, folded: str) -> tuple[int, list[Shown]]:
        return self._shown(self._live(self._scan(survey.pk, folded), survey))

    def _scan(self, workspace: int, folded: str, *, table: str = NOTE_TABLE) -> Rows:
        """Return the query that reads every note of the workspace, and no other."""
        contains = self.contains.format('"haystack"', "%s")
        condition, values = (f"AND {contains}", [self.pattern(folded)]) if folded else ("", [])
        return Rows(
            f'SELECT "id", "key" FROM "{table}" WHERE "workspace_id" = %s {condition}',
            (workspace, *values),
        )

    def _live(self, rows: Rows, survey: Any) -> Rows:
        """Return the query without what has expired or is another session's, if there is any.

        By their ids, which every table that is searched has; an index leads to these notes.
        """
        if not survey.has_hidden:
            return rows
        return Rows(
            f'{rows.sql} AND "id" NOT IN ({_EXPIRED}) AND "id" NOT IN ({_FOREIGN})',
            (
                *rows.params,
                *(survey.pk, survey.session, self._now()),
                *(survey.pk, survey.session),
            ),
        )

    def _now(self) -> Any:
        """Return the time as a statement takes it."""
        return self.connection.ops.adapt_datetimefield_value(timezone.now())

    def _shown(self, rows: Rows) -> tuple[int, list[Shown]]:
        """Return the total and the first 8 of the rows, in one statement: one state of the table.

        The matches are found first, and of them the first by key: given the key's order, a planner
        may walk it and test note after note. Bodies are fetched of those that are shown.
        """
        found = self._rows(
            f'WITH m AS MATERIALIZED ({rows.sql}) SELECT (SELECT COUNT(*) FROM m), f."key",'
            f' n."body", e."summary" FROM (SELECT "id", "key" FROM m ORDER BY "key"'
            f' LIMIT {MATCHES_SHOWN}) f JOIN "{NOTE_TABLE}" n ON n."id" = f."id"'
            f' LEFT JOIN "{ENTRY_TABLE}" e ON e."workspace_id" = n."workspace_id"'
            f' AND e."key" = n."key" ORDER BY f."key"',
            *rows.params,
        )
        return (found[0][0] if found else 0), [row[1:] for row in found]

    def _row(self, sql: str, *params: Any) -> Any:
        rows = self._rows(sql, *params)
        return rows[0] if rows else None

    def _rows(self, sql: str, *params: Any) -> list[Any]:
        with self.connection.cursor() as cursor:
            cursor.execute(self._sql(sql), params)
            return list(cursor.fetchall())

    def _run(self, sql: str, *params: Any) -> int:
        """Execute what returns no rows; return how many it concerned."""
        with self.connection.cursor() as cursor:
            cursor.execute(self._sql(sql), params or None)
            return int(cursor.rowcount)

    def _sql(self, sql: str) -> str:
        return sql
