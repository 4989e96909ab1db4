"""SQLite files of others, kept as safely as ours is."""

from __future__ import annotations

import sqlite3

from django.db import connection

_PRAGMAS = ("journal_mode", "synchronous")


def keep_as_ours(other: sqlite3.Connection) -> None:
    """Give the file the journal of the default database, and as much patience with the disk."""
    with connection.cursor() as cursor:
        for pragma in _PRAGMAS:
            (said,) = cursor.execute(f"PRAGMA {pragma}").fetchone()
            other.execute(f"PRAGMA {pragma} = {said}")
