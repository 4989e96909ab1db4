"""PostgreSQL: a GIN index of trigrams (`pg_trgm`) on the haystacks.

The planner uses it by itself, and well, where it can tell how rare a text is: it has a sample of
haystacks. Two things it cannot know are decided here, because each may cost a hundred times the
scan: a text whose trigrams are all common though it is rare as a whole, and a small workspace among
large ones (the index knows nothing of workspaces).
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, ClassVar, NamedTuple

from django.db import connections, transaction

from django_agent_memory.models.note import NoteQuerySet

from .base import (
    HAS_HIDDEN,
    WORKSPACE_TABLE,
    Comparison,
    Engine,
    Progress,
    Rows,
    Shown,
    State,
    Status,
)
from .base import NOTE_TABLE as NOTE

_INDEX = "agent_memory_note_trigram"

_LIKE = "{} LIKE {}"

_IS_ASCII_ONLY = (
    "(SELECT datctype IN ('C', 'POSIX') FROM pg_database WHERE datname = current_database())"
)
"""Whether `pg_trgm` takes letters of other scripts for blanks."""

_SMALLEST = 4_096
"""Smaller workspaces are scanned: about six milliseconds."""

_SHORT = 12
"""Up to this length, reading all trigrams of a text costs at most a fifth of scanning the table."""

_LEAST_SAMPLE, _MOST_SAMPLE = 64, 2_048
"""Notes looked at to find the rarest trigram."""

_SAMPLED = 12
"""Trigrams of the text that are looked for in them."""

_STEP = 8
"""At most one candidate to eight notes of the workspace is worth the index."""

_PIECE = 8
"""Characters around the rarest trigram that the index is asked for."""

_GLANCE = 0.5
"""Seconds between two looks at the progress of a build."""


class _Survey(NamedTuple):
    """As `base.Survey`, with the notes of all workspaces (None: there is no index to use)."""

    pk: int
    revision: int
    has_hidden: bool
    notes: float | None
    is_ascii_only: bool
    session: str = ""


class PostgreSQLEngine(Engine):
    """Lets the planner choose between index and scan, or keeps the index out of its sight."""

    # The index is on the column's own collation, "C"; under another name for the same order it does
    # not apply. LIKE reads a haystack faster than STRPOS does.
    contains: ClassVar[str] = '{} COLLATE "POSIX" LIKE {}'

    def pattern(self, folded: str) -> str:
        """Return the text as a pattern of LIKE that means just this text, anywhere."""
        escaped = re.sub(r"([%_\\])", r"\\\1", folded)
        return f"%{escaped}%"

    # Searching

    def matching(self, notes: NoteQuerySet, folded: str) -> NoteQuerySet:
        """Return those of `notes` that contain `folded`, which the index may help to find."""
        matching = super().matching(notes, folded)
        (is_ascii_only,) = self._row(f"SELECT {_IS_ASCII_ONLY}")
        runs = _runs(folded, ascii_only=is_ascii_only)
        if not runs:
            return matching
        piece = max(runs, key=len)[:_PIECE]
        return matching.filter(Comparison(_LIKE, self.pattern(piece)))

    def _survey(self, path: str) -> Any:
        row = self._row(
            f'SELECT w."id", w."revision", {HAS_HIDDEN}, ('
            " SELECT c.reltuples FROM pg_class x JOIN pg_index i ON i.indexrelid = x.oid"
            " JOIN pg_class c ON c.oid = i.indrelid"
            " WHERE x.oid = to_regclass(%s) AND i.indisvalid AND c.reltuples > 0),"
            f' {_IS_ASCII_ONLY} FROM "{WORKSPACE_TABLE}" w WHERE w."path" = %s',
            self._now(),
            _INDEX,
            path,
        )
        return None if row is None else _Survey(*row)

    def _first_of(self, survey: Any, folded: str) -> tuple[int, list[Shown]]:
        piece = self._piece(survey, folded)
        if piece is None:
            return super()._first_of(survey, folded)
        return self._shown(self._live(self._by_index(survey.pk, piece, folded), survey))

    def _by_index(self, workspace: int, piece: str, folded: str) -> Rows:
        sql = f'SELECT "id", "key" FROM "{NOTE}" WHERE "workspace_id" = %s AND "haystack" LIKE %s'
        params = (workspace, self.pattern(piece))
        if piece == folded:
            return Rows(sql, params)
        whole = self.contains.format('"haystack"', "%s")
        return Rows(f"{sql} AND {whole}", (*params, self.pattern(folded)))

    def _piece(self, survey: _Survey, folded: str) -> str | None:
        """Return the part of the text to ask the index for; None where it must not be used."""
        runs = _runs(folded, ascii_only=survey.is_ascii_only)
        if survey.notes is None or not runs:
            return None
        size = self._size(survey.pk)
        if size < _SMALLEST:
            return None
        if len(folded) <= _SHORT and 2 * size >= survey.notes:
            return folded
        return self._rarest(runs, size, survey.notes)

    def _size(self, workspace: int) -> float:
        """Return about how many notes the workspace has: what the planner thinks."""
        (plan,) = self._row(
            f'EXPLAIN (FORMAT JSON) SELECT 1 FROM "{NOTE}" WHERE "workspace_id" = %s',
            workspace,
        )
        plan = json.loads(plan) if isinstance(plan, str) else plan
        rows: float = plan[0]["Plan"]["Plan Rows"]
        return rows

    def _rarest(self, runs: list[str], size: float, notes: float) -> str | None:
        """Return the part around the rarest trigram, if it is rare enough for the workspace.

        A sample of all notes tells: sixteen times as large as all notes are to the workspace's, so
        that a trigram in one of eight of these would be seen twice.
        """
        wanted = min(max(_LEAST_SAMPLE, 16 * notes / size), _MOST_SAMPLE)
        if _STEP * wanted > size:
            return None
        trigrams = _spread([(run, at) for run in runs for at in range(len(run) - 2)])
        counts = ", ".join(['COUNT(*) FILTER (WHERE "haystack" LIKE %s)'] * len(trigrams))
        sampled, *found = self._row(
            f'SELECT COUNT(*), {counts} FROM "{NOTE}" TABLESAMPLE SYSTEM (%s) REPEATABLE (1)',
            *(self.pattern(run[at : at + 3]) for run, at in trigrams),
            min(100 * wanted / notes, 100),
        )
        fewest = min(found)
        if not sampled or fewest * notes / sampled > size / _STEP:
            return None
        place: tuple[str, int] = trigrams[found.index(fewest)]
        run, at = place
        start = max(0, min(at - (_PIECE - 3) // 2, len(run) - _PIECE))
        return run[start : start + _PIECE]

    # The search index

    def status(self) -> Status:
        """Return whether the index is there and valid."""
        row = self._row(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", _INDEX
        )
        if row is not None and row[0]:
            return Status(State.LIVE, "Searches use an index of trigrams (pg_trgm).")
        if row is not None:
            return Status(State.DAMAGED, "The search index was not built to its end.")
        available = self._row("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'")
        if available is None:
            return Status(State.UNAVAILABLE, "This PostgreSQL has no pg_trgm to install.")
        return Status(State.ABSENT, "There is no search index; workspaces are scanned.")

    def build(self, progress: Progress | None = None) -> None:
        """Make the index anew; reads and writes go on meanwhile, except in a transaction."""
        self.drop()
        # In a savepoint: the caller's own transaction survives a refusal.
        with transaction.atomic(using=self.connection.alias):
            self._run("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        columns = f'ON "{NOTE}" USING gin ("haystack" {self._operators()})'
        if self.connection.in_atomic_block:
            self._run(f'CREATE INDEX "{_INDEX}" {columns}')
        else:
            self._create(f'CREATE INDEX CONCURRENTLY "{_INDEX}" {columns}', progress)

    def drop(self) -> None:
        """Remove the index; the extension stays, as others may use it."""
        concurrently = "" if self.connection.in_atomic_block else "CONCURRENTLY"
        self._run(f'DROP INDEX {concurrently} IF EXISTS "{_INDEX}"')

    def _create(self, sql: str, progress: Progress | None) -> None:
        """Create the index on a connection of its own, and say meanwhile how far it is."""
        with ThreadPoolExecutor(1) as pool:
            created = pool.submit(_run_elsewhere, self.connection.alias, sql)
            while wait([created], timeout=_GLANCE).not_done:
                row = self._row(
                    "SELECT blocks_done, blocks_total FROM pg_stat_progress_create_index"
                    " WHERE relid = to_regclass(%s) AND blocks_total > 0",
                    NOTE,
                )
                if row is not None and progress is not None:
                    progress(*row)
            created.result()

    def _operators(self) -> str:
        """Return the operator class with its schema, which need not be on the search path."""
        (schema,) = self._row(
            "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
            " WHERE e.extname = 'pg_trgm'"
        )
        return f'"{schema}".gin_trgm_ops'


def _run_elsewhere(alias: str, sql: str) -> None:
    # Connections are the thread's own.
    try:
        with connections[alias].cursor() as cursor:
            cursor.execute(sql)
    finally:
        connections[alias].close()


def _runs(folded: str, *, ascii_only: bool) -> list[str]:
    """Return the runs of at least three characters that the index has trigrams of.

    Without one, the index would be read from end to end. Where the database's locale is C,
    `pg_trgm` takes letters of other scripts for blanks.
    """
    kept = "".join(
        c if (c.isalpha() or c.isdecimal()) and (c.isascii() or not ascii_only) else " "
        for c in folded
    )
    return [run for run in kept.split(" ") if len(run) >= 3]


def _spread(places: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return at most 12 of the places, from all over them."""
    count = min(len(places), _SAMPLED)
    return [places[index * len(places) // count] for index in range(count)]
