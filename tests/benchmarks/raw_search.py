"""Substring search in SQL straight through the driver: what search is held against.

Each way returns the first 8 keys and the total, of the notes of one workspace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.models import Q

from django_agent_memory.models import Note
from django_agent_memory.text.folding import fold

from .driver import Driver

Found = tuple[list[str], int]
Way = Callable[[str], Found]

_SHOWN = 8
_TRIGRAM = 3
# Characters of a longer pattern that the index is asked for; the rest is looked at in the notes.
_PROBE = 18
_LIKE = str.maketrans({"%": r"\%", "_": r"\_", "\\": r"\\"})


class RawSearch:
    """The ways to search one workspace by hand; they fold a pattern as search does."""

    def __init__(self, driver: Driver, workspace: int, accelerator: str | None) -> None:
        self._driver = driver
        self._workspace = workspace
        self._accelerator = accelerator

    def accelerated(self, pattern: str, *, is_common: bool) -> dict[str, Way]:
        """Return the ways that use the trigrams, or the copy; none where they cannot help."""
        if self._accelerator is None:
            return {}
        if connection.vendor == "mysql":
            return self._ways(f"{self._accelerator} n", _locate, is_common=is_common)
        if not _has_trigram(fold(pattern)):
            return {}
        if connection.vendor == "sqlite":
            return self._by_fts(self._accelerator, is_common=is_common)
        return self._ways("agent_memory_note n", _gin, is_common=is_common)

    def scans(self, *, is_common: bool) -> dict[str, Way]:
        """Return the ways that read every note of the workspace, or of the table."""
        ways: dict[str, Way] = {}
        for table, condition in _SCANS[connection.vendor]:
            for name, way in self._ways(table, condition, is_common=is_common).items():
                ways[f"{name} {len(ways)}"] = way
        return ways

    def _by_fts(self, fts: str, *, is_common: bool) -> dict[str, Way]:
        # Without CROSS JOIN the planner looks every note of the workspace up in the FTS table.
        tables = f"{fts} f CROSS JOIN agent_memory_note n ON n.id = f.rowid"

        def condition(pattern: str) -> tuple[str, list[Any]]:
            probe = pattern[:_PROBE]
            grams = {probe[at : at + _TRIGRAM] for at in range(len(probe) - _TRIGRAM + 1)}
            quoted = (gram.replace('"', '""') for gram in sorted(grams))
            match = " AND ".join(f'"{gram}"' for gram in quoted)
            return f"{fts} MATCH %s AND instr(n.haystack, %s) > 0", [match, pattern]

        return self._ways(tables, condition, is_common=is_common)

    def _ways(
        self, tables: str, condition: Callable[[str], tuple[str, list[Any]]], *, is_common: bool
    ) -> dict[str, Way]:
        """Return one statement with a window; for a common pattern also a count and a first 8.

        A walk in key order soon has its 8 of a common pattern; of a rare one it reads all again.
        """

        def in_one(pattern: str) -> Found:
            where, params = condition(fold(pattern))
            what = f'n."key", count(*) OVER () FROM {tables}'
            found = self._fetch(what, where, params, order=_ORDER[connection.vendor])
            return [key for key, _ in found], found[0][1] if found else 0

        def in_two(pattern: str) -> Found:
            where, params = condition(fold(pattern))
            ((total,),) = self._fetch(f"count(*) FROM {tables}", where, params)
            if not total:
                return [], 0
            first = self._fetch(f'n."key" FROM {tables}', where, params, order='n."key"')
            return [key for (key,) in first], total

        return {"window": in_one} | ({"count, then 8": in_two} if is_common else {})

    def _fetch(self, what: str, where: str, params: list[Any], *, order: str = "") -> Any:
        sql = f"SELECT {what} WHERE {where} AND n.workspace_id = %s"
        if order:
            sql = f"{sql} ORDER BY {order} LIMIT {_SHOWN}"
        return self._driver.fetch(sql, *params, self._workspace)


def _has_trigram(pattern: str) -> bool:
    """Whether the index has anything to look up: pg_trgm knows letters and digits only."""
    if connection.vendor == "sqlite":
        return len(pattern) >= _TRIGRAM
    plain = "".join(char if char.isalpha() or char.isdecimal() else " " for char in pattern)
    return any(len(run) >= _TRIGRAM for run in plain.split())


def by_icontains(path: str, pattern: str) -> Found:
    """Search as a site would write it; what that finds depends on the database."""
    notes = Note.objects.filter(workspace__path=path).filter(
        Q(key__icontains=pattern)
        | Q(body__icontains=pattern)
        | Q(entry__summary__icontains=pattern)
    )
    first = notes.order_by("key").values_list("key", flat=True)[:_SHOWN]
    return list(first), notes.count()


def _contains(pattern: str) -> str:
    return f"%{pattern.translate(_LIKE)}%"


def _gin(pattern: str) -> tuple[str, list[Any]]:
    if len(pattern) <= _PROBE:
        return "n.haystack LIKE %s", [_contains(pattern)]
    params = [_contains(pattern[:_PROBE]), pattern]
    return "n.haystack LIKE %s AND strpos(n.haystack, %s) > 0", params


def _like_without_index(pattern: str) -> tuple[str, list[Any]]:
    # The index is there for the column's own collation; this one compares the same bytes.
    return 'n.haystack COLLATE "POSIX" LIKE %s', [_contains(pattern)]


def _strpos(pattern: str) -> tuple[str, list[Any]]:
    return "strpos(n.haystack, %s) > 0", [pattern]


def _instr(pattern: str) -> tuple[str, list[Any]]:
    return "instr(n.haystack, %s) > 0", [pattern]


def _locate(pattern: str) -> tuple[str, list[Any]]:
    return "LOCATE(%s, CAST(n.haystack AS BINARY)) > 0", [pattern.encode()]


# PostgreSQL would walk the keys in order rather than find the matches first.
_ORDER = {"sqlite": 'n."key"', "postgresql": "n.\"key\" || ''", "mysql": 'n."key"'}
_NOTES = "agent_memory_note n"
_SCANS: dict[str, tuple[tuple[str, Callable[[str], tuple[str, list[Any]]]], ...]] = {
    "sqlite": (
        (_NOTES, _instr),
        (f"{_NOTES} INDEXED BY agent_memory_note_scan", _instr),
        (f"{_NOTES} NOT INDEXED", _instr),
    ),
    "postgresql": ((_NOTES, _like_without_index), (_NOTES, _strpos)),
    "mysql": (
        (_NOTES, _locate),
        (f"{_NOTES} USE INDEX ()", _locate),
    ),
}
