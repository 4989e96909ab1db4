"""What is stored under a key, and what becomes of it: pure decisions, no rows."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import NamedTuple

from django_agent_memory.conf import conf
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
from .details import KEEP


class View(NamedTuple):
    """Who writes, and when: what that shows of a note, and how long a private one may live."""

    now: datetime.datetime
    session: str | None = ""
    """The session of the writer, "" for none; None sees what every session has to itself."""

    def shows(self, details: Details) -> bool:
        """Whether what has these details is no other session's."""
        return self.session is None or details.session in ("", self.session)

    def has_passed(self, moment: datetime.datetime | None) -> bool:
        """Whether it is past an expiry."""
        return moment is not None and moment <= self.now

    def last_expiry(self) -> datetime.datetime:
        """Return until when a private note may live that is written now."""
        return self.now + datetime.timedelta(hours=conf.session_hours)


class State(NamedTuple):
    """A note, an index entry, both or (all None) neither."""

    text: str | None = None
    is_json: bool = False
    summary: str | None = None
    revision: int = 0
    position: int = 0
    created_at: datetime.datetime = datetime.datetime.min  # noqa: DTZ901  (never stored)
    details: Details = PLAIN
    length: int = 0
    """The terms that find counts of it."""

    def has_expired(self, view: View) -> bool:
        """Whether there is a note that no read shows any more."""
        return self.text is not None and view.has_passed(self.details.expires_at)

    def is_foreign(self, view: View) -> bool:
        """Whether there is a note that is another session's."""
        return self.text is not None and not view.shows(self.details)

    def is_gone(self, view: View) -> bool:
        """Whether there is a note that is as good as none to the writer."""
        return self.has_expired(view) or self.is_foreign(view)

    def settles(self, change: Checked, view: View) -> Checked:
        """Return `change` with all that it leaves to the note; one that is gone has nothing."""
        if change.details is None:
            is_there = not self.is_gone(view)
            kept = self.details if is_there else PLAIN
            given = dict(change.given)
            if kept.session and not given.get("session", kept.session):
                # What becomes shared does not end with the session.
                kept = replace(kept, expires_at=None)
            summary = self.summary if change.keeps_summary and is_there else change.summary
            change = change._replace(details=replace(kept, **given), summary=summary)
        return self._with_expiry(change, view)

    def _with_expiry(self, change: Checked, view: View) -> Checked:
        """Return a private change with an expiry; that of the note if nothing else differs."""
        details = change.details
        if change.operation == Revision.Operation.REPAIR or not details or not details.session:
            return change
        last = view.last_expiry()
        asked = dict(change.given).get("expires_at", KEEP)
        if isinstance(asked, datetime.datetime) and asked <= last:
            return change
        kept = change._replace(details=replace(details, expires_at=self.details.expires_at))
        if self.says(kept) and not self.is_gone(view):
            return kept
        return change._replace(details=replace(details, expires_at=last))

    def shared_line(self) -> tuple[str, datetime.datetime | None] | None:
        """Return what the shared index text shows of it, and how long; None for nothing."""
        if self.summary is None or self.details.session:
            return None
        return self.summary, self.details.expires_at

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

    def after(self, change: Checked, number: int, view: View) -> State:
        """Return the state that `change`, written as revision `number`, leaves."""
        if change.text is None:
            return State()
        replaces = self.text is not None and not self.is_gone(view)
        return State(
            change.text,
            change.is_json,
            change.summary,
            number,
            self.position if replaces and self.position else number,  # 0 is that of raw SQL
            self.created_at if replaces else view.now,
            change.details or PLAIN,
        )

    def expect(self, change: Checked, view: View) -> None:
        """Raise `Conflict` unless the note is at the revision that `change` expects.

        An expired note is also as good as none; another session's is nothing else.
        """
        known = 0 if self.is_foreign(view) else self.revision
        current = (known, 0) if self.has_expired(view) else (known,)
        if change.expected_revision not in (None, *current):
            raise Conflict(
                f'"{change.key}" is at revision {known}, not at '
                f"{change.expected_revision}; nothing was written. Read it again first.",
                current_revision=known,
            )

    def admit(self, change: Checked, view: View) -> None:
        """Raise `Conflict` where a private `change`, once settled, would take a live note's key.

        A key is that of one note. What is shared is not to be hidden by what is private, and a
        session is not to lose what it has to another; but what is shared goes first.
        """
        private = change.details.session if change.details else ""
        if view.session is None or not private or self.text is None or self.has_expired(view):
            return
        if self.is_foreign(view):
            raise Conflict(
                f'The key "{change.key}" is taken; give the private note another key.',
                current_revision=0,
            )
        if not self.details.session:
            raise Conflict(
                f'A note for all is saved under "{change.key}"; give the private note another key.',
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


def written(change: Checked, before: State, number: int, view: View) -> Outcome:
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
    replaces = before.text is not None and not before.is_gone(view)
    return Remembered(
        key=change.key,
        outcome="replaced" if replaces else "created",
        revision=number,
        replaced_revision=before.revision if replaces else None,
        workspace_revision=number,
    )
