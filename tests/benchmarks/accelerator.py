"""What the database has to make search fast, found by looking at the database itself."""

from __future__ import annotations

import time
from io import StringIO

from django.core.management import call_command, get_commands
from django.db import connection

_COMMAND = "memory_search_index"
_FTS_TABLES = (
    "SELECT name FROM sqlite_master WHERE type = 'table'"
    " AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%agent_memory_note%trigram%'"
)
_GIN_INDEXES = (
    "SELECT indexname FROM pg_indexes WHERE tablename = 'agent_memory_note'"
    " AND indexdef LIKE '%gin_trgm_ops%'"
)
_COPIES = (
    "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
    " AND table_name = 'agent_memory_note_haystack'"
)


def name() -> str | None:
    """Return the name of the trigram table or index, on MariaDB of the copy; None without one."""
    sql = {"sqlite": _FTS_TABLES, "postgresql": _GIN_INDEXES, "mysql": _COPIES}[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(sql)
        found = cursor.fetchone()
    return found[0] if found else None


def can_be_built() -> bool:
    """Whether dropping and building it is possible here: it is there, and so is the command."""
    return _COMMAND in get_commands() and name() is not None


def drop() -> None:
    """Remove it."""
    _call("drop")


def build() -> float:
    """Make it over all that is stored, and return the seconds that took."""
    started = time.perf_counter()
    _call("build")
    return time.perf_counter() - started


def _call(action: str) -> None:
    # What it says of itself would stand in the table of results.
    call_command(_COMMAND, action, stdout=StringIO())
