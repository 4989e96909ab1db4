"""`manage.py memory_history`: what a key said, when, and by whom."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from django_agent_memory.exceptions import AgentMemoryError
from django_agent_memory.memory import Memory
from django_agent_memory.text import rendering


class Command(BaseCommand):
    """Print the revisions of a key, a line each, oldest first."""

    help = "Print every revision of a key, oldest first, with who wrote it and why."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("workspace", help="path of the workspace")
        parser.add_argument("key", help="the exact key")
        parser.add_argument(
            "--body", type=int, metavar="NUMBER", help="print that revision's body and nothing else"
        )

    def handle(self, *args: Any, workspace: str, key: str, **options: Any) -> None:
        try:
            self._print(Memory(workspace), key, options["body"])
        except AgentMemoryError as error:
            raise CommandError(str(error)) from error

    def _print(self, memory: Memory, key: str, number: int | None) -> None:
        revisions = memory.history(key)
        if not revisions:
            hint = rendering.did_you_mean(memory.near_keys(key))
            raise CommandError(f'"{key}" has no history in {memory.path}. {hint}'.strip())
        if number is not None:
            self._print_body(key, {revised.number: revised.text for revised in revisions}, number)
            return
        for line, revised in zip(memory.lines_of(revisions), revisions, strict=True):
            by = f" by {rendering.one_line(revised.actor)}" if revised.actor else ""
            why = f": {rendering.one_line(revised.reason)}" if revised.reason else ""
            self.stdout.write(line + by + why)

    def _print_body(self, key: str, texts: dict[int, str | None], number: int) -> None:
        if number not in texts:
            raise CommandError(f'"{key}" has no revision {number} (any more).')
        text = texts[number]
        if text is None:
            raise CommandError(f'Revision {number} of "{key}" is a forget: it has no body.')
        self.stdout.write(text, ending="")
