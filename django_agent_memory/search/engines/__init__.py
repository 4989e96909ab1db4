"""What each database can do to find the notes that contain a text: one engine a vendor.

They differ in time only: rows, order and total are the same from each, with its search index and
without.
"""

from __future__ import annotations

from django.db import connections

from .base import Engine
from .mysql import MySQLEngine
from .postgresql import PostgreSQLEngine
from .sqlite import SQLiteEngine

__all__ = ["Engine", "engine_for"]

_ENGINES: dict[str, type[Engine]] = {
    "sqlite": SQLiteEngine,
    "postgresql": PostgreSQLEngine,
    "mysql": MySQLEngine,
}


def engine_for(using: str) -> Engine:
    """Return the engine of the database behind an alias."""
    connection = connections[using]
    return _ENGINES.get(connection.vendor, Engine)(connection)
