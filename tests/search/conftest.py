"""Searches that have to go by the index, or by the scan, whatever the engine would choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from django.db import connection

from django_agent_memory import Memory
from django_agent_memory.results import SearchResult
from django_agent_memory.search.engines import mysql, postgresql, sqlite
from django_agent_memory.search.engines.base import Engine, Rows, Survey
from django_agent_memory.search.upkeep import search_engine

Way = Callable[[], AbstractContextManager[None]]


@contextmanager
def by_choice() -> Iterator[None]:
    """As the engine chooses."""
    yield


@contextmanager
def by_scan() -> Iterator[None]:
    """By the scan that works on every database."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite.SQLiteEngine, "_is_live", lambda _: False)
        patch.setattr(mysql.MySQLEngine, "_is_live", lambda _: False)
        patch.setattr(postgresql.PostgreSQLEngine, "_piece", lambda *_: None)
        yield


@contextmanager
def by_index() -> Iterator[None]:
    """By the index wherever it can be asked at all, however common the pattern."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite.SQLiteEngine, "_rare", lambda _self, _workspace, trigrams: trigrams)
        patch.setattr(postgresql.PostgreSQLEngine, "_piece", _longest_run)
        if connection.vendor != "postgresql":
            yield
            return
        with connection.cursor() as cursor:
            for path in ("seqscan", "indexscan", "indexonlyscan"):
                cursor.execute(f"SET enable_{path} = off")
            try:
                yield
            finally:
                cursor.execute("RESET ALL")


def _longest_run(engine: postgresql.PostgreSQLEngine, _survey: Survey, folded: str) -> str | None:
    runs = postgresql._runs(folded, ascii_only=engine._facts().is_ascii_only)
    return max(runs, key=len)[:8] if runs else None


WAYS: dict[str, Way] = {"choice": by_choice, "scan": by_scan, "index": by_index}


def found(memory: Memory, pattern: str) -> tuple[list[str], int]:
    """Return the keys and the total."""
    result: SearchResult = memory.search(pattern)
    return [match.key for match in result.matches], result.total


@pytest.fixture
def engine(db: None) -> Engine:
    """The engine of the database at hand."""
    return search_engine()


@contextmanager
def scans_counted() -> Iterator[list[str]]:
    """Collect the tables that are scanned, one for each scan of a workspace."""
    scanned: list[str] = []
    scan = Engine._scan

    def counted(self: Engine, workspace: int, folded: str, **table: str) -> Rows:
        scanned.append(table.get("table", "note"))
        return scan(self, workspace, folded, **table)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "_scan", counted)
        yield scanned
