"""The critical section: decide what each change does, then write all rows in bulk.

One change or a hundred thousand take the same statements: a fixed number to lock and to close, a
fixed number a batch. A change is decided against the state that the changes before it left.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import models, router
from django.utils import timezone

from django_agent_memory.exceptions import Conflict
from django_agent_memory.models import IndexEntry, Note, Revision, Workspace
from django_agent_memory.models.workspace import new_index_version
from django_agent_memory.results import Forgot, Outcome, Remembered, WasAbsent
from django_agent_memory.text import gate
from django_agent_memory.text.folding import haystack

from .changes import Change, Checked, batches, check
from .locking import lock, locked, run_serialised, upsert

MAX_ACTOR_LENGTH = 255
MAX_REASON_LENGTH = 1_000


def apply(
    path: str,
    changes: Iterable[Change],
    *,
    actor: str = "",
    reason: str = "",
    using: str | None = None,
) -> list[Outcome]:
    """Write `changes` to the workspace, all or nothing, and return an outcome each, in order.

    The workspace is made by the first Save. Raises `Refused` before anything is locked, `Conflict`
    for an `expected_revision` that does not hold, `Busy`; after each of them nothing is written.
    """
    gate.check_path(path)
    gate.check_text(actor, name="actor", limit=MAX_ACTOR_LENGTH)
    gate.check_text(reason, name="reason", limit=MAX_REASON_LENGTH)
    checked = [check(change) for change in changes]
    if not checked:
        return []
    alias = using or router.db_for_write(Workspace)
    creates = any(change.text is not None for change in checked)

    def write() -> list[Outcome]:
        workspace = lock(path, using=alias, create=creates)
        if workspace is None:
            return [_absent(change, 0) for change in checked]
        return _Transcript(workspace, alias, actor, reason).write(checked)

    return run_serialised(alias, write)


class _State(NamedTuple):
    """What is stored under a key: a note, an index entry, both or (all None) neither."""

    text: str | None = None
    is_json: bool = False
    summary: str | None = None
    revision: int = 0
    position: int = 0
    created_at: datetime.datetime = datetime.datetime.min  # noqa: DTZ901  (never stored)

    @property
    def exists(self) -> bool:
        return self.text is not None or self.summary is not None

    def says(self, change: Checked) -> bool:
        """Whether a save of `change` would alter nothing."""
        same_body = (self.text, self.is_json) == (change.text, change.is_json)
        return same_body and self.summary == change.summary


@dataclass
class _Transcript:
    """One call of `apply` inside the lock: hands out revision numbers and writes batch by batch."""

    workspace: Workspace
    using: str
    actor: str
    reason: str
    index_changed: bool = False
    revisions: list[Revision] = field(default_factory=list)
    now: datetime.datetime = field(default_factory=timezone.now)

    def write(self, changes: list[Checked]) -> list[Outcome]:
        first = self.workspace.revision
        outcomes: list[Outcome] = []
        for batch in batches(changes):
            outcomes += self._write_batch(batch)
        if self.workspace.revision > first:
            self._close()
        return outcomes

    def _write_batch(self, batch: list[Checked]) -> list[Outcome]:
        before = self._read({change.key for change in batch})
        after = dict(before)
        outcomes = [self._decide(change, after) for change in batch]
        touched = {key: state for key, state in after.items() if state is not before[key]}
        self._store_notes(touched, before)
        self._store_entries(touched, before)
        self._rows(Revision).bulk_create(self.revisions)
        self.revisions = []
        return outcomes

    def _read(self, keys: set[str]) -> dict[str, _State]:
        """Return the locked state of each key."""
        # Sorted, so that two writers never lock the same rows in different orders.
        wanted: dict[str, Any] = {"workspace": self.workspace, "key__in": sorted(keys)}
        notes = locked(self._rows(Note).filter(**wanted), self.using).values_list(
            "key", "body", "body_is_json", "revision", "position", "created_at"
        )
        entries = locked(self._rows(IndexEntry).filter(**wanted), self.using)
        summaries = dict(entries.values_list("key", "summary"))
        states = {key: _State(summary=summaries.get(key)) for key in keys}
        for key, text, is_json, *rest in notes:
            states[key] = _State(text, is_json, summaries.get(key), *rest)
        return states

    def _decide(self, change: Checked, states: dict[str, _State]) -> Outcome:
        """Decide one change against `states` and put its result there."""
        state = states[change.key]
        self._expect(change, state)
        if change.text is None:
            if not state.exists:
                return _absent(change, self.workspace.revision)
            states[change.key] = _State()
            number = self._revise(Revision.Operation.FORGET, change)
            return Forgot(key=change.key, revision=number, workspace_revision=number)
        if state.says(change):
            return Remembered(
                key=change.key,
                outcome="unchanged",
                revision=state.revision,
                workspace_revision=self.workspace.revision,
            )
        return self._save(change, state, states)

    def _save(self, change: Checked, state: _State, states: dict[str, _State]) -> Remembered:
        number = self._revise(Revision.Operation.REMEMBER, change)
        replaces = state.text is not None
        states[change.key] = _State(
            change.text,
            change.is_json,
            change.summary,
            number,
            state.position if replaces else number,
            state.created_at if replaces else self.now,
        )
        return Remembered(
            key=change.key,
            outcome="replaced" if replaces else "created",
            revision=number,
            replaced_revision=state.revision if replaces else None,
            workspace_revision=number,
        )

    @staticmethod
    def _expect(change: Checked, state: _State) -> None:
        if change.expected_revision not in (None, state.revision):
            raise Conflict(
                f'"{change.key}" is at revision {state.revision}, not at '
                f"{change.expected_revision}; nothing was written. Read it again first.",
                current_revision=state.revision,
            )

    def _revise(self, operation: Revision.Operation, change: Checked) -> int:
        """Append a revision with the state after `change` and return its number."""
        self.workspace.revision += 1
        self.revisions.append(
            Revision(
                workspace=self.workspace,
                number=self.workspace.revision,
                key=change.key,
                operation=operation,
                summary=change.summary,
                body=change.text,
                body_is_json=change.is_json,
                actor=self.actor,
                reason=self.reason,
                created_at=self.now,
            )
        )
        return self.workspace.revision

    def _store_notes(self, after: dict[str, _State], before: dict[str, _State]) -> None:
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
            )
            for key, state in after.items()
            if state.text is not None
        ]
        self._upsert(Note, kept)
        self._delete(Note, [key for key in after if _lost(before[key].text, after[key].text)])

    def _store_entries(self, after: dict[str, _State], before: dict[str, _State]) -> None:
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
        self.index_changed = self.index_changed or bool(changed)

    def _upsert(self, model: type[Any], rows: list[Any]) -> None:
        """Insert the rows, or overwrite those whose workspace and key are there."""
        if not rows:
            return
        identity = ["workspace", "key"]
        overwrite = [
            column.name
            for column in model._meta.concrete_fields
            if not column.primary_key and column.name not in identity
        ]
        upsert(model, rows, identity=identity, overwrite=overwrite, using=self.using)

    def _delete(self, model: type[Any], keys: list[str]) -> None:
        if keys:
            self._rows(model).filter(workspace=self.workspace, key__in=keys).delete()

    def _close(self) -> None:
        """Set the workspace's counters; the index has a new version only if its text may differ."""
        values: dict[str, Any] = {"revision": self.workspace.revision, "updated_at": self.now}
        if self.index_changed:
            values["index_version"] = new_index_version()
        self._rows(Workspace).filter(pk=self.workspace.pk).update(**values)

    def _rows(self, model: type[Any]) -> models.QuerySet[Any]:
        rows: models.QuerySet[Any] = model.objects.using(self.using)
        return rows


def _lost(before: str | None, after: str | None) -> bool:
    return before is not None and after is None


def _absent(change: Checked, workspace_revision: int) -> WasAbsent:
    return WasAbsent(key=change.key, workspace_revision=workspace_revision)
