"""`Memory.search` beside the best SQL for the same answer, and beside `icontains`.

Three workspaces share one table. The two ratios of a row are to the driver's best accelerated
query and to its best scan; – where there is none.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product

from django_agent_memory import Memory
from django_agent_memory.models import Workspace

from . import accelerator
from .driver import Driver
from .fill import analyze, fill, report, warm
from .patience import call_each, milliseconds, take_turns_within
from .planted import PATTERNS, Pattern
from .raw_search import Found, RawSearch, by_icontains
from .search_memory import megabytes_grown
from .search_writes import remember_with_and_without
from .timing import Row

NOTES = 1_000_000
INDEXED, SCAN, NAIVE = "driver, accelerated", "driver, scan", "icontains"
_RARE, _EVERYWHERE = PATTERNS[:2]
_FEWEST = 10
# The patterns that every workspace is searched for first: rare, in every note, in none.
_OF_INTEREST = 3
# Of one database, beside loading. Rows for which there is no time are left out.
_SECONDS = 330
_SECONDS_A_PATTERN = 1.5
# What a site would write takes seconds in a large table; these say how it grows and what it misses.
_NAIVE = ("rare", "in every note", "Cyrillic")

Times = dict[str, list[float]]
Answers = Callable[[], Found]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A workspace of the benchmark, and the quickest way found to do what is done by hand."""

    path: str
    count: int
    raw: RawSearch
    best: dict[tuple[str, bool], str] = field(default_factory=dict)


