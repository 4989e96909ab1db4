"""What is stored under a key, and what becomes of it: pure decisions, no rows."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from django_agent_memory.exceptions import Conflict
from django_agent_memory.models import Revision
from django_agent_memory.results import Forgot, Outcome, Remembered, Restored, WasAbsent

from .changes import Checked


class State(NamedTuple):
    """A note, an index entry, both or (all None) neither."""

    text: str | None = None
    is_json: bool = False
    summary: str | None = None
    revision: int = 0
    position: int = 0
    created_at: datetime.datetime = datetime.datetime.min  # noqa: DTZ901  (never stored)

    def says(self, change: Checked) -> bool:
        """Whether `change` would alter nothing; a repair always writes."""
        if change.operation == Revision.Operation.REPAIR:
            return False
        return (self.text, self.is_json, self.summary) == (
            change.text,
            change.is_json,
            change.summary,
        )

    def completed(self, change: Checked) -> Checked:
        """Return the change with what it leaves as it is here."""
        return change._replace(summary=self.summary) if change.keeps_summary else change

    def after(self, change: Checked, number: int, now: datetime.datetime) -> State:
        """Return the state that `change`, written as revision `number`, leaves."""
        if change.text is None:
            return State()
        replaces = self.text is not None
        return State(
            change.text,
            change.is_json,
            change.summary,
            number,
            self.position if replaces else number,
            self.created_at if replaces else now,
        )

    def expect(self, change: Checked) -> None:
        """Raise `Conflict` unless the note is at the revision that `change` expects."""
        if change.expected_revision not in (None, self.revision):
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


def written(change: Checked, before: State, number: int) -> Outcome:
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
    replaces = before.text is not None
    return Remembered(
        key=change.key,
        outcome="replaced" if replaces else "created",
        revision=number,
        replaced_revision=before.revision if replaces else None,
        workspace_revision=number,
    )
