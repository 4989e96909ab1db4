"""Which notes a query may find: asked for, so that none of the others crowds them out."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections

from django_agent_memory.models import Note
from django_agent_memory.models.note import NoteQuerySet

from .tables import lists


class Visible:
    """The notes that filters, expiries and sessions let through, by their positions."""

    def __init__(self, notes: NoteQuerySet) -> None:
        self._notes = notes.order_by()
        self._connection = connections[notes.db]
        self._few: dict[int, set[int] | None] = {}

    @cached_property
    def condition(self) -> tuple[str, tuple[Any, ...]]:
        """A query of all their positions, and its parameters."""
        try:
            sql, params = self._notes.values_list("position").query.sql_with_params()
        except EmptyResultSet:
            return f"SELECT position FROM {self._table} WHERE 0 = 1", ()  # noqa: S608  (a name)
        return sql, tuple(params)

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
            column = f"{self._table}.{self._connection.ops.quote_name('position')}"
            found |= self._positions(f"{sql} AND {column} IN ({numbers})", params)
        return found

    @property
    def _table(self) -> str:
        return self._connection.ops.quote_name(Note._meta.db_table)

    def _positions(self, sql: str, params: tuple[Any, ...]) -> set[int]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, params)
            return {position for (position,) in cursor.fetchall()}
