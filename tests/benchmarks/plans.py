"""How each database goes about the package's queries: its EXPLAIN of the very SQL that was sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_agent_memory import Memory

from .corpus import saves, stored
from .timing import Row

_WORKSPACES = 60
_EXPLAIN = {"sqlite": "EXPLAIN QUERY PLAN", "postgresql": "EXPLAIN", "mysql": "EXPLAIN"}
_TABLES = ("agent_memory_note", "agent_memory_indexentry", "agent_memory_workspace")


def run(scale: float) -> Iterator[Row]:
    """Yield a row for each statement, with its plan instead of a time."""
    for name, plan in plans(max(120, int(6_000 * scale))).items():
        yield Row(case=f"plan of {name}", contender=" · ".join(plan), p50="")


def plans(notes: int) -> dict[str, list[str]]:
    """Return the plan of every read, in and out of a write, in one of sixty equal workspaces."""
    for number in range(_WORKSPACES):
        memory = stored(notes // _WORKSPACES, f"plans/{number}")
    analyze()
    save = next(saves(1))
    verbs: dict[str, Callable[[Memory], object]] = {
        "recall": lambda memory: memory.recall(save.key),
        "index": lambda memory: memory.list_memories(),
        "remember": lambda memory: memory.remember(save.key, save.summary, "another body"),
        "near keys": lambda memory: memory.near_keys("area00/nothing"),
    }
    found: dict[str, list[str]] = {}
    for verb, call in verbs.items():
        for number, sql in enumerate(reads_of(lambda call=call: call(memory)), start=1):
            found[f"{verb}, read {number}"] = explain(sql)
    return found


def reads_of(call: Callable[[], object]) -> list[str]:
    """Return the queries that the call sends."""
    with CaptureQueriesContext(connection) as captured:
        call()
    return [q["sql"] for q in captured.captured_queries if q["sql"].startswith(("SELECT", "WITH"))]


def explain(sql: str) -> list[str]:
    """Return the lines of the database's plan for a query."""
    with connection.cursor() as cursor:
        cursor.execute(f"{_EXPLAIN[connection.vendor]} {sql}")
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    if connection.vendor == "mysql":
        return [f"{row['table']}: {row['type']} on {row['key']}" for row in rows]
    column = "detail" if connection.vendor == "sqlite" else "QUERY PLAN"
    return [str(row[column]).strip() for row in rows]


def analyze() -> None:
    """Have the database look at its tables; MariaDB commits."""
    with connection.cursor() as cursor:
        if connection.vendor == "mysql":
            cursor.execute(f"ANALYZE TABLE {', '.join(_TABLES)}")
            cursor.fetchall()
        else:
            cursor.execute("ANALYZE")
