"""Undoing a batch: the notes that one write forgot or changed, as they were before it.

A batch is a run of revisions, which follow one another because they were written together.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from django.db import router
from django.db.models import Max, Min

from . import writing
from .exceptions import NotAllowed
from .memory import Memory
from .models import Revision
from .models.revision import RevisionQuerySet
from .results import Outcome, Restored, RolledBack
from .writing import Restore

_BATCH = 500

_Written = tuple[int, str, str]
"""Number, key and session of a revision."""


class Touched(NamedTuple):
    """A key that the batch forgot or changed, and what may stand in the way of undoing that."""

    key: str
    number: int
    """The revision that did it."""
    before: int | None
    """The revision that it said before; None where retention took that."""
    was_written_since: bool
    was_redacted: bool
    session: str = ""
    """The session whose note it was, "" for one that all shared."""

    @property
    def has_text(self) -> bool:
        """Whether the history still has what the key said before."""
        return self.before is not None and not self.was_redacted

    @property
    def is_undoable(self) -> bool:
        """Whether it has, and nobody wrote to the key since."""
        return self.has_text and not self.was_written_since


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one write forgot, in the order of its revisions, which is that of the keys.

    `changed` are the notes that the same write gave another text, as merging does; none where it
    only forgot.
    """

    first: int
    last: int
    actor: str
    reason: str
    created_at: datetime.datetime
    tombstones: list[Touched]
    changed: list[Touched]

    @property
    def restores(self) -> list[Restore]:
        """The changes that undo it: each holds only where nobody wrote to the key since."""
        return [
            *(_restore(stone, 0) for stone in self.tombstones if stone.is_undoable),
            *(_restore(note, note.number) for note in self.changed if note.is_undoable),
        ]

    @property
    def left_alone(self) -> list[str]:
        """The keys that an undo does not touch."""
        touched = [*self.tombstones, *self.changed]
        return [one.key for one in touched if not one.is_undoable]


def _restore(touched: Touched, expected_revision: int) -> Restore:
    return Restore(
        key=touched.key, revision=touched.before or 0, expected_revision=expected_revision
    )


def batch_of(
    path: str, first: int, last: int, *, of_sessions: bool = False, using: str | None = None
) -> Batch | None:
    """Return what the write of revision `first` forgot, up to revision `last`; None if nothing.

    Of what all share; with `of_sessions`, of what sessions had to themselves and lost as they were
    ended, each in a write of its own, by one person for one reason. Four statements, one more where
    it changed notes as well, and two for each 500 notes; no text is read.
    """
    revisions = Revision.objects.using(using or router.db_for_write(Revision))
    revisions = revisions.filter(workspace__path=path)
    seen = revisions if of_sessions else revisions.seen_in("")
    forgets = seen.filter(operation=Revision.Operation.FORGET)
    if of_sessions:
        forgets = forgets.filter(session__gt="")
    head = (
        forgets.filter(number=first, number__lte=last)
        .values("actor", "reason", "created_at")
        .first()
    )
    if head is None:
        return None
    # One write has one time and one name, whatever else is in the run.
    of_run = seen.filter(number__range=(first, last)).order_by("number")
    together = of_run.filter(actor=head["actor"], created_at=head["created_at"])
    if of_sessions:
        run_of_forgets = forgets.filter(number__range=(first, last)).order_by("number")
        together = run_of_forgets.filter(actor=head["actor"], reason=head["reason"])
    before = _before(of_run, seen, first)
    forgot, saved = _by_operation(together)
    changed = _changed(saved, seen, before, {key for _, key, _ in forgot})
    latest = _last_of(revisions, {key for _, key, _ in [*forgot, *changed]}, sys.maxsize)
    blanked = set(seen.filter(redacted=True, number__lt=last).values_list("number", flat=True))

    def touched(number: int, key: str, session: str) -> Touched:
        return Touched(
            key,
            number,
            before[number],
            was_written_since=latest[key] > number,
            was_redacted=before[number] in blanked,
            session=session,
        )

    return Batch(
        first=first,
        last=last,
        **head,
        tombstones=[touched(*row) for row in forgot],
        changed=[touched(*row) for row in changed],
    )


