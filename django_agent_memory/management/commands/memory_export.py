"""`manage.py memory_export`: a workspace as a file."""

from __future__ import annotations

import os
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError
from django.db import router

from django_agent_memory.exceptions import AgentMemoryError
from django_agent_memory.models import Note
from django_agent_memory.transfer import export_jsonl

_EVERY = 10_000


class Command(BaseCommand):
    """Write what is kept of a workspace to a file, whole or not at all."""

    help = "Write the notes, the index and the history of a workspace as JSON Lines."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help='where to write it; "-" is the standard output')
        parser.add_argument("--workspace", required=True, metavar="PATH", help="its path")
        parser.add_argument(
            "--private", action="store_true", help="with what sessions have to themselves"
        )

    def handle(self, *args: Any, file: str, workspace: str, **options: Any) -> None:
        try:
            using = router.db_for_read(Note)
            lines = export_jsonl(workspace, using=using, private=options["private"])
        except AgentMemoryError as error:
            raise CommandError(str(error)) from error
        if file == "-":
            self._write(lines, sys.stdout.buffer)
            return
        count = self._write_file(lines, Path(file))
        self.stdout.write(f"{count} lines of {workspace} in {file}.")

    def _write_file(self, lines: Iterator[bytes], file: Path) -> int:
        """Write beside the file and put it in its place once it is whole."""
        if file.is_dir():
            raise CommandError(f"{file} is a folder. Name a file in it.")
        try:
            with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as part:
                try:
                    count = self._write(lines, part)
                except BaseException:
                    Path(part.name).unlink()
                    raise
            os.replace(part.name, file)
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror or error}.") from error
        return count

    def _write(self, lines: Iterator[bytes], file: BinaryIO | Any) -> int:
        count = 0
        for count, line in enumerate(lines, 1):
            file.write(line)
            if count % _EVERY == 0:
                self.stderr.write(f"{count} lines")
        return count
