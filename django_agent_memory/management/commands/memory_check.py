"""`manage.py memory_check`: find rows that contradict each other, and mend them."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from django_agent_memory import writing
from django_agent_memory.exceptions import AgentMemoryError
from django_agent_memory.results import Defect
from django_agent_memory.text.rendering import one_line

from ._workspaces import add_workspace_argument, chosen_paths


class Command(BaseCommand):
    """Name every defect with its key; exit 1 if any is left."""

    help = (
        "Find notes, index entries and revisions that contradict each other; --repair mends them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_workspace_argument(parser)
        parser.add_argument(
            "--repair",
            action="store_true",
            help="mend what is found, in new revisions: nothing that is readable now is lost",
        )

    def handle(self, *args: Any, workspace: str | None, repair: bool, **options: Any) -> None:
        found = 0
        unchecked = 0
        for path in chosen_paths(workspace):
            try:
                defects = _defects(path, repair=repair)
            except AgentMemoryError as error:
                unchecked += 1
                self.stderr.write(f"{one_line(path)}: {error}")
                continue
            found += len(defects)
            for defect in defects:
                self.stdout.write(f"{path}: {_described(defect)}")
        self._conclude(found, unchecked, repair=repair)

    def _conclude(self, found: int, unchecked: int, *, repair: bool) -> None:
        if repair:
            self.stdout.write(f"{found} repaired.")
        elif found:
            raise CommandError(f"{found} found; run again with --repair to mend them.")
        elif not unchecked:
            self.stdout.write("No defect found.")
        if unchecked:
            raise CommandError(f"{unchecked} workspaces could not be checked, as said above.")


def _defects(path: str, *, repair: bool) -> list[Defect]:
    if repair:
        return writing.repair(path, actor="manage.py", reason="memory_check --repair")
    return list(writing.find_defects(path))


def _described(defect: Defect) -> str:
    what = defect.kind.replace("_", " ")
    if defect.kind in ("revisions_missing", "contexts_without_note"):
        return f"{defect.count} {what}"
    return f'{what}: "{one_line(defect.key)}"' if defect.key else what