def batch_around(tombstone: Revision) -> tuple[int, int]:
    """Return the first and the last revision of what the write of a forget forgot."""
    log = Revision.objects.using(tombstone._state.db).seen_in("")
    same = log.filter(
        workspace=tombstone.workspace_id,
        created_at=tombstone.created_at,
        actor=tombstone.actor,
        operation=Revision.Operation.FORGET,
    )
    ends = same.aggregate(first=Min("number"), last=Max("number"))
    return ends["first"], ends["last"]


def _by_operation(together: RevisionQuerySet) -> tuple[list[_Written], list[_Written]]:
    """Return what was forgotten, and what was saved."""
    rows = list(together.values_list("operation", "number", "key", "session"))
    forgets, saves = Revision.Operation.FORGET, Revision.Operation.REMEMBER
    forgot, saved = ([row[1:] for row in rows if row[0] == kind] for kind in (forgets, saves))
    return forgot, saved


def _changed(
    saved: Iterable[_Written],
    shared: RevisionQuerySet,
    before: dict[int, int | None],
    forgotten: set[str],
) -> list[_Written]:
    """Return those of the saved keys that were notes before and were not forgotten as well."""
    numbers = [at for number, _, _ in saved if (at := before[number]) is not None]
    notes: set[int] = set()
    for start in range(0, len(numbers), _BATCH):
        said = shared.filter(number__in=numbers[start : start + _BATCH], body__isnull=False)
        notes.update(said.values_list("number", flat=True))
    return [row for row in saved if before[row[0]] in notes and row[1] not in forgotten]


def _before(
    of_run: RevisionQuerySet, shared: RevisionQuerySet, first: int
) -> dict[int, int | None]:
    """Return which revision of its key came before each of the run; None where none is left."""
    rows = list(of_run.values_list("number", "key"))
    last = _last_of(shared, {key for _, key in rows}, first - 1)
    found: dict[int, int | None] = {}
    for number, key in rows:
        found[number], last[key] = last.get(key), number
    return found


def _last_of(revisions: RevisionQuerySet, keys: Iterable[str], number: int) -> dict[str, int]:
    """Return the last revision of each key up to this number.

    In plain steps: told in one statement, MariaDB compares each key with the whole log.
    """
    wanted = list(keys)
    found: dict[str, int] = {}
    for start in range(0, len(wanted), _BATCH):
        found.update(revisions.last_of(wanted[start : start + _BATCH], number))
    return found


def undo(
    memory: Memory, first: int, last: int, *, of_sessions: bool = False, reason: str = ""
) -> RolledBack:
    """Bring back, in one write, what the batch forgot and changed; see `batch_of`.

    Left alone is what was written since, what was redacted, and what retention took: so that to
    undo twice does nothing the second time. What a session had comes back as its own, for as long
    as what it writes now. Raises what `Memory.apply` raises.
    """

    def attempt() -> RolledBack:
        batch = batch_of(memory.path, first, last, of_sessions=of_sessions, using=memory.using)
        if batch is None:
            return RolledBack(restored=(), left_alone=())
        write = _write_for_sessions if of_sessions else Memory.apply
        restored = tuple(
            outcome
            for outcome in write(memory, batch.restores, reason=reason)
            if isinstance(outcome, Restored) and outcome.outcome == "restored"
        )
        return RolledBack(restored=restored, left_alone=tuple(batch.left_alone))

    return writing.replanned(attempt)


def _write_for_sessions(
    memory: Memory, changes: Iterable[Restore], *, reason: str
) -> list[Outcome]:
    """Apply the changes as one to whom the notes of every session are there."""
    if memory.read_only:
        raise NotAllowed("This memory is read-only; nothing was written.")
    return writing.apply(
        memory.path,
        changes,
        actor=memory.actor,
        reason=reason,
        session=None,
        using=memory.using,
    )
