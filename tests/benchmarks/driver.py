"""SQL straight through the database's driver, as the floor under every ORM."""

from __future__ import annotations

import re
from typing import Any

from django.db import connection


class Driver:
    """A cursor of the driver itself; statements use %s and double quotes on every database."""

    def __init__(self) -> None:
        connection.ensure_connection()
        self.cursor = connection.connection.cursor()

    def run(self, sql: str, *params: Any) -> None:
        """Execute one statement."""
        self.cursor.execute(*_spelled(sql, params))

    def fetch(self, sql: str, *params: Any) -> Any:
        """Execute one query and return all its rows."""
        self.cursor.execute(*_spelled(sql, params))
        return self.cursor.fetchall()

    def locking(self, sql: str) -> str:
        """Return the query as a locking read where the database has one."""
        return f"{sql} FOR UPDATE" if connection.features.has_select_for_update else sql


def _spelled(sql: str, params: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    if connection.vendor == "sqlite":
        return sql.replace("%s", "?"), params
    if connection.vendor == "mysql":
        return re.sub(r'"(\w+)"', r"`\1`", sql), params
    return sql, params
