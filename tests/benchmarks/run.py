"""One database's benchmarks: makes a test database, prints a row a contender, drops it."""

from __future__ import annotations

import sys
from importlib import import_module

import django
from django.core.management import call_command
from django.db import connection


def main(scale: float, cases: list[str]) -> None:
    """Run the cases, each on empty tables."""
    django.setup()
    name = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        for case in cases:
            call_command("flush", verbosity=0, interactive=False)
            for row in import_module(f"tests.benchmarks.{case}").run(scale):
                sys.stdout.write(f"{row}\n")
                sys.stdout.flush()
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2:])
