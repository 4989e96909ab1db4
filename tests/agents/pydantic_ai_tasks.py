"""What the processes of the crew do with the store of pydantic-ai-harness."""

from __future__ import annotations

import asyncio
import random

from asgiref.sync import async_to_sync
from pydantic_ai_harness.memory import MemoryConflictError, MemoryOperation

from django_agent_memory import Memory
from django_agent_memory.adapters.pydantic_ai import NoteStore
from django_agent_memory.exceptions import AgentMemoryError


def append_words(worker: int, path: str, count: int) -> list[str]:
    """Append `count` words of its own to one file of a NoteStore; return the errors."""
    store = NoteStore(Memory(path, actor=f"worker-{worker}"))
    errors = []
    for number in range(count):
        try:
            async_to_sync(_append)(store, f"w{worker}n{number}")
        except AgentMemoryError as error:
            errors.append(repr(error))
    return errors


async def _append(store: NoteStore, word: str) -> None:
    while True:
        found = await store.read("main/MEMORY.md", max_chars=100_000)
        text, version = ("", None) if found is None else (found.content, found.version)
        try:
            await store.write("main/MEMORY.md", f"{text}{word} ", expected_version=version)
        except MemoryConflictError:
            await asyncio.sleep(random.uniform(0, 0.05))
        else:
            return


def write_one_operation(worker: int, path: str) -> tuple[str | None, bool]:
    """Do the operation that all do; return its version and whether another did it."""
    store = NoteStore(Memory(path, actor=f"worker-{worker}"))
    operation = MemoryOperation(id="the one", fingerprint="same")
    done = async_to_sync(store.write)(
        "main/MEMORY.md", f"by {worker}", expected_version=None, operation=operation
    )
    return done.version, done.replayed
