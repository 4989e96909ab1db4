"""Taking turns with a limit: what is quick runs often, what takes seconds runs once."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

_T = TypeVar("_T")

_MOST_ROUNDS = 20
_FEWEST_FOR_P95 = 5


def call_each(calls: Mapping[str, Callable[[], _T]]) -> tuple[dict[str, float], dict[str, _T]]:
    """Call each once and return the milliseconds and the answers."""
    times, answers = {}, {}
    for name, call in calls.items():
        started = time.perf_counter()
        answers[name] = call()
        times[name] = 1000 * (time.perf_counter() - started)
    return times, answers


def take_turns_within(
    seconds: float, calls: Mapping[str, Callable[[], object]], first: Mapping[str, float]
) -> dict[str, list[float]]:
    """Return milliseconds of each, called by turns until its share of the time is over.

    `first` is what a first call of each took: it only warms up and is not counted, unless another
    would take longer than the share.
    """
    taken: dict[str, list[float]] = {name: [] for name in calls}
    share = 1000 * seconds / len(calls)
    for _ in range(_MOST_ROUNDS):
        left = {n: call for n, call in calls.items() if sum(taken[n]) + first[n] <= share}
        for name, took in call_each(left)[0].items():
            taken[name].append(took)
    return {name: times or [first[name]] for name, times in taken.items()}


def milliseconds(times: list[float]) -> tuple[str, str]:
    """Return the median and the 95th percentile as they are shown, the latter of five or more."""
    p95 = ""
    if len(times) >= _FEWEST_FOR_P95:
        p95 = f"{statistics.quantiles(times, n=20, method='inclusive')[-1]:.3f} ms"
    return f"{statistics.median(times):.3f} ms", p95
