"""How long the first statement of a write waits for the lock, where the wait is the database's.

Left alone, PostgreSQL waits for ever and MariaDB 50 s. Both are told our deadline within the one
statement that waits, so that no session keeps it, whatever pools connections. A host that is less
patient stays so. SQLite has its own `timeout` (5 s); MySQL cannot be told this way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from django.db import connections, transaction

from django_agent_memory.conf import conf
from django_agent_memory.models import Workspace

# Always true; sets `lock_timeout` until the end of the transaction, unless the host has.
_UNLESS_IT_IS_SET = (
    " AND (current_setting('lock_timeout') <> '0'"
    " OR set_config('lock_timeout', %s, true) IS NOT NULL)"
)


def touch(path: str, using: str) -> bool:
    """Update a workspace's row with what it says, which takes its lock; return if it is there.

    Only in a transaction of ours is the wait bounded: a caller's own has the caller's timeouts.
    """
    connection = connections[using]
    table = connection.ops.quote_name(Workspace._meta.db_table)
    sql, parameters = f"UPDATE {table} SET revision = revision WHERE path = %s", [path]
    with ExitStack() as stack:
        if not connection.savepoint_ids and connection.vendor == "postgresql":
            sql += _UNLESS_IT_IS_SET
            parameters.append(f"{max(1, math.ceil(1000 * conf.write_deadline))}ms")
        elif not connection.savepoint_ids and _is_mariadb(connection):
            stack.enter_context(connection.execute_wrapper(_bounded))
        cursor = stack.enter_context(connection.cursor())
        cursor.execute(sql, parameters)
        return bool(cursor.rowcount)


@contextmanager
def impatient(using: str) -> Iterator[None]:
    """A transaction in which what would wait for a lock fails: for what may as well not be done.

    Not inside another one. At most a millisecond is waited for a row on PostgreSQL.
    """
    connection = connections[using]
    with ExitStack() as stack:
        if connection.vendor == "sqlite":
            # Before BEGIN, which a site may have made IMMEDIATE.
            stack.callback(_pragma, using, _pragma(using, 0))
        if _is_mariadb(connection):
            stack.enter_context(connection.execute_wrapper(_at_once))
        stack.enter_context(transaction.atomic(using=using))
        if connection.vendor == "postgresql":
            stack.enter_context(connection.cursor()).execute("SET LOCAL lock_timeout = '1ms'")
        yield


def _pragma(using: str, milliseconds: int) -> int:
    """Set how long SQLite waits for a lock and return how long it did."""
    with connections[using].cursor() as cursor:
        (before,) = cursor.execute("PRAGMA busy_timeout").fetchone()
        cursor.execute(f"PRAGMA busy_timeout = {int(milliseconds)}")
    return int(before)


def _at_once(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001
    return execute(f"SET STATEMENT innodb_lock_wait_timeout = 0 FOR {sql}", params, many, context)


def _bounded(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001
    seconds = max(1, math.ceil(conf.write_deadline))
    wait = f"innodb_lock_wait_timeout = LEAST(@@innodb_lock_wait_timeout, {seconds})"
    return execute(f"SET STATEMENT {wait} FOR {sql}", params, many, context)


def _is_mariadb(connection: Any) -> bool:
    return connection.vendor == "mysql" and bool(connection.mysql_is_mariadb)
