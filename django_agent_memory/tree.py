"""`Tree`: a workspace and all below it, read as one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from django.db import connections
from django.db.models import Exists, OuterRef, Q

from . import usage
from .calling import Calling
from .memory import Memory
from .models import Note, Workspace
from .models.note import NoteQuerySet, at_or_below, live_in_sql
from .reading import RECALLED, RECALLED_FIELDS, recalled
from .results import Recalled
from .rows import columns_of, read, selection

_PLACES_A_STATEMENT = 500
_NOTES_A_STATEMENT = 500
_ORDER = ("workspace_id", "position", "pk")
_COLUMNS = (*_ORDER, "workspace__path", *RECALLED)

_PLACED = (*columns_of(Workspace, "path"), *RECALLED_FIELDS)

Place = tuple[str, str]
"""The path of a workspace and the key of a note there."""

Placed = tuple[str, Recalled]
"""The path of a workspace and a note there."""


class Tree(Calling):
    """The workspace and all below it, called on as `Memory` is; every path is whole.

    `acme` is above `acme/x` and not above `acme-corp`. Reads are as total as those of `Memory`, and
    show what these show. Calls are not recorded.
    """

    def memory(self, path: str) -> Memory:
        """Return the memory at that path, called on as this tree is."""
        return Memory(
            path,
            actor=self.actor,
            using=self.using,
            read_only=self.read_only,
            session=self.session or None,
        )

    def recall(self, places: Iterable[Place]) -> dict[Place, Recalled]:
        """Return the notes in these places, where there are any: a statement for each 500."""
        wanted = set(places)
        in_order = sorted(wanted)
        found = {}
        for first in range(0, len(in_order), _PLACES_A_STATEMENT):
            for path, *row in self._rows(in_order[first : first + _PLACES_A_STATEMENT]):
                if (path, row[0]) in wanted:
                    found[path, row[0]] = recalled(row)
        self._count(found)
        return found

    def notes(self, path: str, *, limit: int, offset: int) -> list[Placed]:
        """Return notes at and below `path` in the order they were first stored, in one statement.

        Of several workspaces the one that was made first comes first.
        """
        return list(_read(self._within(path)[offset : offset + limit]))

    def all_notes(self, path: str) -> Iterator[Placed]:
        """Yield all of them in the same order, a statement for each 500."""
        after = Q()
        while True:
            rows = list(
                self._within(path).filter(after).values_list(*_COLUMNS)[:_NOTES_A_STATEMENT]
            )
            yield from map(_placed, rows)
            if len(rows) < _NOTES_A_STATEMENT:
                return
            workspace, position, pk = rows[-1][: len(_ORDER)]
            later = Q(position__gt=position) | Q(position=position, pk__gt=pk)
            after = Q(workspace__gt=workspace) | (Q(workspace=workspace) & later)

    def paths(self, path: str) -> list[str]:
        """Return the paths at and below `path` that hold notes, in the order they were made."""
        notes = Note.objects.filter(workspace=OuterRef("pk")).live(session=self.session)
        workspaces = Workspace.objects.using(self._reads_from()).filter(
            at_or_below(path, "path"), Exists(notes)
        )
        return list(workspaces.order_by("pk").values_list("path", flat=True))

    def _rows(self, places: list[Place]) -> list[tuple[Any, ...]]:
        """Read the notes in these places, and those under the keys of one in the path of another.

        By SQL of our own, and with `IN`: SQLite takes no thousand conditions side by side.
        """
        using = self._reads_from()
        paths, keys = ({place[part] for place in places} for part in (0, 1))
        live, parameters = live_in_sql(self.session, using=using)
        sql = (
            f"{selection(_PLACED, using)} WHERE w.path IN ({_marks(paths)})"
            f" AND n.{connections[using].ops.quote_name('key')} IN ({_marks(keys)}) AND {live}"
        )
        return read(sql, [*paths, *keys, *parameters], _PLACED, using)

    def _live(self) -> NoteQuerySet:
        return Note.objects.using(self._reads_from()).live(session=self.session)

    def _within(self, path: str) -> NoteQuerySet:
        return self._live().filter(at_or_below(path, "workspace__path")).order_by(*_ORDER)

    def _count(self, places: Iterable[Place]) -> None:
        """Note that the notes there were recalled."""
        alias = None if self.read_only else self._counts_in()
        if alias is not None:
            for path, key in places:
                usage.recalled(path, key, using=alias)


def _read(notes: NoteQuerySet) -> Iterator[Placed]:
    return map(_placed, notes.values_list(*_COLUMNS))


def _placed(row: Any) -> Placed:
    path, *columns = row[len(_ORDER) :]
    return path, recalled(columns)


def _marks(values: Collection[str]) -> str:
    return ", ".join(["%s"] * len(values))
