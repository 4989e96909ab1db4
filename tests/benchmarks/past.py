"""History, as_of and the whole past index beside the queries they come down to."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from django.utils import timezone

from django_agent_memory import Memory
from django_agent_memory.models import Revision, Workspace
from django_agent_memory.text.rendering import index_text

from .corpus import PATH, note
from .driver import Driver
from .timing import Row, rows, take_turns, turns

_ROUNDS = 3
_FORGOTTEN_OF = 20

_HISTORY = (
    'SELECT number, operation, "key", summary, body, body_is_json, actor, reason, created_at'
    ' FROM agent_memory_revision WHERE workspace_id = %s AND "key" = %s'
)
_NOT_EXISTS = (
    'SELECT r."key", r.summary FROM agent_memory_revision r'
    " WHERE r.workspace_id = %s AND r.number <= %s AND r.summary IS NOT NULL AND NOT EXISTS"
    " (SELECT 1 FROM agent_memory_revision n WHERE n.workspace_id = r.workspace_id"
    ' AND n."key" = r."key" AND n.number > r.number AND n.number <= %s) ORDER BY r."key"'
)
_GROUPED = (
    'SELECT "key", summary FROM agent_memory_revision WHERE workspace_id = %s'
    " AND summary IS NOT NULL AND number IN (SELECT MAX(number) FROM agent_memory_revision"
    ' WHERE workspace_id = %s AND number <= %s GROUP BY "key") ORDER BY "key"'
)


def run(scale: float) -> Iterator[Row]:
    """Measure on a log of 300,000 revisions, three of each key; one key in twenty is forgotten."""
    keys = max(20, int(100_000 * scale))
    workspace = _log(keys)
    memory, driver = Memory(PATH), Driver()
    rounds = min(keys, max(4, int(1_000 * scale)))
    names = [note(number * 97 % keys)[0] for number in range(rounds)]
    yield from _of_one_key(memory, driver, workspace, names, rounds)
    yield from _of_the_index(memory, driver, workspace, scale)


def _of_one_key(
    memory: Memory, driver: Driver, workspace: Workspace, names: list[str], rounds: int
) -> Iterator[Row]:
    orm = "ORM, .values()"
    all_of_it = f"{_HISTORY} ORDER BY number"
    here = Revision.objects.filter(workspace__path=PATH)
    columns = [
        c.strip(' "') for c in _HISTORY.split(" FROM ")[0].removeprefix("SELECT ").split(",")
    ]
    taken = take_turns(
        {
            "Memory.history": lambda n: memory.history(names[n]),
            orm: lambda n: list(here.filter(key=names[n]).order_by("number").values(*columns)),
            "driver": lambda n: driver.fetch(all_of_it, workspace.pk, names[n]),
        },
        rounds,
    )
    yield from rows("history", taken, ours="Memory.history", against=orm, goal="≤ 3")
    middle = 2 * workspace.revision // 3
    last_until = f"{_HISTORY} AND number <= %s ORDER BY number DESC LIMIT 1"
    taken = take_turns(
        {
            "Memory.as_of": lambda n: memory.as_of(names[n], middle),
            orm: lambda n: list(
                here.filter(key=names[n], number__lte=middle)
                .order_by("-number")
                .values(*columns)[:1]
            ),
            "driver": lambda n: driver.fetch(last_until, workspace.pk, names[n], middle),
        },
        rounds,
    )
    yield from rows("as_of", taken, ours="Memory.as_of", against=orm, goal="≤ 3")


def _of_the_index(
    memory: Memory, driver: Driver, workspace: Workspace, scale: float
) -> Iterator[Row]:
    here, now = workspace.pk, workspace.revision

    def raw(sql: str, *params: Any) -> Any:
        return lambda _: index_text(driver.fetch(sql, *params))

    contenders = {
        "Memory.at().index_note": lambda _: memory.at(now).index_note(),
        "driver, NOT EXISTS": raw(_NOT_EXISTS, here, now, now),
        "driver, GROUP BY": raw(_GROUPED, here, here, now),
    }
    taken = take_turns(contenders, max(2, turns(scale)))
    ours, *others = contenders
    best = min(others, key=lambda name: statistics.median(taken[name]))
    yield from rows("past index", taken, ours=ours, against=best, goal="≤ 1.5")


def _log(keys: int) -> Workspace:
    """Store the revisions of that many keys and return the workspace."""
    now = timezone.now()
    workspace = Workspace.objects.create(path=PATH, revision=_ROUNDS * keys)
    for turn in range(_ROUNDS):
        for first in range(0, keys, 1_000):
            numbers = range(first, min(first + 1_000, keys))
            Revision.objects.bulk_create(
                [_revision(workspace, turn, number, keys, now) for number in numbers]
            )
    return workspace


def _revision(workspace: Workspace, turn: int, number: int, keys: int, now: Any) -> Revision:
    key, summary, body = note(number)
    is_gone = turn == _ROUNDS - 1 and number % _FORGOTTEN_OF == 0
    return Revision(
        workspace=workspace,
        number=1 + turn * keys + number,
        key=key,
        operation="forget" if is_gone else "remember",
        summary=None if is_gone else f"{summary} {turn}",
        body=None if is_gone else f"{body} {turn}",
        created_at=now,
    )
