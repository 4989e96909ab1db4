"""How much a process grows by one search: it does this and nothing else."""

from __future__ import annotations

import subprocess
import sys

import django

from .load import megabytes


def megabytes_grown(path: str, pattern: str) -> float:
    """Return the most megabytes a fresh process grew by while it searched the workspace."""
    command = [sys.executable, "-m", "tests.benchmarks.search_memory", path, pattern]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def main(path: str, pattern: str) -> None:
    """Print the growth above what a search that finds nothing had needed."""
    django.setup()
    from django_agent_memory import Memory

    memory = Memory(path)
    # Imports and the connection are not what is measured.
    assert memory.search("zeppelin hangar").total == 0
    before = megabytes("VmHWM")
    assert memory.search(pattern).total
    sys.stdout.write(str(megabytes("VmHWM") - before))


if __name__ == "__main__":
    main(*sys.argv[1:])