def run(scale: float) -> Iterator[Row]:
    """Measure what a write pays, every pattern in each workspace, then growth and memory."""
    largest = max(_FEWEST, round(NOTES * scale))
    sizes = {f"bench/{part}": max(_FEWEST, largest // part) for part in (100, 10, 1)}
    yield from _load(sizes, scale)
    places = [_place(path, count) for path, count in sizes.items()]
    until = time.monotonic() + _SECONDS
    for pattern, place in _in_order_of_interest(places):
        if time.monotonic() > until:
            report(f"no time left for {pattern.name} in {place.count} notes")
            continue
        yield from _measure(pattern, place)
    yield from _growth(places)
    yield from _memory(places)


def _in_order_of_interest(places: list[_Place]) -> Iterator[tuple[Pattern, _Place]]:
    """Yield the first patterns in every workspace, then the others by workspace.

    By workspace alone a slow database would never come to its largest.
    """
    yield from product(PATTERNS[:_OF_INTEREST], places)
    for place in places:
        yield from ((pattern, place) for pattern in PATTERNS[_OF_INTEREST:])


def ours() -> str:
    """Return what search is called here: what it has to work with is part of the name."""
    return f"Memory.search, {'accelerated' if accelerator.name() else 'scan'}"


def _load(sizes: Mapping[str, int], scale: float) -> Iterator[Row]:
    is_accelerated = accelerator.can_be_built()
    if is_accelerated:
        yield from remember_with_and_without(scale)
        # Building it over what is there takes less time than keeping it while loading.
        accelerator.drop()
    rate = fill(sizes)
    total = sum(sizes.values())
    yield Row(case=f"filling, {total} notes", contender="driver", p50=f"{rate:.0f} notes/s")
    if is_accelerated:
        took = f"{accelerator.build():.1f} s"
        yield Row(case=f"building, {total} notes", contender="memory_search_index", p50=took)
    analyze()
    warm()
    report("filled")


def _place(path: str, count: int) -> _Place:
    workspace = Workspace.objects.get(path=path)
    raw = RawSearch(Driver(), workspace.pk, accelerator.name())
    return _Place(path=path, count=count, raw=raw)


def _measure(pattern: Pattern, place: _Place) -> Iterator[Row]:
    """Yield a row for each contender, once all but the naive one are seen to agree."""
    calls = {ours(): partial(_searched, place.path, pattern.text), **_by_hand(pattern, place)}
    first, answers = call_each(calls)
    expected = pattern.total(place.count)
    for name, (keys, total) in answers.items():
        assert total == expected, f"{name} finds {total} of {expected} for {pattern.name}"
        assert keys == answers[ours()][0], f"{name} finds other keys for {pattern.name}"
    for base in (INDEXED, SCAN):
        _keep_quickest(base, calls, first, pattern, place)
    if pattern.name in _NAIVE:
        calls |= _naive(pattern, place, first)
    report(f"{pattern.name} in {place.count} notes: {sum(first.values()) / 1_000:.1f} s a round")
    taken = take_turns_within(min(_SECONDS_A_PATTERN, place.count / 1_000), calls, first)
    yield from _rows(pattern, place, taken)


def _by_hand(pattern: Pattern, place: _Place) -> dict[str, Answers]:
    """Return every way to do it by hand, only the best where that is known."""
    calls: dict[str, Answers] = {}
    for base, ways in (
        (INDEXED, place.raw.accelerated(pattern.text, is_common=pattern.is_common)),
        (SCAN, place.raw.scans(is_common=pattern.is_common)),
    ):
        best = place.best.get((base, pattern.is_common))
        calls |= {
            f"{base}: {name}": partial(way, pattern.text)
            for name, way in ways.items()
            if best in {None, name}
        }
    return calls


def _keep_quickest(
    base: str, calls: dict[str, Answers], first: dict[str, float], pattern: Pattern, place: _Place
) -> None:
    """Leave of the ways to do `base` the quickest, under that name, and remember which it is."""
    ways = {name: call for name, call in calls.items() if name.startswith(f"{base}: ")}
    if not ways:
        return
    quickest = min(ways, key=first.__getitem__)
    place.best[base, pattern.is_common] = quickest.removeprefix(f"{base}: ")
    calls[base], took = calls[quickest], first[quickest]
    for name in ways:
        del calls[name], first[name]
    first[base] = took


def _naive(pattern: Pattern, place: _Place, first: dict[str, float]) -> dict[str, Answers]:
    """Return the naive contender, its name saying what it gets wrong."""
    call = partial(by_icontains, place.path, pattern.text)
    times, answers = call_each({NAIVE: call})
    total, expected = answers[NAIVE][1], pattern.total(place.count)
    name = NAIVE if total == expected else f"{NAIVE}, wrong: {total} of {expected}"
    first[name] = times[NAIVE]
    return {name: call}


def _searched(path: str, text: str) -> Found:
    result = Memory(path).search(text)
    return [match.key for match in result.matches], result.total


def _rows(pattern: Pattern, place: _Place, taken: Times) -> Iterator[Row]:
    for name, times in taken.items():
        p50, p95 = milliseconds(times)
        ratios = (_ratio(times, taken.get(base)) for base in (INDEXED, SCAN))
        yield Row(
            case=f"search, {pattern.name}, {place.count} notes",
            contender=name,
            p50=p50,
            p95=p95,
            ratio=" / ".join(ratios),
        )


def _ratio(times: list[float], base: list[float] | None) -> str:
    if base is None:
        return "–"
    return f"{statistics.median(times) / statistics.median(base):.3g}"


def _growth(places: list[_Place]) -> Iterator[Row]:
    smallest, largest = (
        lambda path=place.path: _searched(path, _RARE.text) for place in (places[0], places[-1])
    )
    calls: dict[str, Answers] = {"smallest": smallest, "largest": largest}
    first, _ = call_each(calls)
    taken = take_turns_within(_SECONDS_A_PATTERN, calls, first)
    yield Row(
        case=f"growth of search, {_RARE.name}, {places[0].count} → {places[-1].count} notes",
        contender=ours(),
        p50=milliseconds(taken["largest"])[0],
        ratio=_ratio(taken["largest"], taken["smallest"]),
        goal="< 2",
    )


def _memory(places: list[_Place]) -> Iterator[Row]:
    for place in (places[0], places[-1]):
        yield Row(
            case=f"search, {_EVERYWHERE.name}, {place.count} notes, peak memory above start",
            contender=ours(),
            p50=f"{megabytes_grown(place.path, _EVERYWHERE.text):.1f} MB",
            goal="flat" if place is places[-1] else "",
        )
