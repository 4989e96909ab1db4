"""Rows that contradict each other, after raw SQL or a partial restore: found by key, and mended.

The history is what was written through the channel. Where a note or an index entry says something
else, that is adopted as a new revision (both texts stay readable); what the history has and the
tables lost is put back; an index entry that neither knows is dropped, once a
revision has kept it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import models, router
from django.db.models import Count, Max

from django_agent_memory.models import IndexEntry, Note, Revision, Workspace
from django_agent_memory.models.details import PLAIN
from django_agent_memory.results import Defect, Details
from django_agent_memory.text import gate
from django_agent_memory.text.folding import haystack

from . import recounting
from .changes import Checked
from .channel import Transcript, check_signature
from .locking import lock, run_serialised
from .state import State

_BATCH = 500


def find_defects(path: str, *, using: str | None = None) -> Iterator[Defect]:
    """Yield each defect of the workspace with its key ("" for the workspace itself), in batches."""
    gate.check_path(path)
    alias = using or router.db_for_read(Workspace)
    workspace = Workspace.objects.using(alias).filter(path=path).first()
    if workspace is None:
        return
    yield from _of_workspace(workspace, alias)
    is_sound = True
    for keys in _key_batches(workspace, alias):
        for defect in _of_keys(workspace, _rows_by_key(workspace, keys, alias), alias):
            is_sound = False
            yield defect
    # Of notes that are defective the sums are wrong as well.
    if is_sound and recounting.is_stale(workspace, alias):
        yield Defect(kind="postings_stale", key="")


def repair(
    path: str, *, actor: str = "", reason: str = "", using: str | None = None
) -> list[Defect]:
    """Mend every defect, batch by batch, each in the critical section; return what was mended."""
    check_signature(actor, reason)
    alias = using or router.db_for_write(Workspace)
    mended = _repair_workspace(path, alias)
    defective = sorted({d.key for d in find_defects(path, using=alias) if d.key})
    for start in range(0, len(defective), _BATCH):
        mended += _repair_keys(path, defective[start : start + _BATCH], actor, reason, alias)
    counts = _repair_counts(path, alias)
    return mended if defective else mended + counts


class _Rows:
    """What the three tables say about one key."""

    def __init__(self) -> None:
        self.note: Note | None = None
        self.is_misplaced = False
        self.summary: str | None = None
        self.last: Revision | None = None

    def defects(self, key: str) -> list[str]:
        """Return the kinds of contradiction there are."""
        remembered = self.last is not None and self.last.body is not None
        if self.note is None:
            missing = ["note_missing"] if remembered else []
            lonely = ["entry_without_note"] if self.summary is not None else []
            return missing or lonely
        found = []
        if self.last is None:
            found.append("note_without_history")
        elif _said(self.note) != _said(self.last):
            found.append("note_differs")
        if self.last is not None and self.summary != self.last.summary:
            found.append("entry_missing" if self.summary is None else "entry_differs")
        if self.note.haystack != haystack(key, self.summary or "", self.note.body):
            found.append("haystack_stale")
        if self._is_broken_json():
            found.append("broken_json")
        if self.last is not None and self.note.revision != self.last.number:
            found.append("revision_differs")
        if self.last is not None and self.is_misplaced:
            found.append("position_shared")
        return found

    def mended(self, key: str) -> list[Checked]:
        """Return the changes that make the tables agree; what they drop is a revision first."""
        last = self.last if self.last is not None and self.last.body is not None else None
        summary = self.summary
        if summary is None and last is not None:
            summary = last.summary
        if self.note is not None:
            text, is_json = self.note.body, self.note.body_is_json and not self._is_broken_json()
        elif last is not None:
            text, is_json = last.body or "", last.body_is_json
        else:
            lonely = Checked(Revision.Operation.REPAIR, key, None, summary=self.summary)
            return [lonely, lonely._replace(summary=None)]
        details = _details(self.note or last)
        return [Checked(Revision.Operation.REPAIR, key, None, text, is_json, summary, 0, details)]

    def state(self) -> State:
        """Return what there is as the channel knows it."""
        if self.note is None:
            return State()
        return State(
            self.note.body,
            self.note.body_is_json,
            self.summary,
            position=self.note.position,
            details=self.note.known,
            length=self.note.length,
        )

    def _is_broken_json(self) -> bool:
        note = self.note
        return note is not None and note.body_is_json and not gate.is_sound_json(note.body)


def _said(row: Note | Revision) -> tuple[str | None, bool, Details]:
    return row.body, row.body_is_json, row.known


def _details(row: Note | Revision | None) -> Details:
    return PLAIN if row is None else row.known


def _of_keys(workspace: Workspace, rows: dict[str, _Rows], alias: str) -> Iterator[Defect]:
    states = {key: of_key.state() for key, of_key in rows.items()}
    stale = recounting.stale_notes(workspace, states, alias)
    for key, of_key in rows.items():
        kinds = of_key.defects(key) or (["postings_stale"] if key in stale else [])
        for kind in kinds:
            yield Defect(kind=kind, key=key)


def _of_workspace(workspace: Workspace, alias: str) -> Iterator[Defect]:
    revisions = Revision.objects.using(alias).filter(workspace=workspace)
    if (revisions.aggregate(last=Max("number"))["last"] or 0) > workspace.revision:
        yield Defect(kind="revision_counter_behind", key="")
    missing = workspace.revision - workspace.revisions_removed - revisions.count()
    if missing > 0:
        yield Defect(kind="revisions_missing", key="", count=missing)
    if workspace.history_from > workspace.revision:
        yield Defect(kind="history_start_ahead", key="")


def _key_batches(workspace: Workspace, alias: str) -> Iterator[list[str]]:
    """Yield every key that any of the three tables has, in key order, 500 or so at a time."""
    after = ""
    while True:
        heads = [
            _next_keys(model, workspace, after, alias) for model in (Note, IndexEntry, Revision)
        ]
        full = [keys[-1] for keys in heads if len(keys) == _BATCH]
        # Beyond the end of a full batch the others may have keys that it has not shown yet.
        end = min(full) if full else None
        keys = sorted({key for keys in heads for key in keys if end is None or key <= end})
        if keys:
            yield keys
        if end is None:
            return
        after = end


def _next_keys(model: type[Any], workspace: Workspace, after: str, alias: str) -> list[str]:
    rows = model.objects.using(alias).filter(workspace=workspace, key__gt=after)
    return list(rows.order_by("key").values_list("key", flat=True).distinct()[:_BATCH])


def _rows_by_key(workspace: Workspace, keys: list[str], alias: str) -> dict[str, _Rows]:
    rows = {key: _Rows() for key in keys}
    wanted: dict[str, Any] = {"workspace": workspace, "key__in": keys}
    notes = {note.key: note for note in Note.objects.using(alias).filter(**wanted)}
    shared = _shared_positions(workspace, {note.position for note in notes.values()}, alias)
    for note in notes.values():
        rows[note.key].note = note
        rows[note.key].is_misplaced = note.position in shared
    entries = IndexEntry.objects.using(alias).filter(**wanted)
    for key, summary in entries.values_list("key", "summary"):
        rows[key].summary = summary
    revisions = Revision.objects.using(alias).filter(**wanted)
    newest = revisions.values("key").annotate(last=Max("number")).values("last")
    numbers = list(newest.values_list("last", flat=True))
    for revision in Revision.objects.using(alias).filter(workspace=workspace, number__in=numbers):
        rows[revision.key].last = revision
    return rows


def _shared_positions(workspace: Workspace, positions: set[int], alias: str) -> set[int]:
    """Return those of the positions that several notes have, and 0, which is that of raw SQL."""
    notes = Note.objects.using(alias).filter(workspace=workspace, position__in=positions)
    counted = notes.order_by().values("position").annotate(notes=Count("pk"))
    return {0, *counted.filter(notes__gt=1).values_list("position", flat=True)}


def _repair_workspace(path: str, alias: str) -> list[Defect]:
    """Set the counters by the rows: the next write must find a free number."""

    def write() -> list[Defect]:
        workspace = lock(path, using=alias, create=False)
        if workspace is None:
            return []
        found = list(_of_workspace(workspace, alias))
        if found:
            _set_counters(workspace, alias)
        return found

    return run_serialised(alias, write)


def _set_counters(workspace: Workspace, alias: str) -> None:
    revisions: models.QuerySet[Revision] = Revision.objects.using(alias).filter(workspace=workspace)
    last = max(workspace.revision, revisions.aggregate(last=Max("number"))["last"] or 0)
    removed = last - revisions.count()
    # What is missing without having been removed may have been anything: the past is unknown.
    is_lost = removed > workspace.revisions_removed
    Workspace.objects.using(alias).filter(pk=workspace.pk).update(
        revision=last,
        revisions_removed=removed,
        history_from=last if is_lost else min(workspace.history_from, last),
    )


def _repair_keys(path: str, keys: list[str], actor: str, reason: str, alias: str) -> list[Defect]:
    def write() -> list[Defect]:
        workspace = lock(path, using=alias, create=False)
        if workspace is None:
            return []
        rows = _rows_by_key(workspace, keys, alias)
        found = list(_of_keys(workspace, rows, alias))
        stale = {defect.key for defect in found if defect.kind == "postings_stale"}
        defective = sorted({d.key for d in found if d.kind != "postings_stale"})
        changes = [change for key in defective for change in rows[key].mended(key)]
        # Whatever SQL did to the entries, the text in the cache does not show it.
        transcript = Transcript(workspace, alias, actor, reason, index_changed=True, session=None)
        misplaced = [key for key in defective if rows[key].is_misplaced]
        recounting.displace(transcript, misplaced)
        transcript.write(changes)
        # What the rows of a mended note said was counted may have been as wrong as the rest.
        recounting.recount_notes(transcript, stale.union(defective))
        return found

    return run_serialised(alias, write)


def _repair_counts(path: str, alias: str) -> list[Defect]:
    """Mend the sums, once the notes they are of are mended."""

    def write() -> list[Defect]:
        workspace = lock(path, using=alias, create=False)
        if workspace is None or not recounting.is_stale(workspace, alias):
            return []
        recounting.recount_workspace(workspace, alias)
        return [Defect(kind="postings_stale", key="")]

    return run_serialised(alias, write)
