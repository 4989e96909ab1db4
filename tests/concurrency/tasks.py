"""What the processes of the crew do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from django.db import transaction

from django_agent_memory import Memory
from django_agent_memory.exceptions import AgentMemoryError
from django_agent_memory.models import Note, Workspace


@contextmanager
def outer_that_has_read(path: str) -> Iterator[None]:
    """Open a transaction as a host does that reads before it writes."""
    with transaction.atomic():
        list(Note.objects.filter(workspace__path=path))
        list(Workspace.objects.filter(path=path))
        yield


def remember_many(
    worker: int, path: str, count: int, inside_outer: bool
) -> tuple[dict[str, int], list[str]]:
    """Remember `count` notes; return key → revision of what was acknowledged, and the errors."""
    memory = Memory(path, actor=f"worker-{worker}")
    acknowledged: dict[str, int] = {}
    errors: list[str] = []
    for number in range(count):
        key = f"w{worker:02}/n{number:02}"
        try:
            with outer_that_has_read(path) if inside_outer else nullcontext():
                done = memory.remember(key, f"Summary of {key}", f"Body of {key}")
            acknowledged[key] = done.revision
        except AgentMemoryError as error:
            errors.append(f"{key}: {error!r} from {error.__cause__!r}")
    return acknowledged, errors
