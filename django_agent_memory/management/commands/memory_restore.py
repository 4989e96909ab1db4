"""`manage.py memory_restore`: bring back what a key said."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from django_agent_memory.exceptions import AgentMemoryError
from django_agent_memory.memory import Memory


class Command(BaseCommand):
    """Restore a key as of a revision, in a new revision."""

    help = "Bring back what a key said as of a revision; the change is a revision of its own."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("workspace", help="path of the workspace")
        parser.add_argument("key", help="the exact key")
        parser.add_argument("revision", type=int, help="its number, as memory_history shows it")
        parser.add_argument(
            "--expected-revision",
            type=int,
            metavar="NUMBER",
            help="do nothing unless this is still the note's last revision (0: it is forgotten)",
        )
        parser.add_argument("--actor", default="manage.py", help="who signs the new revision")
        parser.add_argument("--reason", default="", help="why, for the history")

    def handle(self, *args: Any, workspace: str, key: str, revision: int, **options: Any) -> None:
        try:
            restored = Memory(workspace, actor=options["actor"]).restore(
                key,
                revision,
                expected_revision=options["expected_revision"],
                reason=options["reason"],
            )
        except AgentMemoryError as error:
            raise CommandError(str(error)) from error
        if restored.outcome == "unchanged":
            self.stdout.write(f'"{key}" says exactly that already; nothing changed.')
        elif restored.exists:
            self.stdout.write(
                f'Restored "{key}" as of revision {restored.restored_revision}, '
                f"as revision {restored.revision}."
            )
        else:
            self.stdout.write(
                f'"{key}" did not exist as of revision {restored.restored_revision}: '
                f"forgotten again, as revision {restored.revision}."
            )
