"""Forgetting many notes at once: what it is about, what it saves, and doing it."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

from django.contrib.admin.models import CHANGE
from django.db.models import Count, Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import ngettext

from django_agent_memory.memory import Memory
from django_agent_memory.models import IndexEntry, Note
from django_agent_memory.pruning import forgotten
from django_agent_memory.results import Forgot
from django_agent_memory.text import rendering
from django_agent_memory.writing import Change, Drop

from .base import log
from .shown import key_text

_SAMPLE = 20
_MOST_SAVINGS = 5


class Chosen(NamedTuple):
    """A note to be forgotten, without its body."""

    workspace_id: int
    path: str
    budget: int | None
    key: str
    revision: int
    summary: str | None
    updated_at: datetime.datetime


COLUMNS = (
    "workspace_id",
    "workspace__path",
    "workspace__index_budget",
    "key",
    "revision",
    "entry__summary",
    "updated_at",
)
"""Where `Chosen` comes from: columns of a note, in its order."""


def chosen(notes: QuerySet[Note]) -> list[Chosen]:
    """Return the notes by workspace and key; one statement at any number of them."""
    rows = notes.order_by("workspace_id", "key").values_list(*COLUMNS)
    return [Chosen(*row) for row in rows]


def saved_characters(notes: Iterable[Chosen]) -> dict[str, int]:
    """Return by how many characters the index text of each path gets shorter without these notes.

    Paths where it stays as long as it is are left out; the others come with the largest first.
    One statement, two where a workspace has a budget (then the lines that move up count as well).
    """
    lines: dict[int, list[Chosen]] = defaultdict(list)
    for note in notes:
        if note.summary is not None:
            lines[note.workspace_id].append(note)
    if not lines:
        return {}
    budgeted = [pk for pk, group in lines.items() if group[0].budget is not None]
    entries = IndexEntry.objects.live().filter(workspace__in=lines)
    counts = dict(entries.order_by().values_list("workspace").annotate(Count("pk")))
    saved = {
        pk: _without_budget(group, counts.get(pk, 0))
        for pk, group in lines.items()
        if pk not in budgeted
    }
    saved |= _with_budget(lines, budgeted) if budgeted else {}
    paths = {lines[pk][0].path: size for pk, size in saved.items() if size}
    return dict(sorted(paths.items(), key=lambda row: (-row[1], row[0])))


def _without_budget(gone: list[Chosen], entries: int) -> int:
    """Each line and the newline in front of it; the last line takes the header with it."""
    lengths = sum(1 + len(rendering.index_line(note.key, note.summary or "")) for note in gone)
    return lengths + (len(rendering.INDEX_HEADER) if len(gone) >= entries else 0)


def _with_budget(lines: dict[int, list[Chosen]], budgeted: list[int]) -> dict[int, int]:
    entries = (
        IndexEntry.objects.live().filter(workspace__in=budgeted).order_by("workspace_id", "key")
    )
    rows = entries.values_list("workspace_id", "key", "summary")
    saved = {}
    for pk, group in groupby(rows, key=lambda row: row[0]):
        before = [(key, summary) for _, key, summary in group]
        gone = {note.key for note in lines[pk]}
        after = [entry for entry in before if entry[0] not in gone]
        budget = lines[pk][0].budget
        texts = (rendering.index_text(entries, budget=budget) for entries in (before, after))
        longer, shorter = map(len, texts)
        saved[pk] = longer - shorter
    return saved


def by_workspace(notes: Iterable[Chosen]) -> list[tuple[int, str, list[Chosen]]]:
    """Return the notes of each workspace, with its id and path."""
    grouped = groupby(notes, key=lambda note: (note.workspace_id, note.path))
    return [(pk, path, list(group)) for (pk, path), group in grouped]


def shown(notes: list[Chosen]) -> dict[str, Any]:
    """Return what a page says of notes that are about to go: how many, which, what it saves."""
    saved = saved_characters(notes)
    return {
        "total": len(notes),
        "sample": [(row.path, key_text(row.key), row.updated_at) for row in notes[:_SAMPLE]],
        "more": max(0, len(notes) - _SAMPLE),
        "saved": [
            {"path": path, "characters": size, "tokens": rendering.estimated_tokens(size)}
            for path, size in list(saved.items())[:_MOST_SAVINGS]
        ],
        "more_saved": max(0, len(saved) - _MOST_SAVINGS),
        "several": len({row.workspace_id for row in notes}) > 1,
    }


def drops(notes: Iterable[Chosen]) -> list[Change]:
    """Return the changes that forget the notes, each as long as nobody writes to it."""
    return [Drop(key=note.key, expected_revision=note.revision) for note in notes]


def forget(path: str, notes: Iterable[Chosen], *, actor: str, reason: str) -> list[Forgot]:
    """Forget notes of one workspace, all or none, and return the tombstones, in their order.

    Raises `Conflict` where one was written since it was read here, and what `Memory.apply` raises.
    """
    return forgotten(Memory(path, actor=actor).apply(drops(notes), reason=reason))


def log_forgotten(
    request: HttpRequest, row: Model, count: int, reason: str, *, flag: int = CHANGE
) -> None:
    """Leave one line in Django's log, with the number: for the workspace, or for the only note."""
    forgot = ngettext("Forgot %(count)d note.", "Forgot %(count)d notes.", count)
    log(request, [row], flag, f"{forgot % {'count': count}} {reason}".strip())


def said(count: int) -> str:
    """Return the sentence that says it was done."""
    return ngettext("%(count)d note was forgotten.", "%(count)d notes were forgotten.", count) % {
        "count": count
    }
