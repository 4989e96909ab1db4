"""Taking text out for good: redaction, erasure, and the end of old revisions.

All else only appends. These are the exceptions that laws and operators need, in the same critical
section as every write.
"""

from __future__ import annotations

import datetime
from typing import Any

from django.db import models, router, transaction
from django.db.models import F, OuterRef, Subquery
from django.utils import timezone

from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Refused
from django_agent_memory.models import (
    IndexEntry,
    Note,
    NoteUsage,
    RecordedCall,
    Revision,
    Workspace,
)
from django_agent_memory.models.workspace import new_index_version
from django_agent_memory.results import Erased, Redacted
from django_agent_memory.signals import erased
from django_agent_memory.text import gate

from .changes import check_revision
from .channel import Transcript, check_signature
from .locking import lock, run_serialised
from .postings import forget_all, store_postings


def redact(
    path: str,
    key: str,
    *,
    revision: int | None = None,
    actor: str = "",
    reason: str = "",
    using: str | None = None,
) -> Redacted:
    """Blank the summaries and bodies of past revisions of `key`, and the recorded answers.

    Who wrote when and what kind of write it was stays. What the note says now is not past: forget
    or replace it first. Raises `Refused` for a `revision` that is not one of the key's past ones.
    """
    gate.check_path(path)
    gate.check_key(key, limit=conf.max_key_length)
    check_signature(actor, reason)
    if revision is not None:
        check_revision(revision, name="revision")
    alias = using or router.db_for_write(Workspace)

    def write() -> Redacted:
        workspace = lock(path, using=alias, create=False)
        if workspace is None:
            return _nothing_redacted(key, revision)
        return _redact(Transcript(workspace, alias, actor, reason), key, revision)

    return run_serialised(alias, write)


def erase(path: str, key: str | None = None, *, using: str | None = None) -> Erased:
    """Remove every row that holds the text of `key`, or of the whole workspace; count them.

    The workspace itself and its agent keys stay. Recorded calls lose key and answer but keep their
    names: a late retry must not bring the text back. `signals.erased` is sent when it is committed.
    """
    gate.check_path(path)
    if key is not None:
        gate.check_key(key, limit=conf.max_key_length)
    alias = using or router.db_for_write(Workspace)

    def write() -> Erased:
        workspace = lock(path, using=alias, create=False)
        if workspace is None:
            return Erased(notes=0, index_entries=0, revisions=0, recorded_calls=0)
        keys = frozenset([key]) if key is not None else _keys_of(workspace, alias)
        done = _erase(workspace, key, alias)

        def tell() -> None:
            erased.send_robust(Workspace, workspace=path, keys=keys, whole=key is None)

        transaction.on_commit(tell, using=alias, robust=True)
        return done

    return run_serialised(alias, write)


def prune_revisions(
    path: str,
    *,
    older_than: datetime.timedelta,
    keep: int,
    dry_run: bool = True,
    using: str | None = None,
) -> int:
    """Remove revisions superseded longer ago than `older_than`; return how many.

    The last `keep` (at least 1) of each key stay, whatever their age.
    """
    if keep < 1:
        raise Refused("At least the last revision of each key is kept; give 1 or more.")
    gate.check_path(path)
    alias = using or router.db_for_write(Workspace)
    limit = timezone.now() - older_than

    def write() -> int:
        workspace = lock(path, using=alias, create=False)
        if workspace is None:
            return 0
        return _prune(workspace, limit, keep, alias, dry_run=dry_run)

    return run_serialised(alias, write)


def _redact(transcript: Transcript, key: str, revision: int | None) -> Redacted:
    workspace = transcript.workspace
    state = transcript.read({key})[key]
    past = transcript.rows(Revision).filter(workspace=workspace, key=key)
    if revision is not None:
        if revision == state.revision and revision:
            raise Refused(f'Revision {revision} is what "{key}" says now; forget it or replace it.')
        past = past.filter(number=revision)
        if not past.exists():
            raise Refused(f'"{key}" has no revision {revision}.')
    elif not past.exists():
        return _nothing_redacted(key, None, workspace.revision)
    count = _blank(past.filter(redacted=False).exclude(number=state.revision))
    calls = _blank_calls(transcript.rows(RecordedCall), workspace, key, others=count > 0)
    number = None
    if count or calls:
        number = transcript.revise(Revision.Operation.REDACT, key, state)
        transcript.store_revisions()
        transcript.rows(Note).filter(workspace=workspace, key=key).update(revision=number)
        transcript.close()
    return Redacted(
        key=key,
        revisions=count,
        recorded_calls=calls,
        kept_revision=state.revision or None,
        revision=number,
        workspace_revision=workspace.revision,
    )


