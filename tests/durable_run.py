"""A small durable loop that loses its power: `python -m tests.durable_run DATABASE`.

Every statement the run sends, COMMIT included, is a place where the process ends in turn; after
each crash it is started again until it gets through. Prints what a run came to, as JSON lines.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import django

_CRASHED = 9


def run(name: str) -> list[Any]:
    """Do the work of the run: every call is numbered by its place in it."""
    from django_agent_memory import Drop, Memory, Save

    memory = Memory(name, actor="loop", run="r1")
    first = memory.remember("inbox/1", "a mail", "please call back")
    note = memory.recall("inbox/1")
    assert note is not None
    memory.remember("todo", "what is to be done", f"{note.body} (revision {first.revision})")
    forgot = memory.forget("inbox/1")
    found = memory.search("call back")
    outcomes = memory.apply([Save(key="log", body=[forgot.outcome, found.total]), Drop(key="x")])
    return [first.revision, note.body, forgot.outcome, found.total, outcomes[0].outcome]


def crash_at(statement: int) -> Callable[..., Any]:
    """Return a wrapper that ends the process before it sends that statement."""
    sent = 0

    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal sent
        sent += 1
        if sent == statement:
            os._exit(_CRASHED)
        return execute(sql, params, many, context)

    return wrapper


def crash_around_commit(statement: int, connection: Any, *, after: bool) -> None:
    """Make that COMMIT of the connection, counted from 1, the last thing the process does."""
    commits = 0
    commit = connection._commit

    def last_commit() -> None:
        nonlocal commits
        commits += 1
        if commits == statement and not after:
            os._exit(_CRASHED)
        commit()
        if commits == statement:
            os._exit(_CRASHED)

    connection._commit = last_commit


def started(name: str, prepare: Callable[[Any], None] | None) -> int:
    """Start the run in a process of its own and return how that ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    from django.db import connection

    connection.ensure_connection()
    if prepare is not None:
        prepare(connection)
    run(name)
    os._exit(0)


def crashes() -> list[Callable[[Any], None]]:
    """Return every way to crash: before statements 1 to 60, before and after commits 1 to 8."""
    before_statements = [
        lambda connection, n=n: connection.execute_wrappers.append(crash_at(n))
        for n in range(1, 61)
    ]
    around_commits = [
        lambda connection, n=n, after=after: crash_around_commit(n, connection, after=after)
        for n in range(1, 9)
        for after in (False, True)
    ]
    return [*before_statements, *around_commits]


def main() -> None:
    """Crash in every way in turn, each in a workspace of its own, and print what it came to."""
    from django.db import connections

    django.setup()
    connections.settings["default"].update(json.loads(sys.argv[1]))
    connections["default"].settings_dict.update(json.loads(sys.argv[1]))
    for number, crash in enumerate([None, *crashes()]):
        name = f"run-{number}"
        endings = [started(name, crash), started(name, None)]
        sys.stdout.write(json.dumps([name, endings]) + "\n")


if __name__ == "__main__":
    main()
