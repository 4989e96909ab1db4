"""Rows read by SQL of this project, with the values that the ORM gives them.

For what every query reads: the ORM would take longer to write the statement than the database to
answer it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db import connections
from django.db.models import Field, Model

from django_agent_memory.models import IndexEntry, Note, Workspace

_BATCH = 500
# What all drivers return as the ORM does; to ask for converters takes longer than to read a row.
_AS_IT_IS = frozenset(
    {"BigAutoField", "CharField", "PositiveBigIntegerField", "PositiveIntegerField", "TextField"}
)
_NAMES = {Note: "n", IndexEntry: "e", Workspace: "w"}

Fields = tuple["Field[Any, Any]", ...]


def columns_of(model: type[Model], *names: str) -> Fields:
    """Return these concrete fields of the model, which name columns of its own."""
    fields = {field.name: field for field in model._meta.concrete_fields}
    return tuple(fields[name] for name in names)


def read(sql: str, parameters: Sequence[Any], fields: Fields, using: str) -> list[tuple[Any, ...]]:
    """Return the rows of a statement that selects the columns of `fields`, in their order."""
    connection = connections[using]
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        rows = cursor.fetchall()
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
    for place, field in enumerate(fields if rows else ()):
        if field.get_internal_type() in _AS_IT_IS:
            continue
        column = field.cached_col
        for convert in (
            *connection.ops.get_db_converters(column),
            *column.get_db_converters(connection),
        ):
            columns[place] = [convert(value, column, connection) for value in columns[place]]
    return list(zip(*columns, strict=True))


@cache
def selection(fields: Fields, using: str) -> str:
    """Return the SELECT of these columns of notes, up to its conditions, for `read`.

    A field belongs to the note, which is called n, to its index entry e or to its workspace w.
    """
    quote = connections[using].ops.quote_name
    note, entry, workspace = (quote(model._meta.db_table) for model in _NAMES)
    sql = f"SELECT {column_list(fields, using)} FROM {note} n"
    models = {field.model for field in fields}
    if Workspace in models:
        sql += f" JOIN {workspace} w ON w.id = n.workspace_id"
    if IndexEntry in models:
        key = quote("key")
        sql += f" LEFT JOIN {entry} e ON e.workspace_id = n.workspace_id AND e.{key} = n.{key}"
    return sql


def column_list(fields: Fields, using: str) -> str:
    """Return the columns of `fields` for a SELECT in which the tables are called n, e and w."""
    quote = connections[using].ops.quote_name
    return ", ".join(f"{_NAMES[field.model]}.{quote(field.attname)}" for field in fields)


def read_notes(pks: Sequence[int], fields: Fields, using: str) -> list[tuple[Any, ...]]:
    """Return these columns of the notes, in any order; those of an index entry are None without.

    A field belongs to one of the tables of `selection`.
    """
    select = selection(fields, using)
    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(pks), _BATCH):
        numbers = ",".join(map(str, pks[start : start + _BATCH]))
        rows += read(f"{select} WHERE n.id IN ({numbers})", (), fields, using)
    return rows


def workspace_at(path: str, using: str) -> int | None:
    """Return the primary key of the workspace at `path`, None without one."""
    quote = connections[using].ops.quote_name
    sql = f"SELECT id FROM {quote(Workspace._meta.db_table)} WHERE path = %s"
    rows = read(sql, [path], columns_of(Workspace, "id"), using)
    return rows[0][0] if rows else None
