"""SQLite: an FTS5 table of trigrams beside the notes, kept by triggers.

It names the notes that hold some of the pattern's trigrams; each of them is then looked at whole.
The table holds no text of its own (external content) and no positions (`detail=none`), and is as
large as the haystacks. Triggers keep it through every write, raw SQL too. Where trigrams do not
help, an index of the workspace alone leads the scan through its notes in the order they lie on the
disk, twice as fast as in that of their keys.

All but the table goes when a migration remakes the notes' table: `upkeep` brings it back, and until
then workspaces are scanned.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.db import DatabaseError, transaction

from django_agent_memory.models.note import NoteQuerySet

from .base import NOTE_TABLE as NOTE
from .base import Engine, Progress, Rows, Shown, State, Status, Survey

_Found = TypeVar("_Found")

_FTS = "agent_memory_note_trigram"
_TRIGGERS = {
    f"{_FTS}_insert": (
        f'AFTER INSERT ON "{NOTE}" BEGIN'
        f' INSERT INTO "{_FTS}" (rowid, haystack) VALUES (new.id, new.haystack); END'
    ),
    f"{_FTS}_delete": (
        f'AFTER DELETE ON "{NOTE}" BEGIN'
        f' INSERT INTO "{_FTS}" ("{_FTS}", rowid, haystack)'
        f" VALUES ('delete', old.id, old.haystack); END"
    ),
    f"{_FTS}_update": (
        f'AFTER UPDATE OF "id", "haystack" ON "{NOTE}"'
        " WHEN old.id IS NOT new.id OR old.haystack IS NOT new.haystack BEGIN"
        f' INSERT INTO "{_FTS}" ("{_FTS}", rowid, haystack)'
        " VALUES ('delete', old.id, old.haystack);"
        f' INSERT INTO "{_FTS}" (rowid, haystack) VALUES (new.id, new.haystack); END'
    ),
}

_SCAN = "agent_memory_note_scan"
_PARTS = (_FTS, *_TRIGGERS, _SCAN)

_PROBED = 8
"""Trigrams of the text that are looked up to find rare ones."""

_ASKED = 4
"""Of these, the rarest: each further one takes longer to read than it saves."""

_SHARE = 8
"""A note found by its trigrams costs up to four times one that the scan passes: the index is used
if some trigram is in at most one note to eight of the workspace's."""

_SMALLEST = 512
"""Smaller workspaces are scanned: half a millisecond. Larger ones are told apart by ..."""

_STEP = 4
"""... powers of this, so that neither notes nor trigrams are counted further than they must be: all
of it costs a tenth of the scan at most."""

_LISTED = 1_000
"""Most notes that a list names one by one."""

_BATCH = 10_000


