"""The lock, and what happens when the database says it is busy.

The first statement of every write is an UPDATE of the workspace row that changes nothing. It takes
the lock on every database, SQLite included, where a transaction that began by reading could not
become a writer. All reads after it are locking reads: on MariaDB's repeatable read, plain ones
would see the snapshot of the caller's earlier reads and lose other writers' updates.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError, connections, models, transaction

from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Busy
from django_agent_memory.models import Workspace

from .patience import touch
from .statements import upsert

_Result = TypeVar("_Result")
_Row = TypeVar("_Row", bound=models.Model)

_POSTGRES_STATES = {"40001", "40P01", "55P03"}  # serialization, deadlock, lock not available
_MYSQL_CODES = {1020, 1205, 1213}  # changed since last read, lock wait timeout, deadlock
_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.25


def run_serialised(using: str, work: Callable[[], _Result]) -> _Result:
    """Run `work` in a transaction on alias `using`; try again, up to the deadline, if it was busy.

    Only a transaction that was opened here is tried again, for a failed COMMIT too; inside a
    caller's own transaction there is nothing left to try. Either way the end of it is `Busy`. What
    the database waits by itself counts: see `patience`.
    """
    deadline = time.monotonic() + conf.write_deadline
    connection = connections[using]
    owned = connection.get_autocommit() and not connection.in_atomic_block
    pause = _FIRST_PAUSE
    while True:
        try:
            with transaction.atomic(using=using):
                return work()
        except OperationalError as error:
            if not is_contention(error):
                raise
            wait = random.uniform(pause / 2, pause)  # noqa: S311  (jitter, not a secret)
            if not owned or time.monotonic() + wait > deadline:
                raise Busy(
                    "The memory is busy: the database stayed locked, so nothing was written. "
                    "Try the same call again in a moment."
                ) from error
        time.sleep(wait)
        pause = min(2 * pause, _LONGEST_PAUSE)


def lock(path: str, *, using: str, create: bool) -> Workspace | None:
    """Lock the workspace's row and return it fresh; if missing, `create` it or return None."""
    if not hold(path, using=using, create=create):
        return None
    return locked(Workspace.objects.using(using).filter(path=path), using).get()


def hold(path: str, *, using: str, create: bool) -> bool:
    """Take the lock of the workspace, and `create` it if it is missing; return whether it is there.

    What was known of its row may be old: read it anew, locked.
    """
    known_missing = create and _locks_gaps(using) and not _exists(path, using)
    if known_missing or not touch(path, using):
        if not create:
            return False
        _create(path, using)
    return True


def locked(rows: models.QuerySet[_Row], using: str) -> models.QuerySet[_Row]:
    """Return `rows` as a locking read, the weakest that the database has.

    PostgreSQL's FOR NO KEY UPDATE lets rows that point at a locked one be inserted meanwhile.
    """
    no_key = connections[using].features.has_select_for_no_key_update
    return rows.select_for_update(no_key=no_key)


def locking_clause(alias: str, using: str) -> str:
    """Return what makes SQL of our own such a read of the table called `alias` in it.

    Tables that it is joined to from outside cannot be locked on PostgreSQL.
    """
    connection = connections[using]
    if not connection.features.has_select_for_update:
        return ""
    of = (alias,) if connection.vendor == "postgresql" else ()
    no_key = connection.features.has_select_for_no_key_update
    return str(connection.ops.for_update_sql(no_key=no_key, of=of))


def _create(path: str, using: str) -> None:
    """Insert the workspace and hold its lock; if it is there by now, wait for its lock.

    An upsert, because a plain insert that fails leaves a shared lock behind on MariaDB, and two
    who hold that one deadlock when both want the row.
    """
    upsert(Workspace, [Workspace(path=path)], identity=("path",), overwrite=("path",), using=using)


def _exists(path: str, using: str) -> bool:
    return Workspace.objects.using(using).filter(path=path).exists()


def _locks_gaps(using: str) -> bool:
    """Whether an UPDATE that finds no row locks the gap, so that two who then insert deadlock.

    That is MariaDB and MySQL above read committed (Django's default there).
    """
    connection = connections[using]
    return connection.vendor == "mysql" and (
        connection.isolation_level not in ("read committed", "read uncommitted")  # type: ignore[attr-defined]
    )


def is_contention(error: OperationalError) -> bool:
    """Whether the same transaction may succeed when it is tried again."""
    cause = error.__cause__
    if isinstance(cause, sqlite3.OperationalError):
        primary_code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
        return primary_code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    if getattr(cause, "sqlstate", None) in _POSTGRES_STATES:
        return True
    return bool(error.args) and error.args[0] in _MYSQL_CODES
