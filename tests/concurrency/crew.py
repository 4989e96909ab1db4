"""Real concurrency for the tests: processes and threads that start together and clean up."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any

import django
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.utils import load_backend

_PATIENCE = 60
_barrier: Any = None


class Crew:
    """`size` processes, started once, that each run a task at the same moment."""

    def __init__(self, size: int) -> None:
        self.size = size
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(
            size, mp_context=context, initializer=_enlist, initargs=(context.Barrier(size),)
        )

    def run(
        self, task: Callable[..., Any], *args: Any, options: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Return what `task(worker, *args)` returned in each process.

        Their default database is the one of this process, with `options` added to its OPTIONS.
        """
        database = database_with(options or {})
        calls = [
            self._pool.submit(_perform, task, worker, database, args) for worker in range(self.size)
        ]
        return [call.result(timeout=5 * _PATIENCE) for call in calls]

    def dismiss(self) -> None:
        """End the processes."""
        self._pool.shutdown()


def database_with(options: Mapping[str, Any], **values: Any) -> dict[str, Any]:
    """Return the settings of the test database as it is connected now, changed by what is given."""
    current = connection.settings_dict
    return {**current, **values, "OPTIONS": {**current["OPTIONS"], **options}}


def connection_to(database: Mapping[str, Any], alias: str = DEFAULT_DB_ALIAS) -> Any:
    """Return a new connection, not yet open."""
    backend = load_backend(database["ENGINE"])
    return backend.DatabaseWrapper(dict(database), alias)


@contextmanager
def reconnected(options: Mapping[str, Any], **values: Any) -> Iterator[Any]:
    """Use a new connection with these settings as this thread's default one for a while."""
    before = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = connection_to(database_with(options, **values))
    try:
        yield connections[DEFAULT_DB_ALIAS]
    finally:
        connections[DEFAULT_DB_ALIAS].close()
        connections[DEFAULT_DB_ALIAS] = before


@contextmanager
def another_connection() -> Iterator[Any]:
    """Yield a second connection to the test database, for somebody else to hold locks with."""
    other = connection_to(database_with({}))
    try:
        yield other
    finally:
        other.close()


def in_threads(tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run each task in a thread of its own, all at the same moment; return the results in order."""
    barrier = Barrier(len(tasks))
    with ThreadPoolExecutor(len(tasks), initializer=barrier.wait) as pool:
        return list(pool.map(_closing_connections, tasks, timeout=_PATIENCE))


def _closing_connections(task: Callable[[], Any]) -> Any:
    try:
        return task()
    finally:
        connections.close_all()


def _enlist(barrier: Any) -> None:
    """Set up Django in a new process."""
    global _barrier
    _barrier = barrier
    django.setup()


def _perform(task: Callable[..., Any], worker: int, database: dict[str, Any], args: Any) -> Any:
    # A loaded machine may take its time: what is tested is that nothing is lost or refused.
    settings.AGENT_MEMORY_WRITE_DEADLINE = 60
    connections.settings[DEFAULT_DB_ALIAS] = database
    connections[DEFAULT_DB_ALIAS] = connection_to(database)
    _barrier.wait(_PATIENCE)
    return _closing_connections(lambda: task(worker, *args))
