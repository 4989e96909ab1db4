"""INSERT and UPDATE of rows, written out: the ORM takes longer to compose them than they take.

What is passed is as sound as rows are: no defaults are filled in and no signals sent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any

from django.db import connections, models
from django.db.models.constants import OnConflict

from django_agent_memory.rows import columns_of

_ROWS_A_STATEMENT = 5_000
# Drivers take these as they are, for every column that can hold them.
_PLAIN = frozenset({str, int, bool, float, type(None)})

_Fields = Sequence["models.Field[Any, Any]"]


def insert(model: type[models.Model], rows: Iterable[models.Model], *, using: str) -> None:
    """Insert the rows; their automatic keys stay unknown."""
    insert_values(model, _values(_inserted(model), rows, using), using=using)


def upsert(
    model: type[models.Model],
    rows: Iterable[models.Model],
    *,
    identity: tuple[str, ...],
    overwrite: tuple[str, ...],
    using: str,
) -> None:
    """Insert the rows; of those whose `identity` is there already, set the `overwrite` fields."""
    ending = _overwriting(model, identity, overwrite, using)
    insert_values(model, _values(_inserted(model), rows, using), using=using, ending=ending)


def insert_values(
    model: type[models.Model], rows: Sequence[Sequence[Any]], *, using: str, ending: str = ""
) -> None:
    """Insert rows of values as the driver takes them: of all columns but an automatic key."""
    connection = connections[using]
    sql = f"{_into(model, using)} {ending}"
    with connection.cursor() as cursor:
        for start in range(0, len(rows), _ROWS_A_STATEMENT):
            batch = rows[start : start + _ROWS_A_STATEMENT]
            if connection.vendor == "postgresql":
                cursor.execute(sql, [list(column) for column in zip(*batch, strict=True)])
            else:
                cursor.executemany(sql, batch)


def update(row: models.Model, names: Collection[str], *, using: str) -> None:
    """Write these fields of a row that is there."""
    connection = connections[using]
    quote = connection.ops.quote_name
    fields = columns_of(type(row), *names)
    changes = ", ".join(f"{quote(field.attname)} = %s" for field in fields)
    sql = f"UPDATE {quote(row._meta.db_table)} SET {changes} WHERE id = %s"
    ((*values,),) = _values(fields, [row], using)
    with connection.cursor() as cursor:
        cursor.execute(sql, [*values, row.pk])


@cache
def _inserted(model: type[models.Model]) -> _Fields:
    automatic = model._meta.auto_field
    return tuple(field for field in model._meta.concrete_fields if field is not automatic)


@cache
def _into(model: type[models.Model], using: str) -> str:
    """Return the INSERT; on PostgreSQL it takes all rows at once, as an array a column."""
    connection = connections[using]
    quote = connection.ops.quote_name
    fields = _inserted(model)
    names = ", ".join(quote(field.attname) for field in fields)
    if connection.vendor == "postgresql":
        arrays = ", ".join(f"%s::{_array_type(field, connection)}[]" for field in fields)
        source = f"SELECT * FROM unnest({arrays})"
    else:
        source = f"VALUES ({', '.join(['%s'] * len(fields))})"
    return f"INSERT INTO {quote(model._meta.db_table)} ({names}) {source}"


@cache
def _overwriting(
    model: type[models.Model], identity: tuple[str, ...], overwrite: tuple[str, ...], using: str
) -> str:
    """Return the end of the INSERT that makes it an upsert."""
    named = [
        [field.attname for field in columns_of(model, *names)] for names in (overwrite, identity)
    ]
    ops = connections[using].ops
    return str(ops.on_conflict_suffix_sql(_inserted(model), OnConflict.UPDATE, *named))


def _values(fields: _Fields, rows: Iterable[models.Model], using: str) -> list[list[Any]]:
    """Return the values of the fields of each row, as the driver takes them."""
    connection = connections[using]
    named = [(field.attname, field.get_db_prep_save) for field in fields]
    return [
        [
            value if type(value := getattr(row, name)) in _PLAIN else prepare(value, connection)
            for name, prepare in named
        ]
        for row in rows
    ]


def _array_type(field: models.Field[Any, Any], connection: Any) -> str:
    return str(field.db_type(connection)).partition("(")[0]
