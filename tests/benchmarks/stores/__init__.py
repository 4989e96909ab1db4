"""Memories of others, and ours, behind the same four calls, so that they can take turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from django.db import connection

from . import json_file, langgraph, mcp_server, ours

Note = tuple[str, str, str]


class Store(Protocol):
    """A memory: notes of key, summary and body."""

    def fill(self, notes: Iterable[Note]) -> None:
        """Store many notes before anything is measured, in whatever way is quick."""

    def put(self, key: str, summary: str, body: str) -> None:
        """Store one note durably."""

    def get(self, key: str) -> str | None:
        """Return the body of the note."""

    def search(self, text: str) -> list[str]:
        """Return the keys of notes that contain the text, the first of them if there are many."""


Opener = Callable[[str], AbstractContextManager[Store]]

_OPENERS: dict[str, Opener] = {
    ours.NAME: ours.opened,
    json_file.NAME: json_file.opened,
    langgraph.OURS: langgraph.opened_ours,
    langgraph.SQLITE: langgraph.opened_sqlite,
    langgraph.POSTGRES: langgraph.opened_postgres,
    mcp_server.NAME: mcp_server.opened,
}


def installed() -> Iterator[tuple[str, str]]:
    """Yield the name of each store of this database, with what it lacks to run, if anything."""
    yield ours.NAME, ""
    yield langgraph.OURS, langgraph.missing("base")
    if connection.vendor == "sqlite":
        yield langgraph.SQLITE, langgraph.missing("sqlite")
    if connection.vendor == "postgresql":
        yield langgraph.POSTGRES, langgraph.missing("postgres")
    yield mcp_server.NAME, mcp_server.missing()
    yield json_file.NAME, ""


@contextmanager
def opened(name: str, place: str) -> Iterator[Store]:
    """Open the store of that name on a file, a schema or a workspace called `place`."""
    with _OPENERS[name](place) as store:
        yield store
