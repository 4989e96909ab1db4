"""The adapters beside the stores that their frameworks have themselves, taking turns.

Both are equally safe: each put is committed when it returns, SQLite files have the same journal.
The ratio is to the framework's own store: of times, and of the puts a second of many writers.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

from django.db import connection

from tests.concurrency.crew import Crew

from .corpus import note
from .fill import report
from .stores import anthropic, langgraph, pydantic_ai
from .timing import Row, rows, take_turns, turns

_OPENERS: dict[str, Callable[[str], Any]] = {
    langgraph.OURS: langgraph.opened_ours,
    langgraph.SQLITE: langgraph.opened_sqlite,
    langgraph.POSTGRES: langgraph.opened_postgres,
    pydantic_ai.OURS: pydantic_ai.opened_ours,
    pydantic_ai.SQLITE: pydantic_ai.opened_sqlite,
    pydantic_ai.POSTGRES: pydantic_ai.opened_postgres,
    anthropic.OURS: anthropic.opened_ours,
    anthropic.FILES: anthropic.opened_files,
}
_STORES = {
    "sqlite": (langgraph.SQLITE, pydantic_ai.SQLITE),
    "postgresql": (langgraph.POSTGRES, pydantic_ai.POSTGRES),
}
_BATCH = 100
_BATCHES = 20
_WRITERS = 4
_PUTS = 100
_ROUNDS = 300
_FIRST_OF_BATCHES = 10_000
_FEWEST = 4

_Action = Callable[[Any, int], None]


class _Actions:
    """What is done by turns; notes are made beforehand, and a round past zero only warms up."""

    def __init__(self, rounds: int, batches: int) -> None:
        self._notes = [note(number) for number in range(2 * rounds)]
        self._batches = [
            [note(_FIRST_OF_BATCHES + batch * _BATCH + number) for number in range(_BATCH)]
            for batch in range(2 * batches)
        ]

    def put_new(self, store: Any, number: int) -> None:
        store.put(*self._notes[number])

    def put_over(self, store: Any, number: int) -> None:
        key, summary, body = self._notes[number]
        store.put(key, summary, f"{body} again")

    def get(self, store: Any, number: int) -> None:
        key, _, body = self._notes[number]
        assert store.get(key) == f"{body} again", key

    def put_many(self, store: Any, number: int) -> None:
        store.put_many(self._batches[number])

    def get_many(self, store: Any, number: int) -> None:
        batch = self._batches[number]
        assert store.get_many([key for key, _, _ in batch]) == [body for _, _, body in batch]


class Pair(NamedTuple):
    """An adapter and what its framework has itself."""

    ours: str
    theirs: str


def run(scale: float) -> Iterator[Row]:
    """Measure each pair; on SQLite with the journal of its default, then with WAL."""
    lacking = langgraph.missing("postgres") or pydantic_ai.missing() or anthropic.missing()
    if lacking:
        report(f"the frameworks are missing: {lacking}")
        return
    crew = Crew(_WRITERS)
    try:
        for journal in _journals():
            for pair in _pairs():
                report(f"{pair.ours} {journal}")
                with tempfile.TemporaryDirectory() as folder:
                    # The last part names what is kept in the database at hand.
                    place = f"{folder}/{pair.ours}{journal}"
                    yield from _calls(pair, place, journal, scale)
                    yield from _at_once(pair, place, journal, scale, crew)
    finally:
        crew.dismiss()


def _journals() -> Iterator[str]:
    if connection.vendor != "sqlite":
        yield ""
        return
    for mode in ("DELETE", "WAL"):
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA journal_mode = {mode}")
        yield mode


def _pairs() -> Iterator[Pair]:
    ours = (langgraph.OURS, pydantic_ai.OURS)
    for pair in zip(ours, _STORES.get(connection.vendor, ()), strict=False):
        yield Pair(*pair)
    yield Pair(anthropic.OURS, anthropic.FILES)


def _calls(pair: Pair, place: str, journal: str, scale: float) -> Iterator[Row]:
    rounds, batches = (max(_FEWEST, round(count * scale)) for count in (_ROUNDS, _BATCHES))
    actions = _Actions(rounds, batches)
    single = {"put, new": actions.put_new, "put, over": actions.put_over, "get": actions.get}
    with ExitStack() as stack:
        stores = {name: stack.enter_context(_OPENERS[name](place)) for name in pair}
        for action, call in single.items():
            yield from _turns(f"{action} {journal}", call, stores, pair, rounds)
        if pair.ours == langgraph.OURS:
            yield from _turns(f"put {_BATCH} {journal}", actions.put_many, stores, pair, batches)
            yield from _turns(f"get {_BATCH} {journal}", actions.get_many, stores, pair, batches)


def _turns(
    case: str, call: _Action, stores: Mapping[str, Any], pair: Pair, rounds: int
) -> Iterable[Row]:
    taken = take_turns({name: partial(call, store) for name, store in stores.items()}, rounds)
    return rows(case.rstrip(), taken, ours=pair.ours, against=pair.theirs, goal="≤ 1")


def _at_once(pair: Pair, place: str, journal: str, scale: float, crew: Crew) -> Iterator[Row]:
    """Let each have as many writers, one after the other, thrice."""
    puts = max(_FEWEST, round(_PUTS * scale))
    rates: dict[str, list[float]] = {name: [] for name in pair}
    kept = dict.fromkeys(pair, 0)
    for number in range(turns(scale)):
        for name in pair:
            here = f"{place}{number}"
            with _OPENERS[name](here):
                pass  # Tables are made once, before anybody writes.
            done = crew.run(put_at_once, name, here, puts)
            taken = max(end for _, end, _ in done) - min(began for began, _, _ in done)
            acknowledged = sum(count for _, _, count in done)
            rates[name].append(acknowledged / taken)
            kept[name] += acknowledged
    for name in pair:
        rate, theirs = (statistics.median(rates[which]) for which in (name, pair.theirs))
        yield Row(
            case=f"{_WRITERS} processes put {puts} notes each {journal}".rstrip(),
            contender=name,
            p50=f"{rate:.0f} puts/s",
            p95=f"{kept[name]} of {len(rates[name]) * _WRITERS * puts} done",
            ratio=f"{rate / theirs:.2f}",
            goal="≥ 1" if name == pair.ours else "",
        )


def put_at_once(worker: int, name: str, place: str, count: int) -> tuple[float, float, int]:
    """Put notes of its own, and return when it began and ended and how many were acknowledged."""
    acknowledged = 0
    with _OPENERS[name](place) as store:
        notes = [note(worker * count + number) for number in range(count)]
        began = time.time()
        for key, summary, body in notes:
            try:
                store.put(f"at-once/{key}", summary, body)
            except Exception as error:  # noqa: BLE001  (each store fails in a way of its own)
                report(f"{name}: {error!r}")
            else:
                acknowledged += 1
        return began, time.time(), acknowledged
