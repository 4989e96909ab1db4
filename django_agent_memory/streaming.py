"""The rows of one query, read as they are wanted: memory for a batch of them, not for all."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any

from django.db import connections, transaction
from django.db.models import QuerySet

FEW = 2_000
"""So many rows are read at once: a cursor of their own costs more than they do."""

_BATCH = 500


def stream(rows: QuerySet[Any, Any], *, at_most: int) -> Generator[Any]:
    """Yield the rows of a `values_list` of plain columns, in one statement.

    `at_most` is how many there can be. The connection is busy until the last row: close the
    generator before the next statement.
    """
    if at_most <= FEW:
        yield from rows
        return
    if connections[rows.db].vendor == "mysql":
        yield from _unbuffered(rows)
        return
    with _block(rows.db):
        yield from rows.iterator(chunk_size=_BATCH)


def _block(using: str) -> AbstractContextManager[Any]:
    """Return a transaction for PostgreSQL's cursor to live in, where none is open.

    Outside of one the server would copy all rows first, and behind a pooler that changes servers
    between transactions the cursor would be lost.
    """
    connection: Any = connections[using]
    if connection.vendor != "postgresql" or connection.in_atomic_block:
        return nullcontext()
    return transaction.atomic(using)


def _unbuffered(rows: QuerySet[Any, Any]) -> Iterator[Any]:
    """Yield the rows as MariaDB sends them; the driver's usual cursor makes a list of all first."""
    connection: Any = connections[rows.db]
    sql, params = rows.query.get_compiler(rows.db).as_sql()
    connection.ensure_connection()
    connection.validate_thread_sharing()
    wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    unbuffered = connection.connection.cursor(connection.Database.cursors.SSCursor)
    with closing(wrap(unbuffered)) as cursor:
        cursor.execute(sql, params)
        while batch := cursor.fetchmany(_BATCH):
            yield from batch
