"""Which shared notes of a workspace say the same."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from django.db import router

from .models import Note
from .models.note import NoteQuerySet

_BATCH = 2_000


class _Row(NamedTuple):
    """What decides between notes of one fingerprint."""

    fingerprint: str
    revision: int
    expires_at: datetime.datetime | None
    pk: int


def repeated_later(path: str, *, using: str | None = None) -> set[tuple[int, int]]:
    """Return the notes of which one written later says the same, and does not expire before.

    By primary key and revision. The same is what store compares: body, contexts, slot and source.
    Of several such notes one is never among these.

    One statement, read in the order of the fingerprints and decided here: SQL that compares the
    notes of a group with each other takes a time that grows with the square of its size.
    """
    notes = _shared(path, using).filter(fingerprint__gt="").order_by("fingerprint", "-revision")
    rows = map(_Row._make, notes.values_list(*_Row._fields).iterator(_BATCH))
    groups = groupby(rows, key=itemgetter(0))
    return {(row.pk, row.revision) for _, group in groups for row in _outlasted(group)}


def _outlasted(group: Iterable[_Row]) -> Iterator[_Row]:
    """Yield those of one fingerprint, latest first, that a later one outlasts or equals."""
    latest: _Row | None = None
    # Only raw SQL gives two notes one revision; neither of them was then written later.
    for _, together in groupby(group, key=itemgetter(1)):
        rows = list(together)
        yield from (row for row in rows if latest is not None and _lasts(latest, row))
        for row in rows:
            if latest is None or not _lasts(latest, row):
                latest = row


def _lasts(later: _Row, row: _Row) -> bool:
    """Whether the later one does not expire before the other."""
    if later.expires_at is None or row.expires_at is None:
        return later.expires_at is None
    return later.expires_at >= row.expires_at


def _shared(path: str, using: str | None) -> NoteQuerySet:
    notes = Note.objects.using(using or router.db_for_write(Note))
    return notes.filter(workspace__path=path).seen_in("")
