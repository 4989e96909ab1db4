"""Command line of the benchmarks."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from .timing import HEADER

CASES = ("write", "recall", "index", "past", "journal", "apply", "http")
# Not part of all: a million notes take minutes, others' memories are to be installed first.
EXTRA = ("search", "find", "admin", "duplicates", "peers", "adapters", "plans")
DATABASES = ("sqlite", "postgres", "mariadb")


def main(arguments: list[str] | None = None) -> None:
    """Print the table: each database's benchmarks run in a process of their own."""
    chosen = _parser().parse_args(arguments)
    cases = CASES if chosen.case == "all" else (chosen.case,)
    sys.stdout.write(f"{HEADER}\n")
    sys.stdout.flush()
    for database in chosen.db.split(","):
        environment = {
            **os.environ,
            "AGENT_MEMORY_TEST_DB": database,
            "AGENT_MEMORY_TEST_DB_NAME": chosen.name,
            "DJANGO_SETTINGS_MODULE": "tests.benchmarks.site",
        }
        command = [
            sys.executable,
            "-m",
            "tests.benchmarks.run",
            *map(str, (chosen.scale, chosen.notes)),
            *cases,
        ]
        subprocess.run(command, env=environment, check=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("case", nargs="?", default="all", choices=[*CASES, *EXTRA, "all"])
    parser.add_argument("--db", default="sqlite", help=f"any of {','.join(DATABASES)}")
    parser.add_argument("--scale", type=float, default=1.0, help="part of the full sizes")
    parser.add_argument("--notes", type=int, default=0, help="size of search and peers")
    parser.add_argument("--name", default="test_benchmarks", help="name of the database it makes")
    return parser


if __name__ == "__main__":
    main()
