"""The engine interface, and what works on every database: the scan of a workspace's haystacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from enum import StrEnum
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, F, Func, Value
from django.db.models.sql.compiler import SQLCompiler
from django.utils import timezone

from django_agent_memory.models import IndexEntry, Note, Workspace
from django_agent_memory.models.note import NoteQuerySet
from django_agent_memory.streaming import FEW, stream
from django_agent_memory.text.rendering import MATCHES_SHOWN

NOTE_TABLE = Note._meta.db_table
ENTRY_TABLE = IndexEntry._meta.db_table
WORKSPACE_TABLE = Workspace._meta.db_table

MOST_COMPARED = 256
"""Longest text that a database is asked for: it compares one that nearly repeats itself anew at
each character of a note, and 50,000 characters with a million took up to a minute."""

_LOOKED_AT = 128
"""Notes looked at for a common text's first matches: a hundredth of what a scan of 10,000 costs."""

BEING_BUILT = "Another process builds or drops the search index; try again when it is done."

_NOTES = f'SELECT 1 FROM "{NOTE_TABLE}" x WHERE x."workspace_id" = w."id"'

_HAS_HIDDEN = (
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
        first_of = self._first_of if len(folded) <= MOST_COMPARED else self._first_of_long
        total, shown = first_of(survey._replace(session=session), folded)
        return total, shown, survey.revision

    def matching(self, notes: NoteQuerySet, folded: str) -> NoteQuerySet:
        """Return those of `notes` that contain `folded`, for a list: as a condition or by ids."""
        if len(folded) <= MOST_COMPARED:
            return self._narrowed(notes, folded)
        return notes.filter(pk__in=[pk for (pk,) in self._compared(notes, folded, "pk")])

    def comparison(self, folded: str) -> tuple[str, str]:
        """Return the scan's condition for `folded`, and the value that it takes."""
        return self.contains, folded

    # The search index

    def status(self) -> Status:
        """Return what there is of a search index; never fails over a damaged one."""
        return Status(State.UNAVAILABLE, "This database has no search index; it is scanned.")

    def build(self, progress: Progress | None = None) -> None:
        """Make the search index anew, whatever is there of it.

        Raises `Busy` while another process builds or drops it. Refused by the database, it leaves
        nothing behind.
        """

    def drop(self) -> None:
        """Remove the search index, whatever is there of it; raises `Busy` as `build` does."""

    def compact(self) -> None:
        """Let go of what the search index remembers of notes that are gone."""

    # What engines share

    def _narrowed(self, notes: NoteQuerySet, folded: str) -> NoteQuerySet:
        """Return those of `notes` that contain `folded`, by a condition of the database's."""
        return notes.filter(Comparison(*self.comparison(folded)))

    def _compared(self, notes: NoteQuerySet, folded: str, *columns: str) -> Iterator[list[Any]]:
        """Yield the columns of those of `notes` that contain `folded`, which may be long.

        The database finds those with its beginning, Python compares the rest in linear time.
        """
        likely = self._narrowed(notes, folded[:MOST_COMPARED]).order_by()
        rows = likely.values_list("haystack", *columns)
        with closing(stream(rows, at_most=FEW + 1)) as streamed:
            yield from (row for haystack, *row in streamed if folded in haystack)

    def _first_of_long(self, survey: Survey, folded: str) -> tuple[int, list[Shown]]:
        notes = Note.objects.using(self.connection.alias).filter(workspace=survey.pk)
        notes = notes.live(session=survey.session)
        total, first = 0, list[Shown]()
        for key, body, summary in self._compared(notes, folded, "key", "body", "entry__summary"):
            total += 1
            first = sorted([*first, (key, body, summary)], key=itemgetter(0))[:MATCHES_SHOWN]
        return total, first

    def _survey(self, path: str) -> Survey | None:
        row = self._row(
            f'SELECT w."id", w."revision", {_HAS_HIDDEN} FROM "{WORKSPACE_TABLE}" w'
            ' WHERE w."path" = %s',
            self._now(),
            path,
        )
        return None if row is None else Survey(*row)

    def _first_of(self, survey: Survey, folded: str) -> tuple[int, list[Shown]]:
        """Return total and first 8 by a scan; of a common text these are found without sorting."""
        rows = self._live(self._scan(survey.pk, folded), survey)
        if folded and len(self._rows(*self._early(survey, folded))) == MATCHES_SHOWN:
            shown = self._shown_early(survey, folded, rows)
            # Unless notes went in between, these are the first there are.
            if len(shown[1]) == MATCHES_SHOWN:
                return shown
        return self._shown(rows)

    def _early(self, survey: Survey, folded: str) -> tuple[Any, ...]:
        """Return the query, and its parameters, for matches among the first 128 notes by key.

        If they are 8, they are the first 8 of all.
        """
        form, value = self.comparison(folded)
        contains = form.format('w."haystack"', "%s")
        shown, params = self._not_hidden(survey, 'w."id"')
        return (
            f'SELECT w."id", w."key" FROM (SELECT "id", "key", "haystack" FROM "{NOTE_TABLE}"'
            f' WHERE "workspace_id" = %s ORDER BY "key" LIMIT {_LOOKED_AT}) w'
            f' WHERE {contains}{shown} ORDER BY w."key" LIMIT {MATCHES_SHOWN}',
            survey.pk,
            value,
            *params,
        )

    def _shown_early(self, survey: Survey, folded: str, rows: Rows) -> tuple[int, list[Shown]]:
        """Return the total of the rows, which is only counted, and the early ones: one state."""
        early, *params = self._early(survey, folded)
        found = self._rows(
            f'SELECT (SELECT COUNT(*) FROM ({rows.sql}) c), f."key", n."body", e."summary"'
            f' FROM ({early}) f JOIN "{NOTE_TABLE}" n ON n."id" = f."id"'
            f' LEFT JOIN "{ENTRY_TABLE}" e ON e."workspace_id" = n."workspace_id"'
            f' AND e."key" = n."key" ORDER BY f."key"',
            *rows.params,
            *params,
        )
        return (found[0][0] if found else 0), [row[1:] for row in found]

    def _scan(self, workspace: int, folded: str, *, table: str = NOTE_TABLE) -> Rows:
        """Return the query that reads every note of the workspace, and no other."""
        form, value = self.comparison(folded)
        contains = form.format('"haystack"', "%s")
        condition, values = (f"AND {contains}", [value]) if folded else ("", [])
        return Rows(
            f'SELECT "id", "key" FROM "{table}" WHERE "workspace_id" = %s {condition}',
            (workspace, *values),
        )

    def _live(self, rows: Rows, survey: Survey) -> Rows:
        """Return the query without what has expired or is another session's."""
        shown, params = self._not_hidden(survey, '"id"')
        return Rows(rows.sql + shown, (*rows.params, *params))

    def _not_hidden(self, survey: Survey, column: str) -> tuple[str, tuple[Any, ...]]:
        """Return a condition on notes' ids and its parameters; neither where none is hidden.

        By ids, which every table that is searched has; an index leads to the notes.
        """
        if not survey.has_hidden:
            return "", ()
        return f" AND {column} NOT IN ({_EXPIRED}) AND {column} NOT IN ({_FOREIGN})", (
            *(survey.pk, survey.session, self._now()),
            *(survey.pk, survey.session),
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

    def _id_ranges(self, size: int, progress: Progress | None) -> Iterator[tuple[int, int]]:
        """Yield the ids after which, and up to which, each batch of all notes goes."""
        (total,) = self._row(f'SELECT COUNT(*) FROM "{NOTE_TABLE}"')
        done, last = 0, 0
        while True:
            count, end = self._row(
                f'SELECT COUNT(*), MAX("id") FROM (SELECT "id" FROM "{NOTE_TABLE}" WHERE "id" > %s'
                f' ORDER BY "id" LIMIT {size}) batch',
                last,
            )
            if not count:
                return
            yield last, end
            done, last = done + count, end
            if progress is not None:
                progress(done, total)

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
