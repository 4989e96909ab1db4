"""The critical section: decide what each change does, then write all rows in bulk.

One change or a hundred thousand take the same statements: a fixed number to lock and to close, a
fixed number a batch. A change is decided against the state that the changes before it left.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.db import models, router
from django.utils import timezone

from django_agent_memory.exceptions import Refused
from django_agent_memory.models import IndexEntry, Note, Revision, Workspace
from django_agent_memory.models.details import (
    PLAIN,
    encode,
    note_columns,
)
from django_agent_memory.models.workspace import new_index_version
from django_agent_memory.results import Outcome
from django_agent_memory.text import gate
from django_agent_memory.text.folding import haystack

from .changes import Change, Checked, batches, check
from .knowledge import with_known_keys
from .locked_states import lock_with_state, read_states
from .locking import lock, run_serialised
from .postings import Document, documents, store_postings
from .restoring import resolved
from .state import State, View, unchanged, written
from .statements import insert, update, upsert

MAX_ACTOR_LENGTH = 255
MAX_REASON_LENGTH = 1_000

_IDENTITY = ("workspace", "key")
_COUNTERS = ("revision", "counted_notes", "counted_terms", "updated_at", "index_version")

Then = Callable[[Workspace, list[Outcome]], None]


def apply(
    path: str,
    changes: Iterable[Change],
    *,
    actor: str = "",
    reason: str = "",
    session: str | None = "",
    using: str | None = None,
    then: Then | None = None,
) -> list[Outcome]:
    """Write `changes` to the workspace, all or nothing, and return an outcome each, in order.

    The workspace is made by the first Save. What other sessions than `session` have to themselves
    is not there; None sees all of it. `then` is the journal's: it is called at the end of the
    critical section, and what it raises undoes the write. Raises `Refused` before anything is
    locked, `Conflict` for an `expected_revision` that does not hold, `Busy`; after each of them
    nothing is written.
    """
    gate.check_path(path)
    check_signature(actor, reason)
    checked = [check(change) for change in changes]
    for change in checked:
        _check_session(change, session)
    if not checked and then is None:
        return []
    alias = using or router.db_for_write(Workspace)
    creates = then is not None or any(change.text is not None for change in checked)

    def write() -> list[Outcome]:
        found = _open(path, checked, using=alias, create=creates)
        if found is None:
            return _absent(checked)
        workspace, known = found
        transcript = Transcript(workspace, alias, actor, reason, session=session, known=known)
        outcomes = transcript.write(checked)
        if then is not None:
            then(workspace, outcomes)
        return outcomes

    return run_serialised(alias, write)


def check_signature(actor: str, reason: str) -> None:
    """Raise `Refused` unless `actor` and `reason` can sign a revision."""
    gate.check_text(actor, name="actor", limit=MAX_ACTOR_LENGTH)
    gate.check_text(reason, name="reason", limit=MAX_REASON_LENGTH)


def _open(
    path: str, changes: list[Checked], *, using: str, create: bool
) -> tuple[Workspace, dict[str, State]] | None:
    """Take the lock; where all is about one known key, return its state as well."""
    if len(changes) == 1 and not changes[0].fingerprint:
        (change,) = changes
        found = lock_with_state(path, change.key, using=using, create=create)
        return None if found is None else (found[0], {change.key: found[1]})
    workspace = lock(path, using=using, create=create)
    return None if workspace is None else (workspace, {})


def _check_session(change: Checked, session: str | None) -> None:
    private = dict(change.given).get("session")
    if private and session is not None and private != session:
        raise Refused("A private note belongs to the session of its memory; nothing was written.")


def _absent(changes: list[Checked]) -> list[Outcome]:
    """Answer changes to a workspace that does not exist: none of them has anything to remove."""
    if any(change.restores for change in changes):
        raise Refused("There is no such revision: nothing was ever saved in this workspace.")
    for change in changes:
        State().expect(change, View(timezone.now(), None))
    return [unchanged(change, State(), 0) for change in changes]


@dataclass
class Transcript:
    """One write inside the lock: hands out revision numbers and writes batch by batch."""

    workspace: Workspace
    using: str
    actor: str
    reason: str
    index_changed: bool = False
    revisions: list[Revision] = field(default_factory=list)
    now: datetime.datetime = field(default_factory=timezone.now)
    session: str | None = ""
    known: dict[str, State] = field(default_factory=dict)

    @property
    def view(self) -> View:
        """What the writer sees."""
        return View(self.now, self.session)

    def write(self, changes: list[Checked]) -> list[Outcome]:
        """Decide and write the changes in order; return an outcome each."""
        first = self.workspace.revision
        outcomes: list[Outcome] = []
        for batch in batches(changes):
            outcomes += self._write_batch(batch)
        if self.workspace.revision > first:
            self.close()
        return outcomes

    def read(self, keys: set[str]) -> dict[str, State]:
        """Return the locked state of each key; what was read with the lock is not read again."""
        if keys <= self.known.keys():
            return {key: self.known.pop(key) for key in keys}
        return read_states(self.workspace, keys, self.using)

    def revise(
        self, operation: str, key: str, state: Checked | State, *, session: str | None = None
    ) -> int:
        """Append a revision with that state of `key` and return its number.

        `session` is the only one that is to see it, if that is not the state's own.
        """
        details = state.details or PLAIN
        self.workspace.revision += 1
        self.revisions.append(
            Revision(
                workspace=self.workspace,
                number=self.workspace.revision,
                key=key,
                operation=operation,
                summary=state.summary,
                body=state.text,
                body_is_json=state.is_json,
                details=encode(details),
                session=details.session if session is None else session,
                expires_at=details.expires_at,
                actor=self.actor,
                reason=self.reason,
                created_at=self.now,
            )
        )
        return self.workspace.revision

    def store_revisions(self) -> None:
        """Write the revisions appended so far."""
        insert(Revision, self.revisions, using=self.using)
        self.revisions = []

    def close(self) -> None:
        """Set the workspace's counters; the index has a new version only if its text may differ."""
        workspace = self.workspace
        workspace.updated_at = self.now
        if self.index_changed:
            workspace.index_version = new_index_version()
        update(workspace, _COUNTERS, using=self.using)

    def rows(self, model: type[Any]) -> models.QuerySet[Any]:
        """Return the model's rows on the alias that is written to."""
        rows: models.QuerySet[Any] = model.objects.using(self.using)
        return rows

    def _write_batch(self, batch: list[Checked]) -> list[Outcome]:
        batch = with_known_keys(self, batch)
        before = self.read({change.key for change in batch})
        after = dict(before)
        outcomes = [self._decide(change, after) for change in resolved(self, batch)]
        touched = {key: state for key, state in after.items() if state is not before[key]}
        counted = documents(touched)
        self._store_notes(touched, before, counted)
        store_postings(self, counted, {key: before[key] for key in touched})
        self._store_entries(touched, before)
        self.store_revisions()
        return outcomes

    def _decide(self, change: Checked, states: dict[str, State]) -> Outcome:
        """Decide one change against `states` and put its result there."""
        state, view = states[change.key], self.view
        state.expect(change, view)
        if change.text is None and state.is_foreign(view):
            return unchanged(change, State(), self.workspace.revision)
        change = state.settles(change, view)
        if state.says(change):
            return unchanged(change, state, self.workspace.revision)
        state.admit(change, view)
        # Only who saw the note sees its end.
        session = state.details.session if change.text is None else None
        number = self.revise(change.operation, change.key, change, session=session)
        states[change.key] = state.after(change, number, view)
        return written(change, state, number, view)

    def _store_notes(
        self, after: dict[str, State], before: dict[str, State], counted: dict[str, Document]
    ) -> None:
        kept = [
            Note(
                workspace=self.workspace,
                key=key,
                body=state.text,
                body_is_json=state.is_json,
                haystack=haystack(key, state.summary or "", state.text),
                revision=state.revision,
                position=state.position,
                created_at=state.created_at,
                updated_at=self.now,
                **counted[key].columns,
                **note_columns(state.details),
            )
            for key, state in after.items()
            if state.text is not None
        ]
        self._upsert(Note, kept)
        self._delete(Note, [key for key in after if _lost(before[key].text, after[key].text)])

    def _store_entries(self, after: dict[str, State], before: dict[str, State]) -> None:
        changed = {
            key: state for key, state in after.items() if state.summary != before[key].summary
        }
        self._upsert(
            IndexEntry,
            [
                IndexEntry(workspace=self.workspace, key=key, summary=state.summary)
                for key, state in changed.items()
                if state.summary is not None
            ],
        )
        self._delete(IndexEntry, [key for key, state in changed.items() if state.summary is None])
        self.index_changed = self.index_changed or any(
            state.shared_line() != before[key].shared_line() for key, state in after.items()
        )

    def _upsert(self, model: type[models.Model], rows: list[Any]) -> None:
        """Insert the rows, or overwrite those whose workspace and key are there."""
        if rows:
            overwrite = _beside_key(model)
            upsert(model, rows, identity=_IDENTITY, overwrite=overwrite, using=self.using)

    def _delete(self, model: type[Any], keys: list[str]) -> None:
        if keys:
            self.rows(model).filter(workspace=self.workspace, key__in=keys).delete()


@cache
def _beside_key(model: type[models.Model]) -> tuple[str, ...]:
    """Return the names of all columns but the primary key, workspace and key."""
    columns = (column for column in model._meta.concrete_fields if not column.primary_key)
    return tuple(column.name for column in columns if column.name not in _IDENTITY)


def _lost(before: str | None, after: str | None) -> bool:
    return before is not None and after is None
