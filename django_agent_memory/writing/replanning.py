"""Writes that are planned outside of the lock, and planned anew where somebody came in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django_agent_memory.exceptions import Conflict

_TRIES = 10

_Done = TypeVar("_Done")


def replanned(attempt: Callable[[], _Done]) -> _Done:
    """Call `attempt`, which plans and writes, until it meets no `Conflict`; at most 10 times."""
    for tries_left in reversed(range(_TRIES)):
        try:
            return attempt()
        except Conflict:
            if not tries_left:
                raise
    raise AssertionError("unreachable")
