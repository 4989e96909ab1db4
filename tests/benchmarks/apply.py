"""`Memory.apply` of many notes beside bare `bulk_create` of the same rows, in fresh processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

from .timing import Row, turns

OURS, BARE = "Memory.apply", "bulk_create"


def run(scale: float) -> Iterator[Row]:
    """Measure the best rate and the worst peak of memory, the two taking turns."""
    count = max(20, int(100_000 * scale))
    runs = {OURS: [_load("apply", count)], BARE: [_load("bulk_create", count)]}
    for _ in range(turns(scale) - 1):
        runs[OURS].append(_load("apply", count))
        runs[BARE].append(_load("bulk_create", count))
    rates = {name: max(rate for rate, _ in seen) for name, seen in runs.items()}
    for name, seen in runs.items():
        is_ours = name == OURS
        peak = max(grown for _, grown in seen)
        yield Row(
            case=f"apply, {count} notes",
            contender=name,
            p50=f"{rates[name]:.0f} notes/s",
            ratio=f"{rates[name] / rates[BARE]:.2f}",
            goal="≥ 0.5" if is_ours else "",
        )
        yield Row(
            case=f"apply, {count} notes, peak memory above start",
            contender=name,
            p50=f"{peak:.0f} MB",
            goal="< 300 MB" if is_ours else "",
        )


def _load(how: str, count: int) -> tuple[float, float]:
    """Return notes a second and megabytes above the start, of a process that does only this."""
    command = [sys.executable, "-m", "tests.benchmarks.load", how, str(count)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rate, grown = json.loads(done.stdout)
    return rate, grown
