"""This package, called as a Python program calls it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django_agent_memory import Memory, Save

NAME = "Memory"


class _Ours:
    def __init__(self, path: str) -> None:
        self._memory = Memory(path)

    def fill(self, notes: Iterable[tuple[str, str, str]]) -> None:
        self._memory.apply(Save(key=key, summary=said, body=body) for key, said, body in notes)

    def put(self, key: str, summary: str, body: str) -> None:
        self._memory.remember(key, summary, body)

    def get(self, key: str) -> str | None:
        note = self._memory.recall(key)
        return None if note is None else note.body

    def search(self, text: str) -> list[str]:
        return [match.key for match in self._memory.search(text).matches]


@contextmanager
def opened(place: str) -> Iterator[_Ours]:
    """Open the workspace named as the last part of `place`."""
    yield _Ours(f"peers/{Path(place).name}")
