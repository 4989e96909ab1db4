"""Paths as the memory tool has them: `/memories/<key>`, directories being what keys have in front.

Nothing is normalised. A path names exactly one key or is refused, so that no spelling of another
place, and none that a proxy or a decoder would make one, gets anywhere.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Refused
from django_agent_memory.text import gate

ROOT = "/memories"

# A backslash, and what stands for a dot, a slash or a backslash in an encoded path.
_DISGUISED = re.compile(r"\\|%(2e|2f|5c)", re.IGNORECASE)
_BREAKS_A_LINE = re.compile(r"[\t\n]")


class Place(NamedTuple):
    """What a path names: the `key` of a file, or of a directory if it ended with a slash.

    The key of /memories itself is "".
    """

    path: str
    key: str
    is_directory: bool

    @property
    def prefix(self) -> str:
        """What the keys of all files in this directory begin with."""
        return f"{self.key}/" if self.key else ""


def place(path: object, *, name: str = "path") -> Place:
    """Return what `path` names, or raise `Refused`; the sentence calls it `name`."""
    if not isinstance(path, str):
        raise Refused(f"`{name}` must be a path such as {ROOT}/notes.md.")
    if path.rstrip("/") == ROOT and path.removeprefix(ROOT) in ("", "/"):
        return Place(ROOT, "", is_directory=True)
    if not path.startswith(f"{ROOT}/"):
        raise Refused(f"The path {path[:100]} is not in {ROOT}. Give a path such as {ROOT}/a.md.")
    key = path.removeprefix(f"{ROOT}/").removesuffix("/")
    gate.check_key(key, limit=conf.max_key_length)
    if not is_reachable(key):
        raise Refused(
            f"The path {path[:100]} is refused: its parts are joined by single slashes, "
            "none of them is '.' or '..', and nothing in it is encoded."
        )
    return Place(path.removesuffix("/"), key, is_directory=path.endswith("/"))


def is_reachable(key: str) -> bool:
    """Whether a path names this key; other surfaces take keys that none does."""
    if _DISGUISED.search(key) or _BREAKS_A_LINE.search(key):
        return False
    return not any(part in ("", ".", "..") for part in key.split("/"))


def is_hidden(part: str) -> bool:
    """Whether listings leave out what is called so."""
    return part.startswith(".") or part == "node_modules"
