"""What is under the keys that a write is about, read once the lock is held."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

from django.db import connections

from django_agent_memory.models import IndexEntry, Note, Workspace
from django_agent_memory.models.details import COLUMNS, details_of
from django_agent_memory.rows import column_list, columns_of, read

from .locking import hold, locked, locking_clause
from .state import State

_OF_NOTE = ("body", "body_is_json", "revision", "position", "created_at", "length", *COLUMNS)
_WORKSPACE = tuple(Workspace._meta.concrete_fields)
_JOINED = (*_WORKSPACE, *columns_of(Note, *_OF_NOTE), *columns_of(IndexEntry, "summary"))


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
    ((*columns, summary),) = read(_joined(using), [key, key, path], _JOINED, using)
    of_workspace = columns[: len(_WORKSPACE)]
    of_note = columns[len(_WORKSPACE) :]
    workspace = Workspace.from_db(using, [field.attname for field in _WORKSPACE], of_workspace)
    has_note = of_note[0] is not None
    return workspace, _state(of_note, summary) if has_note else State(summary=summary)


@cache
def _joined(using: str) -> str:
    """Return the locking read of workspace, note and entry; its parameters are key, key, path.

    Either of note and entry may be missing, so both are joined to the workspace. Where joined rows
    cannot be locked, what is read after the lock is as new as it.
    """
    quote = connections[using].ops.quote_name
    key = quote("key")
    return (
        f"SELECT {column_list(_JOINED, using)} FROM {quote(Workspace._meta.db_table)} w"
        f" LEFT JOIN {quote(Note._meta.db_table)} n ON n.workspace_id = w.id AND n.{key} = %s"
        f" LEFT JOIN {quote(IndexEntry._meta.db_table)} e"
        f" ON e.workspace_id = w.id AND e.{key} = %s"
        f" WHERE w.path = %s {locking_clause('w', using)}"
    )


def _state(columns: list[Any], summary: str | None) -> State:
    text, is_json, revision, position, created_at, length, *details = columns
    return State(
        text, is_json, summary, revision, position, created_at, details_of(details), length
    )
