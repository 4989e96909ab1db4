"""What is stored under a key, and what becomes of it: pure decisions, no rows."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import NamedTuple

from django_agent_memory.exceptions import Conflict
from django_agent_memory.models import Revision
from django_agent_memory.models.details import PLAIN
from django_agent_memory.results import (
    Details,
    Forgot,
    Outcome,
    Remembered,
    Restored,
    WasAbsent,
)

from .changes import Checked


class State(NamedTuple):
    """A note, an index entry, both or (all None) neither."""

    text: str | None = None
    is_json: bool = False
    summary: str | None = None
    revision: int = 0
    position: int = 0
    created_at: datetime.datetime = datetime.datetime.min  # noqa: DTZ901  (never stored)
    details: Details = PLAIN
    pk: int | None = None

    def has_expired(self, now: datetime.datetime) -> bool:
        """Whether there is a note that no read shows any more."""
        expires_at = self.details.expires_at
        return self.text is not None and expires_at is not None and expires_at <= now

    def settles(self, change: Checked, now: datetime.datetime) -> Checked:
        """Return `change` with all that it leaves to the note; an expired one has nothing."""
        if change.details is not None:
            return change
        is_there = not self.has_expired(now)
        kept = self.details if is_there else PLAIN
        summary = self.summary if change.keeps_summary and is_there else change.summary
        return change._replace(details=replace(kept, **dict(change.given)), summary=summary)

    def says(self, change: Checked) -> bool:
        """Whether `change`, once settled, would alter nothing; a repair always writes."""
        if change.operation == Revision.Operation.REPAIR:
            return False
        return (self.text, self.is_json, self.summary, self.details) == (
            change.text,
            change.is_json,
            change.summary,
            change.details,
        )

    def after(self, change: Checked, number: int, now: datetime.datetime) -> State:
        """Return the state that `change`, written as revision `number`, leaves."""
        if change.text is None:
            return State(pk=self.pk)
        replaces = self.text is not None and not self.has_expired(now)
        return State(
            change.text,
            change.is_json,
            change.summary,
            number,
            self.position if replaces and self.position else number,  # 0 is that of raw SQL
            self.created_at if replaces else now,
            change.details or PLAIN,
            self.pk,
        )

    def expect(self, change: Checked, now: datetime.datetime) -> None:
        """Raise `Conflict` unless the note is at the revision that `change` expects.

        An expired note is also as good as none.
        """
        current = (self.revision, 0) if self.has_expired(now) else (self.revision,)
        if change.expected_revision not in (None, *current):
            raise Conflict(
                f'"{change.key}" is at revision {self.revision}, not at '
                f"{change.expected_revision}; nothing was written. Read it again first.",
                current_revision=self.revision,
            )


def unchanged(change: Checked, before: State, workspace_revision: int) -> Outcome:
    """Return the outcome of a change that altered nothing."""
    if change.operation == Revision.Operation.FORGET:
        return WasAbsent(key=change.key, workspace_revision=workspace_revision)
    if change.operation == Revision.Operation.RESTORE:
        return Restored(
            key=change.key,
            outcome="unchanged",
            revision=before.revision,
            restored_revision=change.restores,
            exists=before.text is not None,
            workspace_revision=workspace_revision,
        )
    return Remembered(
        key=change.key,
        outcome="unchanged",
        revision=before.revision,
        workspace_revision=workspace_revision,
    )


def written(change: Checked, before: State, number: int, now: datetime.datetime) -> Outcome:
    """Return the outcome of a change that was written as revision `number`."""
    if change.operation == Revision.Operation.FORGET:
        return Forgot(key=change.key, revision=number, workspace_revision=number)
    if change.operation == Revision.Operation.RESTORE:
        return Restored(
            key=change.key,
            outcome="restored",
            revision=number,
            restored_revision=change.restores,
            exists=change.text is not None,
            workspace_revision=number,
        )
    replaces = before.text is not None and not before.has_expired(now)
    return Remembered(
        key=change.key,
        outcome="replaced" if replaces else "created",
        revision=number,
        replaced_revision=before.revision if replaces else None,
        workspace_revision=number,
    )
