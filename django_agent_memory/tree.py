"""`Tree`: a workspace and all below it, read as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from django.db.models import Exists, OuterRef, Q

from . import usage
from .calling import Calling
from .memory import Memory
from .models import Note, Workspace
from .models.note import NoteQuerySet, after_all_with
from .reading import RECALLED, recalled
from .results import Recalled

_PLACES_A_STATEMENT = 500
_NOTES_A_STATEMENT = 500
_ORDER = ("workspace_id", "position", "pk")
_COLUMNS = (*_ORDER, "workspace__path", *RECALLED)

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
            some = in_order[first : first + _PLACES_A_STATEMENT]
            for path, note in _read(self._live().filter(_at(some))):
                if (path, note.key) in wanted:
                    found[path, note.key] = note
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
            _at_or_below(path, "path"), Exists(notes)
        )
        return list(workspaces.order_by("pk").values_list("path", flat=True))

    def _live(self) -> NoteQuerySet:
        return Note.objects.using(self._reads_from()).live(session=self.session)

    def _within(self, path: str) -> NoteQuerySet:
        return self._live().filter(_at_or_below(path, "workspace__path")).order_by(*_ORDER)

    def _count(self, places: Iterable[Place]) -> None:
        """Note that the notes there were recalled."""
        alias = None if self.read_only else self._counts_in()
        if alias is not None:
            for path, key in places:
                usage.recalled(path, key, using=alias)


def _at(places: list[Place]) -> Q:
    """Return the condition that a note may be in one of the places, which are sorted.

    With many workspaces it is wider than that: SQLite takes no thousand conditions side by side.
    """
    by_path = {
        path: [key for _, key in group] for path, group in groupby(places, lambda place: place[0])
    }
    if len(by_path) == 1:
        ((path, keys),) = by_path.items()
        return Q(workspace__path=path, key__in=keys)
    return Q(workspace__path__in=list(by_path), key__in=sorted({key for _, key in places}))


def _at_or_below(path: str, name: str) -> Q:
    """Return the condition that the column holds the path, or one below it: whole segments."""
    below = f"{path}/"
    return Q(**{name: path}) | Q(**{f"{name}__gt": below, f"{name}__lt": after_all_with(below)})


def _read(notes: NoteQuerySet) -> Iterator[Placed]:
    return map(_placed, notes.values_list(*_COLUMNS))


def _placed(row: Any) -> Placed:
    path, *columns = row[len(_ORDER) :]
    return path, recalled(columns)
