"""Undoing all that one actor wrote since a moment, without touching what others wrote after it."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from django.db.models import Q

from . import writing
from .history import Moment, check_moment
from .models import Revision, Workspace
from .models.details import stored
from .models.revision import RevisionQuerySet
from .writing.channel import check_signature


def plan(
    path: str, *, actor: str, since: Moment, using: str, session: str = ""
) -> tuple[list[writing.Restore], list[str]]:
    """Return the restores that undo the actor's writes, and the keys to be left alone.

    Left alone is what others changed later, what only a redacted revision could bring back, and
    what was before is not known because retention took it.
    """
    check_moment(since)
    check_signature(actor, "")
    complete_from = _complete_from(path, using)
    revisions = Revision.objects.using(using).filter(workspace__path=path).seen_in(session)
    first = _first_number(revisions, since)
    from_then_on = revisions.filter(number__gte=first)
    touched = from_then_on.filter(actor=actor)
    log = from_then_on.filter(key__in=touched.values("key")).order_by("number")
    trails: dict[str, _Trail] = {}
    rows = log.annotate(gone=Q(body__isnull=True))
    for row in rows.values_list("key", "number", "actor", "gone"):
        trails.setdefault(row[0], _Trail()).add(*row[1:], undone=actor)
    undoable = {key: trail for key, trail in trails.items() if not trail.others_followed}
    _find_what_was_before(undoable, first, revisions)
    unknown = {
        key
        for key, trail in undoable.items()
        if trail.before is None and trail.first <= complete_from
    }
    blanked = set(revisions.filter(redacted=True).values_list("number", flat=True))
    redacted = {key for key, trail in undoable.items() if trail.before in blanked}
    changes = [
        writing.Restore(key=key, revision=trail.before or 0, expected_revision=trail.last)
        for key, trail in sorted(undoable.items())
        if key not in redacted | unknown
    ]
    return changes, sorted(trails.keys() - undoable.keys() | redacted | unknown)


def _complete_from(path: str, using: str) -> int:
    """Return the revision from which on retention has taken nothing."""
    rows = Workspace.objects.using(using).filter(path=path)
    return rows.values_list("history_from", flat=True).first() or 0


def _first_number(revisions: RevisionQuerySet, since: Moment) -> int:
    """Return the number that the log begins with at `since`; beyond the end is one past it."""
    if isinstance(since, int):
        return since
    later = revisions.filter(created_at__gte=stored(since)).order_by("number")
    number: int | None = later.values_list("number", flat=True).first()
    return sys.maxsize if number is None else number


@dataclass
class _Trail:
    """The revisions of one key since the moment, followed oldest first."""

    before: int | None = None  # the last revision before the actor's first one
    first: int = 0  # the actor's first revision
    last: int = 0  # what a note must be at now: 0 where it is forgotten
    others_followed: bool = False

    def add(self, number: int, by: str, gone: bool, *, undone: str) -> None:  # noqa: FBT001
        if by == undone:
            self.first = self.first or number
        elif self.first:
            self.others_followed = True
        else:
            self.before = number
        self.last = 0 if gone else number


def _find_what_was_before(
    trails: dict[str, _Trail], first: int, revisions: RevisionQuerySet
) -> None:
    """Complete `before` where it lies before the first revision of the moment."""
    wanted = [key for key, trail in trails.items() if trail.before is None]
    for start in range(0, len(wanted), 500):
        for key, number in revisions.last_of(wanted[start : start + 500], first - 1):
            trails[key].before = number
