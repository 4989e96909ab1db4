"""Which shared notes of a workspace say the same, or nearly the same.

The same is what store compares: body, contexts, slot and source. Nearly the same are bodies that
have most of their different words in common; see `text.likeness`.
"""

from __future__ import annotations

import datetime
import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from django.db import router
from django.db.models import Count
from django.db.models.functions import Length

from .models import Note
from .models.note import NoteQuerySet
from .text.flags import LARGE_BODY
from .text.likeness import Words, may_be_alike, numbered, percent_alike, telling, words

LEAST_PERCENT = 80
"""How many of a hundred different words nearly the same bodies have in common, at least."""

MOST_LOOKED_AT = 2_000
"""So many notes are compared by their words: those that were stored last."""

LONGEST = LARGE_BODY
"""A body of more code points is compared as a whole only."""

MOST_GROUPS = 1_000
"""So many groups of the same text are told apart."""

_MOST_CHARACTERS = 2_000_000
_MOST_COMPARED = 10_000_000
_BATCH = 2_000


class _Row(NamedTuple):
    """What decides between notes of one fingerprint."""

    fingerprint: str
    revision: int
    expires_at: datetime.datetime | None
    pk: int


def repeated_later(path: str, *, using: str | None = None) -> set[tuple[int, int]]:
    """Return the notes of which one written later says the same, and does not expire before.

    By primary key and revision; of several such notes one is never among these. One statement, read
    in the order of the fingerprints and decided here: SQL that compares the notes of a group with
    each other takes a time that grows with the square of its size.
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


# The same


class Same(NamedTuple):
    """Notes of one fingerprint, and how many they are."""

    fingerprint: str
    size: int


def same(path: str, *, using: str | None = None) -> list[Same]:
    """Return the groups of live notes that say the same, the largest first: at most 1,001.

    One statement; the 1,001st is there to say that there are more than 1,000.
    """
    notes = _shared(path, using).live().filter(fingerprint__gt="").order_by()
    groups = notes.values("fingerprint").annotate(size=Count("pk")).filter(size__gt=1)
    rows = groups.order_by("-size", "fingerprint").values_list("fingerprint", "size")
    return [Same(*row) for row in rows[: MOST_GROUPS + 1]]


def of_same(
    path: str, groups: Iterable[Same], *, most: int, using: str | None = None
) -> dict[str, list[int]]:
    """Return the primary keys of each group by its fingerprint: the last written, at most `most`.

    One statement, which reads no text.
    """
    wanted = [group.fingerprint for group in groups]
    notes = _shared(path, using).live().filter(fingerprint__in=wanted)
    latest: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for fingerprint, revision, pk in notes.values_list("fingerprint", "revision", "pk"):
        kept = latest[fingerprint]
        (heapq.heappush if len(kept) < most else heapq.heappushpop)(kept, (revision, pk))
    return {name: [pk for _, pk in sorted(kept)[::-1]] for name, kept in latest.items()}


# Nearly the same


@dataclass(frozen=True, slots=True)
class Alike:
    """A note of a group, and how many of a hundred words it has in common with the first of it."""

    pk: int
    percent: int
    words: Words


@dataclass(frozen=True, slots=True, kw_only=True)
class NearlySame:
    """Groups of notes that are nearly the same, and how many of the last stored were looked at."""

    groups: list[list[Alike]]
    looked_at: int
    is_complete: bool
    """Whether those are all there are."""


class _Body(NamedTuple):
    """A note whose words are to be compared, without them."""

    pk: int
    revision: int
    fingerprint: str
    size: int


def nearly_same(path: str, *, using: str | None = None) -> NearlySame:
    """Return the groups of live notes that have at least 80 % of their words in common.

    The first of a group was stored last, and each other one is that much like the first. Of notes
    that say the same the last written stands for all. Two statements, and bounded work: the last
    2,000 notes are looked at, fewer where they are long; bodies over 20,000 code points are not.
    """
    live = _shared(path, using).live()
    newest = live.order_by("-position", "-pk").annotate(size=Length("body"))
    rows = [_Body(*row) for row in newest.values_list(*_Body._fields)[: MOST_LOOKED_AT + 1]]
    window = _within_budget(rows[:MOST_LOOKED_AT])
    wanted = _one_of_each(window)
    found = dict(live.filter(pk__in=wanted).values_list("pk", "body")) if wanted else {}
    said = [(pk, words(found[pk])) for pk in wanted if pk in found]
    groups, compared = _grouped(said)
    # Those that stand for no other are looked at too.
    looked_at = len(window) if compared == len(said) else compared
    return NearlySame(groups=groups, looked_at=looked_at, is_complete=looked_at == len(rows))


def _within_budget(rows: Sequence[_Body]) -> list[_Body]:
    """Return the first rows, as many as have 2,000,000 code points together."""
    left, window = _MOST_CHARACTERS, []
    for row in rows:
        left -= row.size if row.size <= LONGEST else 0
        if left < 0:
            break
        window.append(row)
    return window


def _one_of_each(rows: Iterable[_Body]) -> list[int]:
    """Return the primary keys in their order: of one fingerprint the last written, of "" all."""
    last: dict[str, _Body] = {}
    short = [row for row in rows if row.size <= LONGEST]
    for row in short:
        known = last.setdefault(row.fingerprint, row)
        if row.revision > known.revision:
            last[row.fingerprint] = row
    return [row.pk for row in short if not row.fingerprint or last[row.fingerprint] is row]


def _grouped(said: Sequence[tuple[int, Words]]) -> tuple[list[list[Alike]], int]:
    """Put each note to the group whose first it is most like, or begin one with it.

    Returns the groups of several, and how many notes were compared before the work was too much.
    """
    # Sets of small numbers are compared many times as fast as sets of words.
    numbers = numbered(text for _, text in said)
    groups: list[list[Alike]] = []
    firsts: list[frozenset[int]] = []
    by_word: dict[int, list[int]] = defaultdict(list)
    left, compared = _MOST_COMPARED, 0
    for pk, text in said:
        own = frozenset(map(numbers.__getitem__, text))
        rarest = telling(own, LEAST_PERCENT)
        near = sorted({group for word in rarest for group in by_word[word]})
        left -= sum(1 + min(len(own), len(firsts[group])) for group in near)
        if left < 0:
            break
        compared += 1
        best = _most_like(own, near, firsts)
        if best is not None:
            group, percent = best
            groups[group].append(Alike(pk, percent, text))
            continue
        for word in rarest:
            by_word[word].append(len(groups))
        groups.append([Alike(pk, 100, text)])
        firsts.append(own)
    return [group for group in groups if len(group) > 1], compared


def _most_like(
    own: frozenset[int], near: Iterable[int], firsts: Sequence[frozenset[int]]
) -> tuple[int, int] | None:
    """Return the group whose first is most like a text, the earliest of several, and how much.

    None where none is enough.
    """
    percents = (
        (percent_alike(own, firsts[group]), -group)
        for group in near
        if may_be_alike(own, firsts[group], LEAST_PERCENT)
    )
    percent, group = max(percents, default=(0, 0))
    return (-group, percent) if percent >= LEAST_PERCENT else None


def _shared(path: str, using: str | None) -> NoteQuerySet:
    notes = Note.objects.using(using or router.db_for_write(Note))
    return notes.filter(workspace__path=path).seen_in("")
