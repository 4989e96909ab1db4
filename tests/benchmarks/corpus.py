"""Notes that are the same in every run: about 500 characters each, one in seven not ASCII."""

from __future__ import annotations

import random
from collections.abc import Iterator

from django_agent_memory import Memory, Save

PATH = "bench/notes"
_SEED = 20_261_130
_WORDS = [
    "agent",
    "memory",
    "index",
    "note",
    "deploy",
    "release",
    "server",
    "customer",
    "invoice",
    "prefers",
    "meeting",
    "database",
    "password",
    "rotation",
    "incident",
    "weekly",
    "report",
    "design",
    "review",
    "branch",
    "migration",
    "timeout",
    "retry",
]
_FOREIGN = ("Привет, мир", "größer als Straße", "東京の会議", "café naïve", "Ελληνικά ΟΔΟΣ")


def note(number: int) -> tuple[str, str, str]:
    """Return key, summary and body of the note with this number."""
    chance = random.Random(_SEED + number)
    words = chance.choices(_WORDS, k=60)
    if number % 7 == 0:
        words[::12] = chance.choices(_FOREIGN, k=5)
    summary = " ".join(chance.choices(_WORDS, k=9)).capitalize()
    return f"area{number % 50:02}/note{number:06}", summary, " ".join(words)


def saves(count: int) -> Iterator[Save]:
    """Return that many notes as changes, made one by one."""
    for number in range(count):
        key, summary, body = note(number)
        yield Save(key=key, summary=summary, body=body)


def stored(count: int, path: str = PATH) -> Memory:
    """Return a memory that holds that many notes."""
    memory = Memory(path, actor="benchmark")
    memory.apply(saves(count))
    return memory
