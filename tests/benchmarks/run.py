"""One database's benchmarks: makes a test database, prints a row a contender, drops it."""

from __future__ import annotations

import sys
from importlib import import_module

import django
from django.core.management import call_command
from django.db import connection


def main(scale: float, notes: int, cases: list[str]) -> None:
    """Run the cases, each on empty tables; `notes`, if not 0, is the size of those that tell it."""
    django.setup()
    name = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        for case in cases:
            call_command("flush", verbosity=0, interactive=False)
            module = import_module(f"tests.benchmarks.{case}")
            has_size = notes and hasattr(module, "NOTES")
            for row in module.run(notes / module.NOTES if has_size else scale):
                sys.stdout.write(f"{row}\n")
                sys.stdout.flush()
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
