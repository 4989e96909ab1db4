"""The questions and notes of `data/`, written for this project: who they tell of is made up.

A file is one workspace. A dialogue is a list of sessions, each turn a line `Speaker: text`; other
notes are lines `key | contexts | subject | text`. A question is a line
`kind | question | evidence | …`, where each piece of evidence is some words of the one note that
holds it.

`lantern` was written after the weights had been settled; only the length of a note that counts at
most was changed later, for all of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What find sees of a note; `position` grows in the order of storing."""

    key: str
    body: str
    summary: str = ""
    subject: str = ""
    contexts: tuple[str, ...] = ()
    happened_at: datetime | None = None
    position: int = 0
    stored: int = 0
    """When it was written last; of all of the set the same."""
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    text: str
    kind: str
    evidence: frozenset[str]
    """The keys of the notes that answer it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    name: str
    notes: tuple[Note, ...]
    questions: tuple[Question, ...]


def workspaces() -> list[Workspace]:
    """Read all workspaces; raise ValueError if a piece of evidence is not in exactly one note."""
    return [_workspace(path) for path in sorted(DATA.glob("*.toml"))]


def _workspace(path: Path) -> Workspace:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    notes = tuple(_notes(data))
    questions = tuple(_question(line, notes) for line in _lines(data["questions"]))
    return Workspace(name=path.stem, notes=notes, questions=questions)


def _notes(data: dict[str, Any]) -> Iterator[Note]:
    position = 0
    for number, session in enumerate(data.get("session", ()), 1):
        for turn, line in enumerate(_lines(session["turns"]), 1):
            position += 1
            speaker, _, text = line.partition(": ")
            yield Note(
                key=f"session-{number}/{turn:03}",
                body=text,
                subject=speaker,
                contexts=(f"session-{number}",),
                happened_at=session["at"] + timedelta(seconds=30 * turn),
                position=position,
            )
    for day in data.get("day", ()):
        for line in _lines(day["notes"]):
            position += 1
            key, contexts, subject, text = (part.strip() for part in line.split("|", 3))
            yield Note(
                key=key,
                body=text,
                subject=subject,
                contexts=tuple(context.strip() for context in contexts.split(",")),
                happened_at=day["at"],
                position=position,
            )


def _question(line: str, notes: tuple[Note, ...]) -> Question:
    kind, text, *fragments = (part.strip() for part in line.split("|"))
    return Question(
        text=text, kind=kind, evidence=frozenset(_holder(words, notes) for words in fragments)
    )


def _holder(words: str, notes: tuple[Note, ...]) -> str:
    holders = [note.key for note in notes if words.lower() in note.body.lower()]
    if len(holders) != 1:
        raise ValueError(f"{words!r} is in {len(holders)} notes, not in one")
    return holders[0]


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]
