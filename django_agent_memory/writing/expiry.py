"""The end of notes past their expiry: a tombstone each. Until then no read shows them."""

from __future__ import annotations

from django.db import router
from django.utils import timezone

from django_agent_memory.exceptions import Conflict
from django_agent_memory.models import Note, Workspace
from django_agent_memory.models.note import NoteQuerySet
from django_agent_memory.results import Forgot
from django_agent_memory.text import gate

from .changes import Drop
from .channel import apply, check_signature

_BATCH = 500


def forget_expired(
    path: str,
    *,
    actor: str = "",
    reason: str = "",
    dry_run: bool = True,
    using: str | None = None,
) -> int:
    """Forget the notes that have expired by now, 500 in one write; return how many.

    What is written to meanwhile is left to the next run. Raises `Busy`; what was forgotten before
    stays forgotten.
    """
    gate.check_path(path)
    check_signature(actor, reason)
    alias = using or router.db_for_write(Workspace)
    expired = Note.objects.using(alias).filter(workspace__path=path).expired(timezone.now())
    if dry_run:
        return expired.count()
    total, last = 0, ""
    while rows := _batch(expired, last):
        drops = [Drop(key=key, expected_revision=revision) for key, revision in rows]
        total += _forget(path, drops, actor, reason, alias)
        last = rows[-1][0]
    return total


def _batch(expired: NoteQuerySet, last: str) -> list[tuple[str, int]]:
    rows = expired.filter(key__gt=last).order_by("key").values_list("key", "revision")
    return list(rows[:_BATCH])


def _forget(path: str, drops: list[Drop], actor: str, reason: str, alias: str) -> int:
    """Forget them together; one by one, if somebody came in between."""
    try:
        outcomes = apply(path, drops, actor=actor, reason=reason, session=None, using=alias)
    except Conflict:
        if len(drops) == 1:
            return 0
        return sum(_forget(path, [drop], actor, reason, alias) for drop in drops)
    return sum(isinstance(outcome, Forgot) for outcome in outcomes)
