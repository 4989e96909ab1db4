"""Notes that may be one: what pages show of each, and which of them should stay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import F, QuerySet
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_agent_memory.models import Note, NoteUsage, Workspace
from django_agent_memory.text.flags import SECRETS, decode_flags

MOST_TOGETHER = 10
"""So many notes of a group are shown and merged at once."""


def live_notes(workspace: Workspace) -> QuerySet[Note]:
    """Return the notes that all share and that agents see, with `summary` and `size`."""
    notes = Note.objects.filter(workspace=workspace).live().with_size()
    return notes.annotate(summary=F("entry__summary")).defer("haystack")


def read(notes: QuerySet[Note], pks: Sequence[int]) -> list[Any]:
    """Return those of the notes that are there, in the order of the keys given, with `recalls`.

    Two statements.
    """
    found: dict[int, Any] = notes.in_bulk(pks)
    positions = {note.position for note in found.values()}
    usage = NoteUsage.objects.filter(
        workspace__in={note.workspace_id for note in found.values()}, position__in=positions
    )
    counts = dict(usage.values_list("position", "recall_count"))
    for note in found.values():
        note.recalls = counts.get(note.position, 0)
    return [found[pk] for pk in pks if pk in found]


def suggested(notes: Sequence[Any]) -> tuple[Any, str]:
    """Return the note that should stay, and why: recalled most often, else written last."""
    best = max(notes, key=lambda note: (note.recalls, note.revision))
    equal = sum(1 for note in notes if note.recalls == best.recalls)
    if equal == len(notes):
        return best, _("written last")
    if equal > 1:
        return best, _("recalled most often, and written last of those")
    return best, _("recalled most often")


def times(recalls: int) -> str:
    """Return how often a note was recalled, in words."""
    if not recalls:
        return _("never recalled")
    said = ngettext("recalled once", "recalled %(count)s times", recalls)
    return said % {"count": number_format(recalls)}


def holds_secret(notes: Iterable[Any]) -> bool:
    """Whether one of the notes is flagged as holding a credential."""
    return any(flag in SECRETS for note in notes for flag in decode_flags(note.flags))
