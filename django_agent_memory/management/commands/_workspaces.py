"""The `--workspace` argument of commands that otherwise go over every workspace."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import CommandError

from django_agent_memory.exceptions import Refused
from django_agent_memory.models import Workspace
from django_agent_memory.text import gate


def add_workspace_argument(parser: ArgumentParser) -> None:
    """Add `--workspace PATH` to the command."""
    parser.add_argument("--workspace", metavar="PATH", help="only this one; all without it")


def chosen_paths(path: str | None) -> list[str]:
    """Return the path given, or all there are; an unknown one is a CommandError."""
    if path is None:
        return list(Workspace.objects.order_by("path").values_list("path", flat=True))
    try:
        gate.check_path(path)
    except Refused as refusal:
        raise CommandError(str(refusal)) from refusal
    if not Workspace.objects.filter(path=path).exists():
        raise CommandError(f"There is no workspace {path}.")
    return [path]
