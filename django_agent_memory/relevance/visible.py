"""Which notes a query may find: asked for, so that none of the others crowds them out."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from django.core.exceptions import EmptyResultSet
from django.db import connections

from django_agent_memory.models import Note, NoteUsage
from django_agent_memory.models.note import NoteQuerySet
from django_agent_memory.rows import columns_of, read

from .tables import lists


class Seen(NamedTuple):
    """What is known of a note beside its text; `recency` is its later write or recall."""

    pk: int
    position: int
    weight: float
    recency: datetime.datetime
    specificity: int
    key: str


_SEEN = columns_of(Note, "id", "position", "weight", "updated_at", "specificity", "key")


class Visible:
    """The notes that filters, expiries and sessions let through, by their positions."""

    def __init__(self, notes: NoteQuerySet) -> None:
        self._notes = notes.order_by()
        self._connection = connections[notes.db]
        self._few: dict[int, set[int] | None] = {}

    @property
    def condition(self) -> tuple[str, tuple[Any, ...]]:
        """A query of all their positions, and its parameters."""
        source, params = self._source
        return f"SELECT {self._column('position')} FROM {source}", params

    def few(self, most: int) -> set[int] | None:
        """Return all positions, None if there are more than `most`; read once."""
        if most not in self._few:
            sql, params = self.condition
            found = self._positions(f"{sql} LIMIT {most + 1}", params)
            self._few[most] = found if len(found) <= most else None
        return self._few[most]

    def among(self, positions: Collection[int]) -> set[int]:
        """Return those of the positions."""
        sql, params = self.condition
        found: set[int] = set()
        for numbers in lists(positions, self._connection):
            condition = f"{self._column('position')} IN ({numbers})"
            found |= self._positions(f"{sql} AND {condition}", params)
        return found

    def rows(self, positions: Collection[int]) -> Iterator[Seen]:
        """Yield what is known of those of the positions."""
        source, params = self._source
        note, column = self._table, self._column
        usage = self._connection.ops.quote_name(NoteUsage._meta.db_table)
        recency = (
            f"COALESCE((SELECT u.recalled_at FROM {usage} u"
            f" WHERE u.workspace_id = {note}.workspace_id AND u.position = {column('position')}"
            f" AND u.recalled_at > {column('updated_at')}), {column('updated_at')})"
        )
        columns = ", ".join(
            recency if field.name == "updated_at" else column(field.name) for field in _SEEN
        )
        for numbers in lists(positions, self._connection):
            condition = f"{column('position')} IN ({numbers})"
            sql = f"SELECT {columns} FROM {source} AND {condition}"
            yield from map(Seen._make, read(sql, params, _SEEN, self._notes.db))

    @cached_property
    def _source(self) -> tuple[str, tuple[Any, ...]]:
        """What follows FROM in a query of them, up to the end of its conditions; compiled once."""
        compiler = self._notes.values_list("position").query.get_compiler(self._notes.db)
        try:
            sql, params = compiler.as_sql()
        except EmptyResultSet:
            return f"{self._table} WHERE 0 = 1", ()
        return sql.partition(" FROM ")[2], tuple(params)

    @property
    def _table(self) -> str:
        return self._connection.ops.quote_name(Note._meta.db_table)

    def _column(self, name: str) -> str:
        return f"{self._table}.{self._connection.ops.quote_name(name)}"

    def _positions(self, sql: str, params: tuple[Any, ...]) -> set[int]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, params)
            return {position for (position,) in cursor.fetchall()}
