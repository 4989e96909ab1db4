"""The naive baseline, ours to compare with: a dict in a JSON file, written anew on every put."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = "JSON file (naive baseline)"


class _JsonFile:
    """As plain programs do it: read once, keep the dict, write all of it whenever it changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._notes: dict[str, list[str]] = json.loads(path.read_text()) if path.exists() else {}

    def fill(self, notes: Iterable[tuple[str, str, str]]) -> None:
        self._notes.update((key, [summary, body]) for key, summary, body in notes)
        self._save()

    def put(self, key: str, summary: str, body: str) -> None:
        self._notes[key] = [summary, body]
        self._save()

    def get(self, key: str) -> str | None:
        note = self._notes.get(key)
        return None if note is None else note[1]

    def search(self, text: str) -> list[str]:
        low = text.lower()
        return [
            key
            for key, parts in self._notes.items()
            if any(low in part.lower() for part in (key, *parts))
        ]

    def _save(self) -> None:
        self._path.write_text(json.dumps(self._notes))


@contextmanager
def opened(place: str) -> Iterator[_JsonFile]:
    """Open the file at `place`."""
    yield _JsonFile(Path(f"{place}.json"))
