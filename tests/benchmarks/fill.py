"""A quick way to fill the tables: rows straight through the driver, without revisions."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from django.db import connection, models, transaction

from django_agent_memory.models import IndexEntry, Note, Workspace
from django_agent_memory.text.folding import haystack

from .planted import planted

_BATCH = 5_000
_SEED = 20_261_130
_TABLES = (Note, IndexEntry, Workspace)


def fill(sizes: Mapping[str, int]) -> float:
    """Store that many notes under each path, rows of all of them interleaved; return rows a second.

    The notes of a workspace lie as far apart in the table as they can, the worst case for reads.
    """
    started, done, total = time.perf_counter(), 0, sum(sizes.values())
    workspaces = {
        path: Workspace.objects.create(path=path, revision=count) for path, count in sizes.items()
    }
    to_note, to_entry = _Rows(Note), _Rows(IndexEntry)
    notes = _interleaved(sizes)
    while batch := list(islice(notes, _BATCH)):
        note_rows, entry_rows = [], []
        for path, number in batch:
            key, summary, body = planted(number, sizes[path])
            there = {"workspace_id": workspaces[path].pk, "key": key}
            hay, position = haystack(key, summary, body), number + 1
            note_rows.append(
                to_note.row(**there, body=body, haystack=hay, revision=position, position=position)
            )
            entry_rows.append(to_entry.row(**there, summary=summary))
        with transaction.atomic(), connection.cursor() as cursor:
            to_note.insert(cursor, note_rows)
            to_entry.insert(cursor, entry_rows)
        done += len(batch)
        if done % 100_000 < _BATCH:
            report(f"{done} of {total} notes, {done / (time.perf_counter() - started):.0f}/s")
    return done / (time.perf_counter() - started)


def analyze() -> None:
    """Let the database look at what it holds, as its own maintenance would."""
    names = [model._meta.db_table for model in _TABLES]
    with connection.cursor() as cursor:
        if connection.vendor == "mysql":
            cursor.execute(f"ANALYZE TABLE {', '.join(names)}")
            cursor.fetchall()
        elif connection.vendor == "postgresql":
            cursor.execute("VACUUM ANALYZE")
        else:
            cursor.execute("ANALYZE")


def warm() -> None:
    """Read every note once, so that what the first search finds is as cached as the others'."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(length(haystack)) FROM agent_memory_note")
        cursor.fetchall()


def report(line: str) -> None:
    """Say on stderr how far a long run is."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {connection.vendor}: {line}\n")
    sys.stderr.flush()


class _Rows:
    """Rows of a model: what is not said of one is the default of its field."""

    def __init__(self, model: type[models.Model]) -> None:
        fields = [f for f in model._meta.concrete_fields if not f.primary_key]
        self._columns = ", ".join(connection.ops.quote_name(field.column) for field in fields)
        self._table = model._meta.db_table
        self._places = {field.attname: place for place, field in enumerate(fields)}
        self._template = [field.get_db_prep_save(_default(field), connection) for field in fields]

    def row(self, **values: Any) -> list[Any]:
        row = self._template.copy()
        for name, value in values.items():
            row[self._places[name]] = value
        return row

    def insert(self, cursor: Any, rows: Iterable[list[Any]]) -> None:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {self._table} ({self._columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            markers = ", ".join(["%s"] * len(self._template))
            cursor.executemany(
                f"INSERT INTO {self._table} ({self._columns}) VALUES ({markers})", rows
            )


def _default(field: models.Field[Any, Any]) -> Any:
    # Of a field without a default it is never used: every row says what is there.
    has_default = field.has_default() or field.null or field.blank
    return field.get_default() if has_default else field.to_python("1")


def _interleaved(sizes: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield a path and the number of its next note, paths in random order."""
    order = [path for path, count in sizes.items() for _ in range(count)]
    random.Random(_SEED).shuffle(order)
    following = dict.fromkeys(sizes, 0)
    for path in order:
        yield path, following[path]
        following[path] += 1
