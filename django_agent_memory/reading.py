"""Reading notes by key: one statement each, total whatever is stored.

What expired, and what another session has to itself, is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connections

from .models import IndexEntry, Note, Workspace
from .models.details import COLUMNS, details_of
from .models.functions import OctetLength
from .models.note import NoteQuerySet, body_value, live_in_sql
from .results import Recalled, Unknown, fields_of
from .rows import columns_of, read, selection
from .search import near_keys

RECALLED = (
    "key",
    "body",
    "body_is_json",
    "entry__summary",
    "revision",
    "created_at",
    "updated_at",
    "workspace__revision",
    *COLUMNS,
)
"""The columns that `recalled` makes a `Recalled` of."""

RECALLED_FIELDS = (
    *columns_of(Note, "key", "body", "body_is_json"),
    *columns_of(IndexEntry, "summary"),
    *columns_of(Note, "revision", "created_at", "updated_at"),
    *columns_of(Workspace, "revision"),
    *columns_of(Note, *COLUMNS),
)
"""The same for SQL of our own."""


def recall(path: str, key: str, *, using: str, session: str = "") -> Recalled | None:
    """Return the note under exactly `key`, or None."""
    live, parameters = live_in_sql(session, using=using)
    sql = (
        f"{selection(RECALLED_FIELDS, using)}"
        f" WHERE w.path = %s AND n.{connections[using].ops.quote_name('key')} = %s AND {live}"
    )
    for row in read(sql, [path, key, *parameters], RECALLED_FIELDS, using):
        return recalled(row)
    return None


def recalled(row: Sequence[Any]) -> Recalled:
    """Return the note of a row of the columns `RECALLED`."""
    key, text, is_json, summary, revision, created_at, updated_at, last, *details = row
    return Recalled(
        key=key,
        body=body_value(text, is_json=is_json),
        text=text,
        summary=summary,
        revision=revision,
        created_at=created_at,
        updated_at=updated_at,
        workspace_revision=last,
        **fields_of(details_of(details)),
    )


def lookup(path: str, key: str, *, using: str, session: str = "") -> Recalled | Unknown:
    """Return the note under exactly `key`, or what may have been meant by it."""
    found = recall(path, key, using=using, session=session)
    if found is not None:
        return found
    return Unknown(
        key=key,
        suggestions=near_keys(path, key, using=using, session=session),
        workspace_revision=Workspace.objects.using(using).last_revision(path),
    )


def keys(
    path: str, prefix: str, *, using: str, session: str = "", limit: int | None = None
) -> tuple[str, ...]:
    """Return the keys that start with exactly `prefix`, in key order, the first `limit` of them."""
    notes = _notes(path, using, session).with_prefix(prefix)
    return tuple(notes.order_by("key").values_list("key", flat=True)[:limit])


def items(path: str, prefix: str, *, using: str, session: str = "") -> tuple[tuple[str, Any], ...]:
    """Return key and body of the notes whose key starts with exactly `prefix`, in key order."""
    notes = _notes(path, using, session).with_prefix(prefix).order_by("key")
    rows = notes.values_list("key", "body", "body_is_json")
    return tuple((key, body_value(text, is_json=is_json)) for key, text, is_json in rows)


def sizes(path: str, prefix: str, *, using: str, session: str = "") -> tuple[tuple[str, int], ...]:
    """Return key and size in bytes of the notes whose key starts with `prefix`, in key order."""
    notes = _notes(path, using, session).with_prefix(prefix).order_by("key")
    return tuple(notes.values_list("key", OctetLength("body")))


def _notes(path: str, using: str, session: str) -> NoteQuerySet:
    return Note.objects.using(using).filter(workspace__path=path).live(session=session)
