"""`manage.py memory_search_index`: what makes searches fast, seen, made and removed."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connections

from django_agent_memory.exceptions import Busy
from django_agent_memory.search.engines.base import State
from django_agent_memory.search.upkeep import refusal, search_engine


class Command(BaseCommand):
    """Say what the search index is; build it anew; drop it. Searches answer alike with all."""

    help = "Show, build or drop the search index. Without it searches find the same, more slowly."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["status", "build", "drop"])
        parser.add_argument("--database", metavar="ALIAS", help="default: where notes are written")

    def handle(self, *args: Any, action: str, database: str | None, **options: Any) -> None:
        if database is not None and database not in connections:
            raise CommandError(f"There is no database {database!r} in DATABASES.")
        engine = search_engine(database)
        try:
            if action == "build":
                self._build(engine)
            elif action == "drop":
                engine.drop()
            status = engine.status()
        except Busy as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(f"The database refused: {refusal(error)}") from error
        self.stdout.write(f"{status.state}: {status.sentence}")
        if status.state is State.DAMAGED:
            raise CommandError("Run memory_search_index build.")

    def _build(self, engine: Any) -> None:
        if engine.status().state is State.UNAVAILABLE:
            return
        engine.build(self._progress)
        if self._shows_progress():
            self.stderr.write("")

    def _progress(self, done: int, total: int) -> None:
        if self._shows_progress():
            self.stderr.write(f"\r{100 * done // max(total, 1)} %", ending="")
            self.stderr.flush()

    def _shows_progress(self) -> bool:
        return sys.stderr.isatty()
