"""LangGraph's stores on SQLite and PostgreSQL, without an embedding model, as they come; and ours.

Their `search(query=…)` ranks by embeddings and ignores the query where there is no model; what
finds text is reading all items and looking into them, which is what `search` does here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from django.db import connection

from . import sqlite_files

SQLITE, POSTGRES = "LangGraph SqliteStore", "LangGraph PostgresStore"
OURS = "AgentMemoryStore"
_BATCH = 1_000


class ByQuery:
    """A store whose own search is by a query that it gives to an embedding model."""

    def __init__(self, store: Any, namespace: tuple[str, ...]) -> None:
        self._store = store
        self._namespace = namespace

    def fill(self, notes: Iterable[tuple[str, str, str]]) -> None:
        rest = iter(notes)
        while batch := list(islice(rest, _BATCH)):
            self.put_many(batch)

    def put_many(self, notes: Iterable[tuple[str, str, str]]) -> None:
        """Store these notes in one batch."""
        from langgraph.store.base import PutOp

        self._store.batch(
            [PutOp(self._namespace, key, _value(said, body)) for key, said, body in notes]
        )

    def get_many(self, keys: Iterable[str]) -> list[str | None]:
        """Return the bodies of these notes, got in one batch."""
        from langgraph.store.base import GetOp

        items = self._store.batch([GetOp(self._namespace, key) for key in keys])
        return [None if item is None else item.value["body"] for item in items]

    def put(self, key: str, summary: str, body: str) -> None:
        self._store.put(self._namespace, key, _value(summary, body))

    def get(self, key: str) -> str | None:
        item = self._store.get(self._namespace, key)
        return None if item is None else item.value["body"]

    def search(self, text: str) -> list[str]:
        low = text.lower()
        items = self._store.search(self._namespace, limit=10_000_000)
        return [
            item.key
            for item in items
            if any(low in part.lower() for part in (item.key, *item.value.values()))
        ]

    def search_by_query(self, text: str) -> list[str]:
        """Return the keys that its own search by text returns."""
        return [item.key for item in self._store.search(self._namespace, query=text, limit=8)]


def missing(database: str) -> str:
    """Return what to install for its store on that database; "" if it is there."""
    try:
        found = find_spec(f"langgraph.store.{database}")
    except ModuleNotFoundError:
        found = None
    return "" if found else "pip install -r tests/requirements/peers.txt"


@contextmanager
def opened_sqlite(place: str) -> Iterator[ByQuery]:
    """Open the store in a file of its own at `place`."""
    from langgraph.store.sqlite import SqliteStore

    with SqliteStore.from_conn_string(f"{place}.sqlite3") as store:
        sqlite_files.keep_as_ours(store.conn)
        store.setup()
        yield ByQuery(store, ("peers",))


@contextmanager
def opened_postgres(place: str) -> Iterator[ByQuery]:
    """Open the store in the benchmark's database, under a namespace called as `place`."""
    from langgraph.store.postgres import PostgresStore
    from psycopg.conninfo import make_conninfo

    said = connection.settings_dict
    names = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD"}
    given = {name: said[key] for name, key in names.items() if said[key]}
    with PostgresStore.from_conn_string(make_conninfo(dbname=said["NAME"], **given)) as store:
        store.setup()
        yield ByQuery(store, ("peers", Path(place).name))


@contextmanager
def opened_ours(place: str) -> Iterator[ByQuery]:
    """Open the adapter of this package below a workspace named as the last part of `place`."""
    from django_agent_memory.adapters.langgraph import AgentMemoryStore

    yield ByQuery(AgentMemoryStore(f"langgraph/{Path(place).name}"), ("peers",))


def _value(summary: str, body: str) -> dict[str, str]:
    return {"summary": summary, "body": body}
