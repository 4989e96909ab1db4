"""Taking turns, and the rows of the table that come of it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from django.db import connection

HEADER = (
    "| case | database | contender | p50 | p95 | ratio | goal |\n|---|---|---|---:|---:|---:|---|"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One contender in one case; `ratio` is its p50 to that of the contender it is held against."""

    case: str
    contender: str
    p50: str
    p95: str = ""
    ratio: str = ""
    goal: str = ""

    def __str__(self) -> str:
        cells = (self.case, database(), self.contender, self.p50, self.p95, self.ratio, self.goal)
        return f"| {' | '.join(cells)} |"


def database() -> str:
    """Return the name people use for the database at hand."""
    mariadb = connection.vendor == "mysql" and connection.mysql_is_mariadb
    return "mariadb" if mariadb else connection.vendor


def turns(scale: float) -> int:
    """Return how often each contender of a long case runs: thrice, once in a small trial."""
    return 3 if scale >= 0.1 else 1


def take_turns(
    contenders: Mapping[str, Callable[[int], object]], rounds: int
) -> dict[str, list[float]]:
    """Call each contender once a round, the first one changing, and return milliseconds."""
    names = list(contenders)
    taken: dict[str, list[float]] = {name: [] for name in names}
    for number in range(-max(2, rounds // 10), rounds):
        for name in _rotated(names, number):
            started = time.perf_counter()
            contenders[name](number)
            if number >= 0:
                taken[name].append(1000 * (time.perf_counter() - started))
    return taken


def rows(
    case: str,
    taken: Mapping[str, list[float]],
    *,
    ours: str,
    against: str,
    goal: str,
) -> Iterable[Row]:
    """Return a row for each contender; `ours` is held against the contender `against`."""
    base = statistics.median(taken[against])
    for name, times in taken.items():
        p95 = statistics.quantiles(times, n=20, method="inclusive")[-1]
        yield Row(
            case=case,
            contender=name,
            p50=f"{statistics.median(times):.3f} ms",
            p95=f"{p95:.3f} ms",
            ratio=f"{statistics.median(times) / base:.2f}",
            goal=goal if name == ours else "",
        )


def _rotated(names: list[str], number: int) -> list[str]:
    first = number % len(names)
    return names[first:] + names[:first]
