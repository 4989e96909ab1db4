"""A workspace as a file: JSON Lines with all that is kept of it, the same bytes for the same state.

The first line says what it is, then comes a line for each note in key order, for each line of the
index without a note, for each revision by its number, and a last line with how many there were: a
file that ends without it was cut. docs/transfer.md describes every field.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from .encoding import encode
from .exceptions import Refused
from .models import IndexEntry, Note, NoteUsage, Revision, Workspace
from .models.details import COLUMNS, PLAIN, decode, details_of
from .results import Details, fields_of
from .text import gate

FORMAT = "django-agent-memory"
VERSION = 1

_BATCH = 100
"""Rows a statement: each may have a million characters."""

_OF_WORKSPACE = ("title", "description", "index_budget", "created_at", "updated_at")
_TEXT = ("summary", "body", "body_is_json")
_OF_NOTE = ("key", "revision", "position", "created_at", "updated_at")
_OF_REVISION = ("number", "key", "operation", "actor", "reason", "redacted", "created_at")
# What other programs take for the end of a line.
_LINE_ENDS = str.maketrans({char: f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"})


def export_jsonl(path: str, *, using: str, private: bool = False) -> Iterator[bytes]:
    """Yield the lines of the workspace at `path`, each UTF-8 with its newline.

    With `private` also what sessions have to themselves, and its past. Memory and a statement for
    each hundred rows; nothing is locked, and no cursor lives longer than a statement, so a pooler
    may change servers in between. What is written meanwhile may be in it or not: the first line has
    the number of the last revision before, the last line that of the last one after. Raises
    `Refused` where there is no such workspace, and for what can be no path.
    """
    gate.check_path(path)
    workspace = Workspace.objects.using(using).filter(path=path).first()
    if workspace is None:
        raise Refused(f'There is no workspace "{path}".')
    return _lines(workspace, private=private)


def _lines(workspace: Workspace, *, private: bool) -> Iterator[bytes]:
    using = str(workspace._state.db)
    yield _line(
        {
            "format": FORMAT,
            "version": VERSION,
            "workspace": workspace.path,
            "revision": workspace.revision,
            "history_from": workspace.history_from,
            "private": private,
            **{name: getattr(workspace, name) for name in _OF_WORKSPACE},
        }
    )
    counted = {}
    for kind, rows in (
        ("note", _notes(workspace, private=private, using=using)),
        ("line", _lone_lines(workspace, using=using)),
        ("revision", _revisions(workspace, private=private, using=using)),
    ):
        counted[f"{kind}s"] = 0
        for row in rows:
            counted[f"{kind}s"] += 1
            yield _line({kind: row})
    head = Workspace.objects.using(using).filter(pk=workspace.pk).values_list("revision", flat=True)
    yield _line({"end": {**counted, "revision": head.first()}})


def _line(data: Any) -> bytes:
    return encode(data).decode().translate(_LINE_ENDS).encode() + b"\n"


def _notes(workspace: Workspace, *, private: bool, using: str) -> Iterator[dict[str, Any]]:
    notes = Note.objects.using(using).filter(workspace=workspace).order_by("key")
    shared = notes if private else notes.seen_in("")
    columns = (*_OF_NOTE, "entry__summary", *_TEXT[1:], *COLUMNS)
    for batch in _batches(shared.values(*columns), "key"):
        usage = _usage(workspace, [row["position"] for row in batch], using)
        for row in batch:
            yield {
                **{name: row[name] for name in _OF_NOTE},
                **_text(row["entry__summary"], row["body"], is_json=row["body_is_json"]),
                **_known(details_of([row[name] for name in COLUMNS])),
                **usage.get(row["position"], {}),
            }


def _usage(workspace: Workspace, positions: list[int], using: str) -> dict[int, dict[str, Any]]:
    """Return how often notes were recalled, and when last, by their positions."""
    usage = NoteUsage.objects.using(using).filter(workspace=workspace, position__in=positions)
    rows = usage.values_list("position", "recall_count", "recalled_at")
    return {
        position: {"recall_count": count, "recalled_at": last} for position, count, last in rows
    }


def _lone_lines(workspace: Workspace, *, using: str) -> Iterator[dict[str, Any]]:
    """Yield key and summary of the lines of the index behind which there is no note."""
    notes = Note.objects.filter(workspace=workspace, key=OuterRef("key"))
    entries = IndexEntry.objects.using(using).filter(workspace=workspace).order_by("key")
    for batch in _batches(entries.filter(~Exists(notes)).values("key", "summary"), "key"):
        yield from batch


def _revisions(workspace: Workspace, *, private: bool, using: str) -> Iterator[dict[str, Any]]:
    log = Revision.objects.using(using).filter(workspace=workspace).order_by("number")
    shared = log if private else log.seen_in("")
    columns = (*_OF_REVISION, *_TEXT, "details", "expires_at")
    for batch in _batches(shared.values(*columns), "number"):
        for row in batch:
            yield {
                **{name: row[name] for name in _OF_REVISION if row[name] not in ("", False)},
                **_text(row["summary"], row["body"], is_json=row["body_is_json"]),
                **_known(decode(row["details"], row["expires_at"])),
            }


def _batches(rows: QuerySet[Any, Any], place: str) -> Iterator[list[Any]]:
    """Yield the rows, which are in the order of `place`, by a statement for each hundred."""
    batch = list(rows[:_BATCH])
    while batch:
        yield batch
        if len(batch) < _BATCH:
            return
        batch = list(rows.filter(**{f"{place}__gt": batch[-1][place]})[:_BATCH])


def _text(summary: str | None, body: str | None, *, is_json: bool) -> dict[str, Any]:
    said: dict[str, Any] = {"summary": summary, "body": body}
    return {**said, "body_is_json": True} if is_json else said


def _known(details: Details) -> dict[str, Any]:
    """Return what is said beside the text; what is as usual is left out."""
    known = fields_of(details)
    return {name: value for name, value in known.items() if value != getattr(PLAIN, name)}
