"""MariaDB and MySQL: no index finds a text inside another, so what there is to read is kept small.

The notes of a workspace lie scattered among all others, each with its body: reading them costs a
page a note. The search index is a copy of key and haystack in which each workspace lies together,
kept by triggers; the scan reads that instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from django.db import DatabaseError, transaction

from django_agent_memory.exceptions import Busy
from django_agent_memory.models.fields import byte_order_collation
from django_agent_memory.text.rendering import MATCHES_SHOWN

from .base import BEING_BUILT, Engine, Progress, Rows, Shown, State, Status, Survey
from .base import ENTRY_TABLE as ENTRY
from .base import NOTE_TABLE as NOTE

_COPY = "agent_memory_note_haystack"

# Clustered by its primary key. The row of no workspace says that all notes are in.
_COLUMNS = (
    '("workspace_id" bigint NOT NULL, "id" bigint NOT NULL,'
    ' "key" varchar(512) COLLATE {collation} NOT NULL,'
    ' "haystack" longtext COLLATE {collation} NOT NULL, PRIMARY KEY ("workspace_id", "id"))'
    " ENGINE = InnoDB CHARACTER SET utf8mb4"
)
_COMPLETE = (0, 0)

_WRITE = (
    f'INSERT INTO "{_COPY}" VALUES (NEW."workspace_id", NEW."id", NEW."key", NEW."haystack")'
    ' ON DUPLICATE KEY UPDATE "key" = NEW."key", "haystack" = NEW."haystack"'
)
_REMOVE = f'DELETE FROM "{_COPY}" WHERE "workspace_id" = OLD."workspace_id" AND "id" = OLD."id"'
_TRIGGERS = {
    f"{_COPY}_insert": f'AFTER INSERT ON "{NOTE}" FOR EACH ROW {_WRITE}',
    f"{_COPY}_delete": f'AFTER DELETE ON "{NOTE}" FOR EACH ROW {_REMOVE}',
    f"{_COPY}_update": (
        f'AFTER UPDATE ON "{NOTE}" FOR EACH ROW BEGIN'
        ' IF (OLD."workspace_id", OLD."id") <> (NEW."workspace_id", NEW."id")'
        f" THEN {_REMOVE}; END IF; {_WRITE}; END"
    ),
}

_BATCH = 5_000


class MySQLEngine(Engine):
    """Scans the copy where there is one, else the notes."""

    # Comparing bytes is up to 2.5 times as fast, and UTF-8 never matches inside a character.
    contains: ClassVar[str] = "INSTR(CAST({} AS BINARY), CAST({} AS BINARY)) > 0"

    # Searching

    def _first_of(self, survey: Survey, folded: str) -> tuple[int, list[Shown]]:
        # What every note has is counted in the index on workspace and key.
        if folded and self._is_live():
            try:
                copied = self._scan(survey.pk, folded, table=_COPY)
                return self._shown(self._live(copied, survey))
            except DatabaseError:
                # Dropped between two statements; the scan needs none of it.
                pass
        return super()._first_of(survey, folded)

    def _shown(self, rows: Rows) -> tuple[int, list[Shown]]:
        """Return the total and the first 8 of the rows, of one state of the tables.

        A window function writes every match to a temporary table, at twice the cost of the scan, so
        two statements in a snapshot serve instead. Inside a transaction of the caller's, which may
        see another state with each statement, it has to be the window.
        """
        if self.connection.in_atomic_block or not self.connection.get_autocommit():
            return self._shown_at_once(rows)
        self._run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        with transaction.atomic(using=self.connection.alias):
            return self._shown_in_turn(rows)

    def _shown_at_once(self, rows: Rows) -> tuple[int, list[Shown]]:
        found = self._rows(
            'SELECT f."total", f."key", n."body", e."summary" FROM'
            f' (SELECT "id", "key", COUNT(*) OVER () AS "total" FROM ({rows.sql}) m'
            f' ORDER BY "key" LIMIT {MATCHES_SHOWN}) f JOIN "{NOTE}" n ON n."id" = f."id"'
            f' LEFT JOIN "{ENTRY}" e ON e."workspace_id" = n."workspace_id" AND e."key" = n."key"'
            ' ORDER BY f."key"',
            *rows.params,
        )
        return (found[0][0] if found else 0), [row[1:] for row in found]

    def _shown_in_turn(self, rows: Rows) -> tuple[int, list[Shown]]:
        counting = rows.sql.replace("SELECT", "SELECT SQL_CALC_FOUND_ROWS", 1)
        first = self._rows(f'{counting} ORDER BY "key" LIMIT {MATCHES_SHOWN}', *rows.params)
        if not first:
            return 0, []
        marks = ", ".join(["%s"] * len(first))
        found = self._rows(
            f'SELECT FOUND_ROWS(), n."key", n."body", e."summary" FROM "{NOTE}" n'
            f' LEFT JOIN "{ENTRY}" e ON e."workspace_id" = n."workspace_id" AND e."key" = n."key"'
            f' WHERE n."id" IN ({marks}) ORDER BY n."key"',
            *(pk for pk, _key in first),
        )
        return (found[0][0] if found else 0), [row[1:] for row in found]

    # The search index

    def status(self) -> Status:
        """Return whether copy and triggers are there, and the copy has as many notes as there are.

        TRUNCATE fires no triggers, and `manage.py flush` truncates.
        """
        parts = self._parts()
        if not parts:
            return Status(State.ABSENT, "There is no search index; the notes are scanned.")
        if parts < len(_TRIGGERS) + 1 or not self._is_live():
            return Status(State.DAMAGED, "The search index was not built to its end.")
        if not self._holds_all_notes():
            return Status(State.DAMAGED, "The search index holds other notes than there are.")
        return Status(State.LIVE, "Searches scan a copy of the notes that is made for it.")

    def build(self, progress: Progress | None = None) -> None:
        """Make copy and triggers anew, in short writes; other writers go on meanwhile."""
        with self._alone():
            self._drop()
            try:
                self._build(progress)
            except DatabaseError:
                self._drop()
                raise

    def drop(self) -> None:
        """Remove copy and triggers."""
        with self._alone():
            self._drop()

    def _build(self, progress: Progress | None) -> None:
        columns = _COLUMNS.format(collation=byte_order_collation(self.connection))
        self._run(f'CREATE TABLE "{_COPY}" {columns}')
        for name, body in _TRIGGERS.items():
            self._run(f'CREATE TRIGGER "{name}" {body}')
        self._fill(progress)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep others from building or dropping: triggers must never be without a copy."""
        lock = f"{_COPY}.{self.connection.settings_dict['NAME']}"[-64:]
        if not self._row("SELECT GET_LOCK(%s, 0)", lock)[0]:
            raise Busy(BEING_BUILT)
        try:
            yield
        finally:
            self._row("SELECT RELEASE_LOCK(%s)", lock)

    def _drop(self) -> None:
        for name in _TRIGGERS:
            self._run(f'DROP TRIGGER IF EXISTS "{name}"')
        self._run(f'DROP TABLE IF EXISTS "{_COPY}"')

    def _parts(self) -> int:
        """Return how many there are of the copy and its triggers."""
        (parts,) = self._row(
            "SELECT (SELECT COUNT(*) FROM information_schema.triggers"
            " WHERE trigger_schema = DATABASE() AND trigger_name IN (%s, %s, %s)) +"
            " (SELECT COUNT(*) FROM information_schema.tables"
            " WHERE table_schema = DATABASE() AND table_name = %s)",
            *_TRIGGERS,
            _COPY,
        )
        return int(parts)

    def _holds_all_notes(self) -> bool:
        """Whether copy and notes are equally many and end alike: one statement, one state."""
        extent = 'SELECT COUNT(*) AS "n", COALESCE(MAX("id"), 0) AS "last" FROM "{}" WHERE "id" > 0'
        (same,) = self._row(
            f'SELECT c."n" = n."n" AND c."last" = n."last" FROM ({extent.format(_COPY)}) c,'
            f" ({extent.format(NOTE)}) n"
        )
        return bool(same)

    def _fill(self, progress: Progress | None) -> None:
        for ids in self._id_ranges(_BATCH, progress):
            # What a trigger wrote meanwhile is newer; what is being deleted is waited for.
            self._run(
                f'INSERT IGNORE INTO "{_COPY}" SELECT "workspace_id", "id", "key", "haystack"'
                f' FROM "{NOTE}" WHERE "id" > %s AND "id" <= %s LOCK IN SHARE MODE',
                *ids,
            )
        self._run(f"INSERT INTO \"{_COPY}\" VALUES (%s, %s, '', '')", *_COMPLETE)

    def _is_live(self) -> bool:
        try:
            (live,) = self._row(
                "SELECT (SELECT COUNT(*) FROM information_schema.triggers"
                " WHERE event_object_schema = DATABASE() AND event_object_table = %s"
                " AND trigger_name IN (%s, %s, %s)) = 3 AND EXISTS"
                f' (SELECT 1 FROM "{_COPY}" WHERE "workspace_id" = %s AND "id" = %s)',
                NOTE,
                *_TRIGGERS,
                *_COMPLETE,
            )
        except DatabaseError:
            return False
        return bool(live)

    def _sql(self, sql: str) -> str:
        return sql.replace('"', "`")
