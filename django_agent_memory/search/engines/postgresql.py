"""PostgreSQL: a GIN index of trigrams (`pg_trgm`) on the haystacks.

The planner uses it by itself, and well, where it can tell how rare a text is: it has a sample of
haystacks. Two things it cannot know are decided here, because each may cost a hundred times the
scan: a text whose trigrams are all common though it is rare as a whole, and a small workspace among
large ones (the index knows nothing of workspaces).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple

from django.db import connections, transaction

from django_agent_memory.exceptions import Busy
from django_agent_memory.models.note import NoteQuerySet

from .base import BEING_BUILT, Comparison, Engine, Progress, Rows, Shown, State, Status, Survey
from .base import NOTE_TABLE as NOTE

_INDEX = "agent_memory_note_trigram"

_LOCK = 7_214_605_393
"""Number of the advisory lock that one who builds or drops holds."""

_LIKE = "{} LIKE {}"


_SMALLEST = 4_096
"""Smaller workspaces are scanned: about six milliseconds."""

_TOO_SHORT_TO_SKIP = 2

_SHORT = 18
"""Up to this length, reading all trigrams of a text costs at most a third of scanning the table."""

_LEAST_SAMPLE, _MOST_SAMPLE = 64, 2_048
"""Notes looked at to find the rarest trigram."""

_SAMPLED = 12
"""Trigrams of the text that are looked for in them."""

_SHARE = 8
"""At most one candidate to eight notes of the workspace is worth the index."""

_PIECE = 8
"""Characters around the rarest trigram that the index is asked for."""

_GLANCE = 0.5
"""Seconds between two looks at the progress of a build."""


_FACTS_SECONDS = 60
"""How long what is known of the table is taken for true: it decides on time only, never on rows."""


class _Facts(NamedTuple):
    """What is known of the table: the notes of all workspaces, None without an index to use.

    In a database of locale C `pg_trgm` takes letters of other scripts for blanks. The sample is the
    planner's: about a hundred haystacks.
    """

    notes: float | None
    is_ascii_only: bool
    sample: list[str]


_KNOWN: dict[tuple[str, str], tuple[float, _Facts]] = {}
"""Facts, and until when they are true, by alias and name of the database."""

_SIZES: dict[tuple[str, str, int], tuple[float, float]] = {}
"""About how many notes each workspace has, and until when, by database and workspace."""

_MOST_SIZES = 10_000

_ASK = (
    "SELECT (SELECT c.reltuples FROM pg_class x JOIN pg_index i ON i.indexrelid = x.oid"
    " JOIN pg_class c ON c.oid = i.indrelid"
    " WHERE x.oid = to_regclass(%s) AND i.indisvalid AND c.reltuples > 0),"
    " (SELECT datctype IN ('C', 'POSIX') FROM pg_database WHERE datname = current_database()),"
    " COALESCE((SELECT histogram_bounds::text::text[] FROM pg_stats WHERE tablename = %s"
    " AND schemaname = current_schema() AND attname = 'haystack'), '{}')"
)


class PostgreSQLEngine(Engine):
    """Lets the planner choose between index and scan, or keeps the index out of its sight."""

    def comparison(self, folded: str) -> tuple[str, str]:
        """Return the condition that the index has no part in: STRPOS, which can skip ahead.

        LIKE is up to twice as fast for one or two characters, and half as fast for more.
        """
        if len(folded) > _TOO_SHORT_TO_SKIP:
            return "STRPOS({}, {}) > 0", folded
        # The index is on the column's own collation, "C"; under another name for the same order it
        # does not apply.
        return '{} COLLATE "POSIX" LIKE {}', _pattern(folded)

    # Searching

    def _narrowed(self, notes: NoteQuerySet, folded: str) -> NoteQuerySet:
        """Return those of `notes` that contain `folded`, which the index may help to find."""
        matching = super()._narrowed(notes, folded)
        runs = _runs(folded, ascii_only=self._facts().is_ascii_only)
        if not runs:
            return matching
        piece = max(runs, key=len)[:_PIECE]
        return matching.filter(Comparison(_LIKE, _pattern(piece)))

    def _facts(self) -> _Facts:
        """Return what is known of the table, asked of the database at most once a minute."""
        database = self._database()
        until, facts = _KNOWN.get(database, (0.0, None))
        if facts is None or until < monotonic():
            facts = _Facts(*self._row(_ASK, _INDEX, NOTE))
            _KNOWN[database] = (monotonic() + _FACTS_SECONDS, facts)
        return facts

    def _database(self) -> tuple[str, str]:
        return self.connection.alias, str(self.connection.settings_dict["NAME"])

    def _first_of(self, survey: Survey, folded: str) -> tuple[int, list[Shown]]:
        piece = self._piece(survey, folded)
        if piece is None:
            return super()._first_of(survey, folded)
        return self._shown(self._live(self._by_index(survey.pk, piece, folded), survey))

    def _by_index(self, workspace: int, piece: str, folded: str) -> Rows:
        sql = f'SELECT "id", "key" FROM "{NOTE}" WHERE "workspace_id" = %s AND "haystack" LIKE %s'
        params = (workspace, _pattern(piece))
        if piece == folded:
            return Rows(sql, params)
        form, value = self.comparison(folded)
        whole = form.format('"haystack"', "%s")
        return Rows(f"{sql} AND {whole}", (*params, value))

    def _piece(self, survey: Survey, folded: str) -> str | None:
        """Return the part of the text to ask the index for; None where it must not be used."""
        if not _runs(folded, ascii_only=False):
            return None
        notes, is_ascii_only, sample = self._facts()
        runs = _runs(folded, ascii_only=is_ascii_only)
        if notes is None or not runs:
            return None
        size = self._size(survey.pk)
        if size < _SMALLEST:
            return None
        if len(folded) <= _SHORT and 2 * size >= notes:
            # What is common is counted faster by a scan.
            found = sum(folded in haystack for haystack in sample)
            return folded if found * _SHARE <= len(sample) else None
        return self._rarest(survey.pk, runs, size, notes)

    def _size(self, workspace: int) -> float:
        """Return about how many notes the workspace has, asked at most once a minute."""
        name = (*self._database(), workspace)
        until, size = _SIZES.get(name, (0.0, 0.0))
        if until < monotonic():
            (plan,) = self._row(
                f'EXPLAIN (FORMAT JSON) SELECT 1 FROM "{NOTE}" WHERE "workspace_id" = %s', workspace
            )
            plan = json.loads(plan) if isinstance(plan, str) else plan
            size = plan[0]["Plan"]["Plan Rows"]
            if len(_SIZES) >= _MOST_SIZES:
                _SIZES.clear()
            _SIZES[name] = (monotonic() + _FACTS_SECONDS, size)
        return size

    def _rarest(self, workspace: int, runs: list[str], size: float, notes: float) -> str | None:
        """Return the part around the rarest trigram, if it is rare enough for the workspace.

        A sample of all notes tells: sixteen times as large as all notes are to the workspace's, so
        that a trigram in one of eight of these would be seen twice. It is read by the page, and a
        workspace's notes may lie together: some of them are looked at besides.
        """
        wanted = min(max(_LEAST_SAMPLE, 16 * notes / size), _MOST_SAMPLE)
        if _SHARE * wanted > size:
            return None
        trigrams = _spread([(run, at) for run in runs for at in range(len(run) - 2)])
        all_found, own_found = self._sampled(workspace, trigrams, min(100 * wanted / notes, 100))
        rare = [
            (found, place)
            for place, found, own in zip(trigrams, all_found, own_found, strict=True)
            if found * notes <= size / _SHARE and own <= 1 / _SHARE
        ]
        return _around(*min(rare)[1]) if rare else None

    def _sampled(
        self, workspace: int, trigrams: list[tuple[str, int]], percent: float
    ) -> tuple[list[float], list[float]]:
        """Return the share of notes that have each trigram: of all notes, of the workspace's."""
        counts = ", ".join(['COUNT(*) FILTER (WHERE "haystack" LIKE %s)'] * len(trigrams))
        patterns = [_pattern(run[at : at + 3]) for run, at in trigrams]
        rows = self._rows(
            f'SELECT 1, COUNT(*), {counts} FROM "{NOTE}" TABLESAMPLE SYSTEM (%s) REPEATABLE (1)'
            f' UNION ALL SELECT 2, COUNT(*), {counts} FROM (SELECT "haystack" FROM "{NOTE}"'
            f' WHERE "workspace_id" = %s ORDER BY "key" LIMIT {_LEAST_SAMPLE}) own ORDER BY 1',
            *(*patterns, percent, *patterns, workspace),
        )
        everywhere, own = ([n / max(size, 1) for n in found] for _, size, *found in rows)
        return everywhere, own

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
        with self._alone():
            self._build(progress)

    def drop(self) -> None:
        """Remove the index; the extension stays, as others may use it."""
        with self._alone():
            self._drop()

    def _build(self, progress: Progress | None) -> None:
        self._drop()
        # In a savepoint: the caller's own transaction survives a refusal.
        with transaction.atomic(using=self.connection.alias):
            self._run("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        columns = f'ON "{NOTE}" USING gin ("haystack" {self._operators()})'
        if self.connection.in_atomic_block:
            self._run(f'CREATE INDEX "{_INDEX}" {columns}')
        else:
            self._create(f'CREATE INDEX CONCURRENTLY "{_INDEX}" {columns}', progress)

    def _drop(self) -> None:
        _KNOWN.clear()
        _SIZES.clear()
        concurrently = "" if self.connection.in_atomic_block else "CONCURRENTLY"
        self._run(f'DROP INDEX {concurrently} IF EXISTS "{_INDEX}"')

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep others from building or dropping meanwhile.

        Not by waiting for them: whoever waits in a statement is waited for by CONCURRENTLY.
        """
        if not self._row("SELECT pg_try_advisory_lock(%s)", _LOCK)[0]:
            raise Busy(BEING_BUILT)
        try:
            yield
        finally:
            self._row("SELECT pg_advisory_unlock(%s)", _LOCK)

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


def _pattern(folded: str) -> str:
    """Return the text as a pattern of LIKE that means just this text, anywhere."""
    escaped = re.sub(r"([%_\\])", r"\\\1", folded)
    return f"%{escaped}%"


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


def _around(run: str, at: int) -> str:
    """Return the part of the run with the trigram in its middle."""
    start = max(0, min(at - (_PIECE - 3) // 2, len(run) - _PIECE))
    return run[start : start + _PIECE]


def _spread(places: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return at most 12 of the places, from all over them."""
    count = min(len(places), _SAMPLED)
    return [places[index * len(places) // count] for index in range(count)]
