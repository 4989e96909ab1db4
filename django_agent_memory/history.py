"""The past: what was said under a key, when, by whom, and what a whole workspace said then.

Revisions are only ever appended, so all of this reads without a lock. A moment is a revision number
or an aware datetime.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef
from django.utils import timezone

from .exceptions import Pruned
from .models import Revision, Workspace
from .models.details import stored
from .models.note import NoteQuerySet
from .models.revision import RevisionQuerySet
from .results import Revised, fields_of
from .text import rendering

Moment = int | datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A moment in the log of a workspace: its last revision then, and what time it was.

    What had expired by that time was not there. `workspace_pk` is None where there is no workspace.
    """

    workspace_pk: int | None
    number: int
    now: datetime.datetime


def history(path: str, key: str, *, using: str, session: str = "") -> tuple[Revised, ...]:
    """Return every revision of `key`, oldest first."""
    return tuple(map(revised, _of_key(path, key, using, session).order_by("number")))


def written_by(notes: NoteQuerySet, actor: str) -> NoteQuerySet:
    """Return those of `notes` whose last revision has this actor and is still kept."""
    last = Revision.objects.filter(workspace=OuterRef("workspace"), number=OuterRef("revision"))
    return notes.filter(Exists(last.filter(actor=actor)))


def history_lines(revisions: Iterable[Revised]) -> tuple[str, ...]:
    """Return each revision as one line."""
    return tuple(
        rendering.history_line(
            revision.number,
            revision.operation,
            revision.key,
            revision.body if revision.exists else rendering.GONE,
            _aware(revision.created_at),
        )
        for revision in revisions
    )


def as_of(path: str, key: str, moment: Moment, *, using: str, session: str = "") -> Revised | None:
    """Return the state of `key` at `moment`, or None: never there, forgotten or expired by then.

    Below 1 is None, beyond the end is now; a revision's time is that of its write. Raises `Pruned`
    where retention took the answer, and TypeError for anything but a moment (a bool is none).
    """
    check_moment(moment)
    rows = _of_key(path, key, using, session)
    row = _until(rows, moment).order_by("-number").first()
    if row is None and _is_pruned(path, moment, using):
        raise Pruned(f'What "{key}" said then is not known: older revisions were removed or lost.')
    if row is None or row.body is None or _had_expired(row, path, moment, using):
        return None
    return revised(row)


def locate(path: str, moment: Moment, *, using: str) -> Point:
    """Return where `moment` is in the log of the workspace.

    Raises `Pruned` where the workspace at that moment is no longer complete. Below 1 is nothing,
    beyond the end is now.
    """
    check_moment(moment)
    now = timezone.now()
    workspace = Workspace.objects.using(using).filter(path=path).first()
    if workspace is None:
        return Point(workspace_pk=None, number=0, now=now)
    rows = _until(Revision.objects.using(using).filter(workspace=workspace), moment)
    last = rows.order_by("-number").values_list("number", "created_at").first()
    number, written_at = last or (0, now)
    if isinstance(moment, int):
        number = max(number, min(moment, workspace.revision))
        now = written_at if moment <= workspace.revision else now
    else:
        now = min(stored(moment), now)
    before_all = isinstance(moment, int) and moment < 1
    if number < workspace.history_from and not before_all:
        raise Pruned(
            f"The past before revision {workspace.history_from} is not complete: older revisions "
            "were removed or lost."
        )
    return Point(workspace_pk=workspace.pk, number=number, now=now)


def check_moment(moment: object) -> None:
    """Raise TypeError unless `moment` is an int (not a bool) or an aware datetime."""
    if type(moment) is int:
        return
    if not isinstance(moment, datetime.datetime) or timezone.is_naive(moment):
        raise TypeError("A moment is a revision number or an aware datetime.")


def revised(row: Revision) -> Revised:
    """Return the row as plain data."""
    return Revised(
        number=row.number,
        operation=row.operation,
        key=row.key,
        exists=row.body is not None,
        summary=row.summary,
        body=row.value,
        text=row.body,
        redacted=row.redacted,
        actor=row.actor,
        reason=row.reason,
        created_at=row.created_at,
        **fields_of(row.known),
    )


def _of_key(path: str, key: str, using: str, session: str) -> RevisionQuerySet:
    rows = Revision.objects.using(using).filter(workspace__path=path, key=key)
    return rows.seen_in(session)


def _until(rows: RevisionQuerySet, moment: Moment) -> RevisionQuerySet:
    if isinstance(moment, int):
        return rows.up_to(moment)
    return rows.filter(created_at__lte=stored(moment))


def _had_expired(row: Revision, path: str, moment: Moment, using: str) -> bool:
    """Whether what the row says was past its expiry at `moment`."""
    if row.expires_at is None:
        return False
    now = timezone.now()
    if isinstance(moment, datetime.datetime):
        return row.expires_at <= min(stored(moment), now)
    if moment <= Workspace.objects.using(using).last_revision(path):
        rows = Revision.objects.using(using).filter(workspace=row.workspace_id).up_to(moment)
        times = rows.order_by("-number").values_list("created_at", flat=True)
        now = times.first() or row.created_at
    return row.expires_at <= now


def _is_pruned(path: str, moment: Moment, using: str) -> bool:
    """Whether retention may have taken the state of a key at `moment`."""
    workspace = Workspace.objects.using(using).filter(path=path).first()
    if workspace is None or not workspace.history_from:
        return False
    if isinstance(moment, int):
        return 1 <= moment < workspace.history_from
    rows = Revision.objects.using(using).filter(workspace=workspace)
    complete = rows.filter(number__gte=workspace.history_from).order_by("number").first()
    return complete is None or stored(moment) < complete.created_at


def _aware(moment: datetime.datetime) -> datetime.datetime:
    return timezone.make_aware(moment) if timezone.is_naive(moment) else moment
