"""What is under the keys that a write is about, read once the lock is held."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import connections
from django.db.models import F, FilteredRelation, Q

from django_agent_memory.models import IndexEntry, Note, Workspace
from django_agent_memory.models.details import COLUMNS, details_of

from .locking import hold, locked
from .state import State

_OF_NOTE = ("body", "body_is_json", "revision", "position", "created_at", "length", *COLUMNS)


def read_states(workspace: Workspace, keys: Collection[str], using: str) -> dict[str, State]:
    """Return the locked state of each key, in two statements."""
    # Sorted, so that two writers never lock the same rows in different orders.
    wanted: dict[str, Any] = {"workspace": workspace, "key__in": sorted(keys)}
    notes = locked(Note.objects.using(using).filter(**wanted), using)
    entries = locked(IndexEntry.objects.using(using).filter(**wanted), using)
    summaries = dict(entries.values_list("key", "summary"))
    states = {key: State(summary=summaries.get(key)) for key in keys}
    for key, *columns in notes.values_list("key", *_OF_NOTE):
        states[key] = _state(columns, summaries.get(key))
    return states


def lock_with_state(
    path: str, key: str, *, using: str, create: bool
) -> tuple[Workspace, State] | None:
    """Lock the workspace's row and return it fresh with the state of one key, in one statement.

    `create` is as in `locking.lock`.
    """
    if not hold(path, using=using, create=create):
        return None
    # Either of note and entry may be missing, so both are joined to the workspace. Where joined
    # rows cannot be locked (PostgreSQL), what is read after the lock is as new as it.
    joined = Workspace.objects.using(using).filter(path=path)
    joined = joined.annotate(
        of_note=FilteredRelation("notes", condition=Q(notes__key=key)),
        of_entry=FilteredRelation("index_entries", condition=Q(index_entries__key=key)),
        **{f"note_{name}": F(f"of_note__{name}") for name in _OF_NOTE},
        entry_summary=F("of_entry__summary"),
    )
    workspace: Any = locked(joined, using, only=connections[using].vendor == "postgresql").get()
    columns = [getattr(workspace, f"note_{name}") for name in _OF_NOTE]
    summary = workspace.entry_summary
    has_note = columns[0] is not None
    return workspace, _state(columns, summary) if has_note else State(summary=summary)


def _state(columns: list[Any], summary: str | None) -> State:
    text, is_json, revision, position, created_at, length, *details = columns
    return State(
        text, is_json, summary, revision, position, created_at, details_of(details), length
    )
