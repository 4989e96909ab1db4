"""Whether what `find` counts is what the notes say, and counting it anew where it is not.

After raw SQL, a partial restore, an upgrade or a change of the analyser. Nothing of it is history,
so that mending it takes no revision.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import Count, Exists, OuterRef, Sum

from django_agent_memory.models import Note, Placement, Posting, Tally, Workspace

from .channel import Transcript
from .postings import Document, TallyName, document, replace_documents
from .state import State

_BATCH = 500


def stale_notes(workspace: Workspace, states: dict[str, State], using: str) -> set[str]:
    """Return the keys of those notes that are not counted as they are."""
    documents = {
        key: document(key, state) for key, state in states.items() if state.text is not None
    }
    positions = sorted({one.position for one in documents.values()})
    postings = _by_position(Posting, workspace, positions, using)
    placements = _by_position(Placement, workspace, positions, using)
    return {
        key
        for key, one in documents.items()
        if postings.get(one.position, []) != sorted(one.postings())
        or placements.get(one.position, []) != sorted(one.placements())
    }


def is_stale(workspace: Workspace, using: str) -> bool:
    """Whether notes are counted that are not there, or the sums are not those of the placements."""
    orphans = any(_orphans(model, workspace, using).exists() for model in (Posting, Placement))
    return orphans or _tallies(workspace, using) != _sums(workspace, using)


def recount(transcript: Transcript, keys: Iterable[str]) -> None:
    """Count the notes under these keys anew."""
    states = transcript.read(set(keys))
    documents: list[Document] = [
        document(key, state) for key, state in states.items() if state.text is not None
    ]
    replace_documents(transcript, {one.position for one in documents}, documents)


def recount_workspace(workspace: Workspace, using: str) -> None:
    """Count no note that is not there, and sum up anew."""
    for model in (Posting, Placement):
        orphans = _orphans(model, workspace, using).values_list("position", flat=True)
        positions = sorted(set(orphans))
        for start in range(0, len(positions), _BATCH):
            batch = positions[start : start + _BATCH]
            rows = model.objects.using(using).filter(workspace=workspace)
            rows.filter(position__in=batch).delete()
    sums = _sums(workspace, using)
    Tally.objects.using(using).filter(workspace=workspace).delete()
    rows_of_sums = [
        Tally(workspace=workspace, kind=kind, name=name, documents=documents, length=length)
        for (kind, name), (documents, length) in sorted(sums.items())
    ]
    Tally.objects.using(using).bulk_create(rows_of_sums)


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


def _tallies(workspace: Workspace, using: str) -> dict[TallyName, tuple[int, int]]:
    """Return the sums there are, but for those of nothing."""
    rows = Tally.objects.using(using).filter(workspace=workspace, documents__gt=0)
    return {
        (kind, name): (documents, length)
        for kind, name, documents, length in rows.values_list("kind", "name", "documents", "length")
    }


def _sums(workspace: Workspace, using: str) -> dict[TallyName, tuple[int, int]]:
    """Return the sums there should be, by the placements."""
    placements = Placement.objects.using(using).filter(workspace=workspace).order_by()
    kind = Tally.Kind
    sums: dict[TallyName, tuple[int, int]] = {}
    contexts = placements.exclude(context="").values("context")
    sizes = contexts.annotate(notes=Count("position"), terms=Sum("length"))
    for name, documents, length in sizes.values_list("context", "notes", "terms"):
        sums[kind.CONTEXT.value, name] = (documents, int(length))
    if sums:
        total = sum(length for _, length in sums.values())
        sums[kind.CONTEXTS.value, ""] = (len(sums), total)
    # Of a note in several contexts one placement counts.
    notes = placements.values_list("position", "subject", "length").distinct()
    for _, subject, length in notes.iterator():
        for of_kind, of_name in ((kind.NOTES, ""), (kind.SUBJECT, subject)):
            if of_kind == kind.NOTES or of_name:
                documents, whole = sums.get((of_kind.value, of_name), (0, 0))
                sums[of_kind.value, of_name] = (documents + 1, whole + length)
    return sums