class SQLiteEngine(Engine):
    """Searches by trigrams where these are rare enough, else by the scan."""

    # Searching

    def _narrowed(self, notes: NoteQuerySet, folded: str) -> NoteQuerySet:
        """Return those of `notes` that contain `folded`; of few candidates, by their ids."""
        matching = super()._narrowed(notes, folded)
        candidates = self._try(self._candidates, folded)
        return matching if candidates is None else matching.filter(pk__in=candidates)

    def _first_of(self, survey: Survey, folded: str) -> tuple[int, list[Shown]]:
        found = self._try(self._by_index, folded, survey)
        return super()._first_of(survey, folded) if found is None else found

    def _try(self, read: Callable[..., _Found | None], folded: str, *args: Survey) -> _Found | None:
        """Return what `read` finds in a live index with the trigrams of the text; None without."""
        trigrams = _trigrams(folded)
        try:
            return read(folded, trigrams, *args) if trigrams and self._is_live() else None
        except DatabaseError:
            # Dropped between two statements, or damaged. The scan needs none of it, and says what
            # is wrong if it is the database.
            return None

    def _candidates(self, _folded: str, trigrams: list[str]) -> list[int] | None:
        counts = self._row(_counting(trigrams), *_limited(trigrams, _LISTED + 1))
        rarest = _rarest(trigrams, counts, _LISTED)
        return [pk for (pk,) in self._rows(_CANDIDATES, _query(rarest))] if rarest else None

    def _by_index(
        self, folded: str, trigrams: list[str], survey: Survey
    ) -> tuple[int, list[Shown]] | None:
        rarest = self._rare(survey.pk, trigrams)
        if not rarest:
            return None
        return self._shown(self._live(self._of_trigrams(survey.pk, rarest, folded), survey))

    def _rare(self, workspace: int, trigrams: list[str]) -> list[str]:
        """Return the trigrams to ask for; none if all are too common for the workspace's size."""
        sql = (
            f"{_counting(trigrams)} WHERE EXISTS"
            f' (SELECT 1 FROM "{NOTE}" WHERE "workspace_id" = %s LIMIT 1 OFFSET %s)'
        )
        size = _SMALLEST
        while True:
            few = size // _SHARE
            counts = self._row(sql, *_limited(trigrams, few + 1), workspace, size - 1)
            rarest = _rarest(trigrams, counts, few) if counts else []
            if not counts or rarest:
                return rarest
            size *= _STEP

    def _of_trigrams(self, workspace: int, trigrams: list[str], folded: str) -> Rows:
        # CROSS JOIN keeps the order as written: the planner would read the trigrams once a note.
        contains = self.contains.format('n."haystack"', "%s")
        return Rows(
            f'SELECT n."id", n."key" FROM "{_FTS}" t CROSS JOIN "{NOTE}" n ON n."id" = t.rowid'
            f' WHERE "{_FTS}" MATCH %s AND n."workspace_id" = %s AND {contains}',
            (_query(trigrams), workspace, folded),
        )

    # The search index

    def status(self) -> Status:
        """Return whether table and triggers are there; all or none of them should be."""
        parts = self._parts()
        if len(parts) == len(_PARTS) and not self._holds_last_note():
            return Status(State.DAMAGED, "The search index holds other notes than there are.")
        if len(parts) == len(_PARTS):
            return Status(State.LIVE, "Searches use a table of trigrams (FTS5), kept by triggers.")
        if parts:
            missing = ", ".join(sorted(set(_PARTS) - parts))
            return Status(State.DAMAGED, f"Of the search index this is missing: {missing}.")
        if not self._can_build():
            return Status(State.UNAVAILABLE, "This SQLite has no FTS5 with trigrams.")
        return Status(State.ABSENT, "There is no search index; workspaces are scanned.")

    def build(self, progress: Progress | None = None) -> None:
        """Make table, triggers and index anew in one transaction; writers wait for its end."""
        with transaction.atomic(using=self.connection.alias):
            self._drop()
            self._run(
                f"CREATE VIRTUAL TABLE \"{_FTS}\" USING fts5(haystack, content='{NOTE}',"
                " content_rowid='id', tokenize='trigram case_sensitive 1',"
                " detail='none', columnsize=0)"
            )
            for name, body in _TRIGGERS.items():
                self._run(f'CREATE TRIGGER "{name}" {body}')
            self._run(f'CREATE INDEX "{_SCAN}" ON "{NOTE}" ("workspace_id")')
            self._fill(progress)

    def drop(self) -> None:
        """Remove table, triggers and index."""
        with transaction.atomic(using=self.connection.alias):
            self._drop()

    def compact(self) -> None:
        """Let go of what the table remembers of notes that are gone, in many short writes."""
        # FTS5 marks what is deleted and drops it when it merges; a negative number merges all.
        pages = -_BATCH // 10
        while self._is_live():
            before = self.connection.connection.total_changes
            self._run(f'INSERT INTO "{_FTS}" ("{_FTS}", rank) VALUES (\'merge\', {pages})')
            if self.connection.connection.total_changes - before < 2:
                return
            pages = abs(pages)

    def _fill(self, progress: Progress | None) -> None:
        for ids in self._id_ranges(_BATCH, progress):
            self._run(
                f'INSERT INTO "{_FTS}" (rowid, haystack)'
                f' SELECT "id", "haystack" FROM "{NOTE}" WHERE "id" > %s AND "id" <= %s',
                *ids,
            )

    def _drop(self) -> None:
        for name in _TRIGGERS:
            self._run(f'DROP TRIGGER IF EXISTS "{name}"')
        self._run(f'DROP INDEX IF EXISTS "{_SCAN}"')
        self._run(f'DROP TABLE IF EXISTS "{_FTS}"')

    def _holds_last_note(self) -> bool:
        """Whether the table names the note that was stored last; one that was emptied does not."""
        row = self._row(
            f'SELECT "id", substr("haystack", 1, 3) FROM "{NOTE}" WHERE length("haystack") >= 3'
            ' ORDER BY "id" DESC LIMIT 1'
        )
        if row is None:
            return True
        try:
            found = self._row(f"{_CANDIDATES} AND rowid = %s", _query([row[1]]), row[0])
        except DatabaseError:
            return False
        return found is not None

    def _is_live(self) -> bool:
        return len(self._parts()) == len(_PARTS)

    def _parts(self) -> set[str]:
        marks = ", ".join(["%s"] * len(_PARTS))
        rows = self._rows(f"SELECT name FROM sqlite_master WHERE name IN ({marks})", *_PARTS)
        return {name for (name,) in rows}

    def _can_build(self) -> bool:
        has_fts5 = self._row("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'") is not None
        return has_fts5 and sqlite3.sqlite_version_info >= (3, 34)


_CANDIDATES = f'SELECT rowid FROM "{_FTS}" WHERE "{_FTS}" MATCH %s'


def _trigrams(folded: str) -> list[str]:
    """Return up to 8 different trigrams of the text, from all over it."""
    starts = max(len(folded) - 2, 0)
    count = min(starts, _PROBED)
    chosen = (folded[at : at + 3] for at in (n * starts // count for n in range(count)))
    return list(dict.fromkeys(chosen))


def _query(trigrams: list[str]) -> str:
    """Return the FTS5 query for notes that have all the trigrams.

    Any characters may be in them: what the tokenizer makes of one, it made of it in the notes.
    """
    quoted = (trigram.replace('"', '""') for trigram in trigrams)
    return " ".join(f'"{trigram}"' for trigram in quoted)


def _counting(trigrams: list[str]) -> str:
    """Return a query for how many notes have each of the trigrams, counted up to a limit."""
    count = f"(SELECT COUNT(*) FROM ({_CANDIDATES} LIMIT %s))"
    return f"SELECT {', '.join([count] * len(trigrams))}"


def _limited(trigrams: list[str], limit: int) -> list[Any]:
    return [param for trigram in trigrams for param in (_query([trigram]), limit)]


def _rarest(trigrams: list[str], counts: Sequence[int], few: int) -> list[str]:
    """Return the 4 rarest trigrams if the rarest is in at most `few` notes, else none."""
    ordered = sorted(zip(counts, trigrams, strict=True))
    return [trigram for _, trigram in ordered[:_ASKED]] if ordered[0][0] <= few else []
