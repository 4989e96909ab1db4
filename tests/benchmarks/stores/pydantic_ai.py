"""The stores of pydantic-ai-harness on SQLite and PostgreSQL, and ours.

A put is a write of a whole file at the version that was seen last, as its tools make it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db import connection, connections

from . import sqlite_files

OURS, SQLITE, POSTGRES = "NoteStore", "SqliteMemoryStore", "PostgresMemoryStore"
_MOST = 1_000_000
_T = TypeVar("_T")


class VersionedFiles:
    """A store of files with versions, called from its own event loop."""

    def __init__(self, store: Any, run: Callable[[Awaitable[Any]], Any]) -> None:
        self._store = store
        self._run = run
        self._versions: dict[str, str | None] = {}

    def put(self, key: str, summary: str, body: str) -> None:
        known = self._versions.get(key)
        done = self._run(self._store.write(key, body, expected_version=known))
        self._versions[key] = done.version

    def get(self, key: str) -> str | None:
        found = self._run(self._store.read(key, max_chars=_MOST))
        return None if found is None else found.content


def missing() -> str:
    """Return what to install for them; "" if all is there."""
    needed = ("pydantic_ai_harness", "asyncpg")
    return "" if all(map(find_spec, needed)) else "pip install -r tests/requirements/peers.txt"


@contextmanager
def opened_sqlite(place: str) -> Iterator[VersionedFiles]:
    """Open the store in a file of its own at `place`, on one connection that stays open."""
    from pydantic_ai_harness.memory import SqliteMemoryStore

    with (
        asyncio.Runner() as runner,
        closing(sqlite3.connect(f"{place}.files.sqlite3", check_same_thread=False)) as file,
    ):
        sqlite_files.keep_as_ours(file)
        yield VersionedFiles(SqliteMemoryStore(connection=file), _run_by(runner))


@contextmanager
def opened_postgres(place: str) -> Iterator[VersionedFiles]:
    """Open the store in the benchmark's database, in a table called as `place`."""
    import asyncpg
    from pydantic_ai_harness.memory import PostgresMemoryStore

    said = connection.settings_dict
    names = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD"}
    given = {name: said[key] for name, key in names.items() if said[key]}
    with asyncio.Runner() as runner:
        run = _run_by(runner)
        pool = run(asyncpg.create_pool(database=said["NAME"], min_size=1, **given))
        table = "files_" + "".join(filter(str.isalnum, Path(place).name))
        store = PostgresMemoryStore(pool=pool, table=table)
        try:
            yield VersionedFiles(store, run)
        finally:
            run(pool.close())


@contextmanager
def opened_ours(place: str) -> Iterator[VersionedFiles]:
    """Open the adapter of this package on a workspace named as the last part of `place`."""
    from django_agent_memory import Memory
    from django_agent_memory.adapters.pydantic_ai import NoteStore

    with asyncio.Runner() as runner:
        run = _run_by(runner)
        try:
            yield VersionedFiles(NoteStore(Memory(f"files/{Path(place).name}")), run)
        finally:
            # The thread that the store's calls run in has a connection of its own.
            run(sync_to_async(connections.close_all)())


def _run_by(runner: asyncio.Runner) -> Callable[[Awaitable[_T]], _T]:
    async def awaited(call: Awaitable[_T]) -> _T:
        return await call

    return lambda call: runner.run(awaited(call))
