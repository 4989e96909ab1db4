"""`manage.py memory_sources list|run`: fill memories from what the site has elsewhere."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from django_agent_memory.exceptions import AgentMemoryError
from django_agent_memory.sources.registry import Source, chosen, sources
from django_agent_memory.sources.running import Failed, attempt
from django_agent_memory.text import gate
from django_agent_memory.text.rendering import one_line


class Command(BaseCommand):
    """List the registered sources, or run one or all of them; exit 1 if any failed."""

    help = (
        "Run the sources that memory_sources.py of the installed apps registers. Run twice, they "
        "leave the same notes."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("list", help="show the sources, by name")
        run = actions.add_parser("run", help="run one source, or all of them")
        run.add_argument("name", nargs="?", help="of the source; all without it")
        run.add_argument(
            "--dry-run", action="store_true", help="write nothing, and print the same counts"
        )
        run.add_argument(
            "--workspace", metavar="PATH", help="with a name: fill this one instead of its own"
        )
        run.add_argument(
            "--forget-missing",
            action="store_true",
            help="forget, restorably, what the source stored before and stores no longer",
        )

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        try:
            if action == "list":
                self._list(list(sources().values()))
            else:
                self._run(_named(options["name"], options["workspace"]), options)
        except AgentMemoryError as error:
            raise CommandError(str(error)) from error

    def _list(self, found: Sequence[Source]) -> None:
        for source in found:
            about = f": {one_line(source.description)}" if source.description else ""
            where = source.workspace or "the workspace that is named"
            self.stdout.write(f"{source.name} fills {where}{about}")
        if not found:
            self.stdout.write("No app registers a source.")

    def _run(self, found: Sequence[Source], options: dict[str, Any]) -> None:
        failed = [source.name for source in found if not self._succeeds(source, options)]
        if failed:
            raise CommandError(f"{len(failed)} of {len(found)} failed: {', '.join(failed)}.")
        if not found:
            self.stdout.write("No app registers a source.")

    def _succeeds(self, source: Source, options: dict[str, Any]) -> bool:
        shown = _Progress(self, source.name)
        ran = attempt(
            source,
            workspace=options["workspace"],
            dry_run=options["dry_run"],
            forget_missing=options["forget_missing"],
            progress=shown,
        )
        shown.end()
        if isinstance(ran, Failed):
            self.stderr.write(f"{ran.name}: {ran.sentence}")
            return False
        for line in ran.lines():
            self.stdout.write(line)
        return True


class _Progress:
    """How many notes are done, on a terminal; nothing elsewhere."""

    def __init__(self, command: Command, name: str) -> None:
        self.command = command
        self.name = name
        self.shown = False

    def __call__(self, done: int) -> None:
        if sys.stderr.isatty():
            self.command.stderr.write(f"\r{self.name}: {done}", style_func=str, ending="")
            self.command.stderr.flush()
            self.shown = True

    def end(self) -> None:
        """Leave the line."""
        if self.shown:
            self.command.stderr.write("", style_func=str)


def _named(name: str | None, workspace: str | None) -> list[Source]:
    """Return the source of that name, or all; raise `Refused` where that makes no sense."""
    if workspace is not None:
        gate.check_path(workspace)
        if name is None:
            raise CommandError("--workspace is for one source: name it before the option.")
    return list(sources().values()) if name is None else [chosen(name)]
