"""The memory tool of Anthropic's SDK on a folder of files, and ours.

A put makes a file; over one that is there it replaces all its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

OURS, FILES = "MemoryTool", "BetaLocalFilesystemMemoryTool"


class FilesOfATool:
    """A memory tool, called with what a model sends."""

    def __init__(self, tool: Any) -> None:
        self._tool = tool
        self._bodies: dict[str, str] = {}

    def put(self, key: str, summary: str, body: str) -> None:
        path, known = f"/memories/{key}", self._bodies.get(key)
        if known is None:
            self._tool.call({"command": "create", "path": path, "file_text": body})
        else:
            edit = {"command": "str_replace", "path": path, "old_str": known, "new_str": body}
            self._tool.call(edit)
        self._bodies[key] = body

    def get(self, key: str) -> str | None:
        said: str = self._tool.call({"command": "view", "path": f"/memories/{key}"})
        # A header, then each line behind its number.
        lines = said.split("\n")[1:]
        return "\n".join(line.partition("\t")[2] for line in lines)


def missing() -> str:
    """Return what to install for it; "" if it is there."""
    return "" if find_spec("anthropic") else "pip install -r tests/requirements/peers.txt"


@contextmanager
def opened_files(place: str) -> Iterator[FilesOfATool]:
    """Open the SDK's own tool on a folder of its own at `place`."""
    from anthropic.tools import BetaLocalFilesystemMemoryTool

    yield FilesOfATool(BetaLocalFilesystemMemoryTool(f"{place}.folder"))


@contextmanager
def opened_ours(place: str) -> Iterator[FilesOfATool]:
    """Open the adapter of this package on a workspace named as the last part of `place`."""
    from django_agent_memory import Memory
    from django_agent_memory.adapters.anthropic import MemoryTool

    yield FilesOfATool(MemoryTool(Memory(f"tool/{Path(place).name}")))
