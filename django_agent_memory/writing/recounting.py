"""Whether what `find` reads is what the notes say, and counting it anew where it is not.

After raw SQL, a partial restore, an upgrade or a change of the analyser. Nothing of it is history,
so that mending it takes no revision.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import Count, Exists, OuterRef, Sum

from django_agent_memory.models import Note, NoteContext, Posting, Workspace

from .channel import Transcript
from .postings import COUNTED, documents, recount, take_away
from .state import State

_BATCH = 500


def stale_notes(workspace: Workspace, states: dict[str, State], using: str) -> set[str]:
    """Return the keys of those notes that are not counted as they are."""
    counted = documents(states)
    positions = sorted({one.position for one in counted.values()})
    postings = _by_position(Posting, workspace, positions, using)
    contexts = _by_position(NoteContext, workspace, positions, using)
    notes = Note.objects.using(using).filter(workspace=workspace, position__in=positions)
    columns = {row["position"]: row for row in notes.values("position", *_COLUMNS)}
    return {
        key
        for key, one in counted.items()
        if postings.get(one.position, []) != sorted(one.postings())
        or contexts.get(one.position, []) != sorted(one.placed())
        or columns.get(one.position) != {"position": one.position, **one.columns}
    }


def is_stale(workspace: Workspace, using: str) -> bool:
    """Whether notes are counted that are not there, or the sums are not those of the notes."""
    if any(_orphans(model, workspace, using).exists() for model in COUNTED):
        return True
    current = Workspace.objects.using(using).filter(pk=workspace.pk)
    return current.values_list("counted_notes", "counted_terms").first() != _sums(workspace, using)


def recount_notes(transcript: Transcript, keys: Iterable[str]) -> None:
    """Count the notes under these keys anew."""
    recount(transcript, documents(transcript.read(set(keys))).values())


def displace(transcript: Transcript, keys: Iterable[str]) -> None:
    """Take the notes under these keys from positions that are not theirs alone.

    They get new ones with their next revision; what is counted of others there is counted anew.
    """
    notes = transcript.rows(Note).filter(workspace=transcript.workspace, key__in=list(keys))
    positions = set(notes.values_list("position", flat=True))
    if positions:
        take_away(transcript, positions)
        notes.update(position=0)


def recount_workspace(workspace: Workspace, using: str) -> None:
    """Count no note that is not there, and sum up anew."""
    for model in COUNTED:
        orphans = _orphans(model, workspace, using).values_list("position", flat=True)
        positions = sorted(set(orphans))
        for start in range(0, len(positions), _BATCH):
            batch = positions[start : start + _BATCH]
            rows = model.objects.using(using).filter(workspace=workspace)
            rows.filter(position__in=batch).delete()
    notes, terms = _sums(workspace, using)
    rows_of_workspace = Workspace.objects.using(using).filter(pk=workspace.pk)
    rows_of_workspace.update(counted_notes=notes, counted_terms=terms)


_COLUMNS = ("length", "told", "has_number", "specificity", "fingerprint", "flags")


def _by_position(
    model: type[Any], workspace: Workspace, positions: list[int], using: str
) -> dict[int, list[tuple[Any, ...]]]:
    """Return the columns of the rows after the workspace, in order, by position."""
    columns = [field.attname for field in model._meta.concrete_fields][1:]
    rows = model.objects.using(using).filter(workspace=workspace, position__in=positions)
    at = columns.index("position")
    found = sorted(rows.values_list(*columns), key=lambda row: (row[at], row))
    return {position: list(group) for position, group in groupby(found, key=itemgetter(at))}


def _orphans(model: type[Any], workspace: Workspace, using: str) -> Any:
    notes = Note.objects.using(using).filter(workspace=workspace, position=OuterRef("position"))
    rows = model.objects.using(using).filter(workspace=workspace)
    return rows.filter(~Exists(notes)).order_by()


def _sums(workspace: Workspace, using: str) -> tuple[int, int]:
    """Return how many notes there are, and how many terms in them."""
    notes = Note.objects.using(using).filter(workspace=workspace).order_by()
    sums = notes.aggregate(notes=Count("pk"), terms=Sum("length"))
    return sums["notes"], int(sums["terms"] or 0)
