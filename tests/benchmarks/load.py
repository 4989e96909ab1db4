"""Store many notes in a new workspace, then say how fast and in how much memory."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import django
from django.db import transaction
from django.utils import timezone

_BATCH = 500


def main(how: str, count: int) -> None:
    """Print `[notes a second, megabytes above the start]`."""
    django.setup()
    from django_agent_memory.models import Workspace

    load: Callable[[str, int], None] = {"apply": by_apply, "bulk_create": by_bulk_create}[how]
    path = f"bench/{how}-{time.time_ns()}"
    Workspace.objects.create(path=path)
    before, started = megabytes("VmRSS"), time.perf_counter()
    load(path, count)
    rate = count / (time.perf_counter() - started)
    sys.stdout.write(json.dumps([rate, megabytes("VmHWM") - before]))
    Workspace.objects.get(path=path).notes.all().delete()


def by_apply(path: str, count: int) -> None:
    """Store them through the channel."""
    from django_agent_memory import Memory

    from .corpus import saves

    outcomes = Memory(path).apply(saves(count))
    assert len(outcomes) == count


def by_bulk_create(path: str, count: int) -> None:
    """Insert the same three rows a note, in one transaction and the same batches, unchecked."""
    from django_agent_memory.models import IndexEntry, Note, Revision, Workspace
    from django_agent_memory.text.folding import haystack

    from .corpus import note

    workspace, now = Workspace.objects.get(path=path), timezone.now()
    numbered = enumerate(map(note, range(count)), start=1)
    with transaction.atomic():
        while batch := list(islice(numbered, _BATCH)):
            there = [({"workspace": workspace, "key": key}, n, s, b) for n, (key, s, b) in batch]
            Note.objects.bulk_create(
                Note(
                    **row,
                    body=body,
                    haystack=haystack(row["key"], summary, body),
                    revision=number,
                    position=number,
                    created_at=now,
                    updated_at=now,
                )
                for row, number, summary, body in there
            )
            IndexEntry.objects.bulk_create(
                IndexEntry(**row, summary=summary) for row, _, summary, _ in there
            )
            Revision.objects.bulk_create(
                Revision(
                    **row,
                    number=number,
                    operation="remember",
                    summary=summary,
                    body=body,
                    created_at=now,
                )
                for row, number, summary, body in there
            )


def megabytes(name: str) -> float:
    """Return a line of this process's status: VmRSS is its memory now, VmHWM at its peak."""
    status = Path("/proc/self/status").read_text()
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    assert found
    return int(found[1]) / 1024


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