def _blank(revisions: models.QuerySet[Revision]) -> int:
    """Blank what the revisions say and return how many said something."""
    numbers = list(revisions.exclude(body=None, summary=None).values_list("pk", flat=True))
    for start in range(0, len(numbers), 500):
        rows = Revision.objects.using(revisions.db).filter(pk__in=numbers[start : start + 500])
        rows.filter(summary__isnull=False).update(summary="")
        rows.filter(body__isnull=False).update(
            body="", body_is_json=False, details="", expires_at=None
        )
        rows.update(redacted=True)
    return len(numbers)


def _blank_calls(
    calls: models.QuerySet[RecordedCall], workspace: Workspace, key: str | None, *, others: bool
) -> int:
    """Blank the recorded answers to calls about `key`, and to `others` that may show it too."""
    rows = calls.filter(workspace=workspace).exclude(answer="")
    if key is not None:
        rows = rows.filter(key__in=[key, ""] if others else [key])
    # Without its digest too: a short text could be guessed from it.
    return rows.update(answer="", digest="")


def _erase(workspace: Workspace, key: str | None, alias: str) -> Erased:
    of_key = {} if key is None else {"key": key}
    transcript = Transcript(workspace, alias, "", "")
    used = NoteUsage.objects.using(alias).filter(workspace=workspace)
    if key is None:
        removed = forget_all(transcript)
        used.delete()
    else:
        states = transcript.read({key})
        removed = store_postings(transcript, {}, states)
        used.filter(position=states[key].position).delete()
    counts = {
        name: model._default_manager.using(alias).filter(workspace=workspace, **of_key).delete()[0]
        for name, model in (
            ("notes", Note),
            ("index_entries", IndexEntry),
            ("revisions", Revision),
        )
    }
    calls = RecordedCall.objects.using(alias)
    counts["recorded_calls"] = _blank_calls(calls, workspace, key, others=any(counts.values()))
    calls.filter(workspace=workspace, **of_key).update(key="")
    if any(counts.values()):
        # The erasure counts as a revision, so that whoever compares numbers sees a change; its row,
        # which would name the key, is not kept.
        Workspace.objects.using(alias).filter(pk=workspace.pk).update(
            revision=F("revision") + 1,
            counted_notes=workspace.counted_notes,
            counted_terms=workspace.counted_terms,
            revisions_removed=F("revisions_removed") + counts["revisions"] + 1,
            index_version=new_index_version(),
            updated_at=timezone.now(),
            **({"title": "", "description": ""} if key is None else {}),
        )
    return Erased(**counts, **removed._asdict())


def _keys_of(workspace: Workspace, alias: str) -> frozenset[str]:
    """Return every key that a row of the workspace has."""
    tables: tuple[type[Any], ...] = (Note, IndexEntry, Revision)
    rows = (table.objects.using(alias).filter(workspace=workspace).order_by() for table in tables)
    return frozenset(key for of in rows for key in of.values_list("key", flat=True).distinct())


def _prune(
    workspace: Workspace, limit: datetime.datetime, keep: int, alias: str, *, dry_run: bool
) -> int:
    """Remove what may go, key by key of those that have any; see `prune_revisions`."""
    rows = Revision.objects.using(alias).filter(workspace=workspace)
    newer = rows.filter(key=OuterRef("key"), number__gt=OuterRef("number")).order_by("number")
    # The one after it, and the `keep`-th after it (no such one: it is among the last `keep`).
    superseded = rows.annotate(
        next_at=Subquery(newer.values("created_at")[:1]),
        next_number=Subquery(newer.values("number")[:1]),
        kept_number=Subquery(newer.values("number")[keep - 1 : keep]),
    ).filter(next_at__lt=limit, kept_number__isnull=False)
    found = list(superseded.values_list("pk", "next_number"))
    if dry_run or not found:
        return len(found)
    for start in range(0, len(found), 500):
        batch = [pk for pk, _ in found[start : start + 500]]
        rows.filter(pk__in=batch).delete()
    complete_from = max(number for _, number in found)
    Workspace.objects.using(alias).filter(pk=workspace.pk).update(
        revisions_removed=F("revisions_removed") + len(found),
        history_from=max(workspace.history_from, complete_from),
    )
    return len(found)


def _nothing_redacted(key: str, revision: int | None, last: int = 0) -> Redacted:
    if revision is not None:
        raise Refused(f'"{key}" has no revision {revision}.')
    return Redacted(
        key=key,
        revisions=0,
        recorded_calls=0,
        kept_revision=None,
        revision=None,
        workspace_revision=last,
    )
