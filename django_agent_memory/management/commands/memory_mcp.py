"""`manage.py memory_mcp`: a workspace for an agent on this machine, over standard input and output.

Whoever may run it may do to the memory what the arguments leave.
"""

from __future__ import annotations

import contextlib
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from django_agent_memory.exceptions import Refused
from django_agent_memory.mcp.principal import LocalPrincipal
from django_agent_memory.mcp.stdio import serve


class Command(BaseCommand):
    """Speak the Model Context Protocol on stdin and stdout until stdin ends."""

    help = "Serve a workspace over the Model Context Protocol, on standard input and output."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("workspace", help="path of the workspace; made by the first write")
        parser.add_argument("actor", help="the agent's label in every revision it writes")
        parser.add_argument("--read-only", action="store_true", help="no tool that writes")
        parser.add_argument(
            "--tools",
            type=lambda names: names.split(","),
            metavar="NAMES",
            help="only these, with commas between; without, the five of every memory",
        )

    def handle(self, *args: Any, workspace: str, actor: str, **options: Any) -> None:
        try:
            principal = LocalPrincipal(
                workspace, actor, only=options["tools"], read_only=options["read_only"]
            )
        except (Refused, ValueError) as error:
            raise CommandError(str(error)) from error
        # What else prints would be read as a message.
        output = sys.stdout.buffer
        quietly = contextlib.suppress(KeyboardInterrupt, BrokenPipeError)
        with contextlib.redirect_stdout(sys.stderr), quietly:
            serve(sys.stdin.buffer, output, principal)
