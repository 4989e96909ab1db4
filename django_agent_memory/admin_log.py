"""Django's own log of the admin, which names a note by its key: what is erased goes from there too.

Apart from the admin's pages: it is at work wherever an erase may be, with the pages or without.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import connections, router
from django.db.models import Model, QuerySet

from .models import Note, Workspace
from .writing.locking import run_serialised

ERASED = "(erased)"

_LONGEST = 200  # code points of a name that the log keeps
_BATCH = 500


def after_erase(*, workspace: str, keys: Collection[str], whole: bool, **_: Any) -> None:
    """Receive `erased`: blank what the log says of these notes, and messages of a whole workspace.

    Who did something when stays. A note that is still there keeps its lines: it is another one of
    the same name. For one that is gone the log does not tell the workspace, so that lines about the
    same key of another workspace may be blanked with it.
    """
    alias = router.db_for_write(LogEntry)
    for gone in _about_notes(keys, Note.objects.all(), alias):
        _blank(gone, alias, object_repr=ERASED, change_message="")
    told = _about_workspace(workspace, alias) if whole else []
    for start in range(0, len(told), _BATCH):
        # What was forgotten there, and why; the name of the workspace stays, as the workspace does.
        _blank(told[start : start + _BATCH], alias, change_message="")


def lines_about(*, workspace: str, keys: Collection[str], whole: bool) -> int:
    """Return how many lines `after_erase` blanks, once these notes are gone.

    Three statements, and one for each 500 lines that name such a note.
    """
    alias = router.db_for_write(LogEntry)
    erased = {"workspace__path": workspace, **({} if whole else {"key__in": keys})}
    staying = Note.objects.exclude(**erased)
    told = _about_workspace(workspace, alias) if whole else []
    return len(told) + sum(map(len, _about_notes(keys, staying, alias)))


def _about_notes(keys: Collection[str], notes: QuerySet[Note], alias: str) -> Iterator[list[int]]:
    """Yield, in batches, the lines about notes of these keys that are not among the `notes`."""
    named = _naming({key[:_LONGEST] for key in keys}, Note, alias)
    for start in range(0, len(named), _BATCH):
        yield _gone(named[start : start + _BATCH], notes)


def _about_workspace(path: str, alias: str) -> list[int]:
    return [pk for pk, _ in _naming({path[:_LONGEST]}, Workspace, alias)]


def _naming(names: set[str], model: type[Model], alias: str) -> list[tuple[int, str]]:
    """Return primary key and object of each line about a row of the model with such a name."""
    if LogEntry._meta.db_table not in connections[alias].introspection.table_names():
        return []
    kind = ContentType.objects.get_for_model(model)
    lines = LogEntry.objects.using(alias).filter(content_type_id=kind.pk).order_by()
    if len(names) <= _BATCH:
        lines = lines.filter(object_repr__in=names)
    # Compared here: columns of some databases do not tell case or accents apart.
    return [(pk, row or "") for pk, row, name in _rows(lines) if name in names]


def _rows(lines: QuerySet[LogEntry]) -> Iterator[tuple[int, str | None, str]]:
    rows: Iterator[tuple[int, str | None, str]] = lines.values_list(
        "pk", "object_id", "object_repr"
    ).iterator(chunk_size=2_000)
    return rows


def _gone(lines: list[tuple[int, str]], notes: QuerySet[Note]) -> list[int]:
    """Return the lines whose note is not among the notes."""
    numbers = {int(row) for _, row in lines if row.isascii() and row.isdigit()}
    found = notes.using(router.db_for_write(Note)).filter(pk__in=numbers)
    there = {str(pk) for pk in found.values_list("pk", flat=True)}
    return [pk for pk, row in lines if row not in there]


def _blank(pks: list[int], alias: str, **said: str) -> None:
    run_serialised(alias, lambda: LogEntry.objects.using(alias).filter(pk__in=pks).update(**said))
