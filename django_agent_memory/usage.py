"""When notes are recalled: kept by the process for a while, then written, if that is easy.

A recall is a read, and must stay one: it is noted in memory, and what has gathered for a minute
(`AGENT_MEMORY_USAGE_SECONDS`) is written when a request is over, or by a later recall outside
requests. Never inside a transaction of the caller's, never waiting for a lock; what cannot be
written is let go of. `find` takes the more recently recalled of two notes that are equal otherwise.
"""

from __future__ import annotations

import datetime
from collections import Counter
from threading import Lock
from time import monotonic
from typing import Any

from django.core.exceptions import SynchronousOnlyOperation
from django.db import Error, connections
from django.utils import timezone

from .conf import conf
from .models import Note, NoteUsage, Workspace
from .writing import impatient, upsert

MOST_PENDING = 1_000
"""Notes that are kept in memory; with more they are written before their time."""

_Place = tuple[str, str]
"""Database alias and path of the workspace."""


class _Pending:
    """What was recalled since it was last written."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.since = 0.0
        self.counts: dict[_Place, Counter[str]] = {}
        self.last: dict[_Place, datetime.datetime] = {}

    def add(self, place: _Place, key: str) -> None:
        with self.lock:
            if not self.counts:
                self.since = monotonic()
            self.counts.setdefault(place, Counter())[key] += 1
            self.last[place] = timezone.now()

    def is_due(self) -> bool:
        seconds = conf.usage_seconds
        with self.lock:
            if not self.counts or seconds is None:
                return False
            many = sum(map(len, self.counts.values())) >= MOST_PENDING
            return many or monotonic() - self.since >= seconds

    def take(self) -> list[tuple[_Place, Counter[str], datetime.datetime]]:
        """Return what may be written now, and keep what its connection is in a transaction for."""
        with self.lock:
            places = [place for place in self.counts if _is_free(place[0])]
            return [(place, self.counts.pop(place), self.last.pop(place)) for place in places]


_PENDING = _Pending()


def recalled(path: str, key: str, *, using: str) -> None:
    """Note that `key` was recalled; write what is due."""
    if conf.usage_seconds is None:
        return
    _PENDING.add((using, path), key)
    if _PENDING.is_due():
        flush()


def after_request(**_: Any) -> None:
    """Write what is due; connected to the end of each request, when connections are closed."""
    if _PENDING.is_due():
        for alias in flush():
            connections[alias].close_if_unusable_or_obsolete()


def flush() -> set[str]:
    """Write what was recalled, as far as that is possible without waiting; never raises for it.

    Returns the aliases of the databases that were asked.
    """
    asked = set()
    for (alias, path), counts, moment in _PENDING.take():
        asked.add(alias)
        try:
            with impatient(alias):
                _write(path, counts, moment, alias)
        except (Error, SynchronousOnlyOperation):
            # Locked, read-only or gone, or on an event loop. What is lost is a hint for find.
            continue
    return asked


def _write(path: str, counts: Counter[str], moment: datetime.datetime, alias: str) -> None:
    workspace = Workspace.objects.using(alias).filter(path=path).first()
    notes = Note.objects.using(alias).filter(workspace=workspace, key__in=sorted(counts))
    recalls = {
        position: counts[key]
        for key, position in notes.values_list("key", "position")
        if position and workspace
    }
    known = NoteUsage.objects.using(alias).filter(workspace=workspace, position__in=recalls)
    for position, count in known.values_list("position", "recall_count"):
        recalls[position] += count
    rows = [
        NoteUsage(workspace=workspace, position=position, recalled_at=moment, recall_count=count)
        for position, count in sorted(recalls.items())
    ]
    if rows:
        overwrite = ("recalled_at", "recall_count")
        identity = ("workspace", "position")
        upsert(NoteUsage, rows, identity=identity, overwrite=overwrite, using=alias)


def _is_free(alias: str) -> bool:
    """Whether no transaction is open there; asked without connecting."""
    connection = connections[alias]
    if connection.connection is None:
        return True
    return bool(connection.autocommit) and not connection.in_atomic_block
