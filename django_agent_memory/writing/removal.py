"""Taking text out for good: redaction and erasure.

All else only appends. These are the exceptions that laws and operators need, in the same critical
section as every write. `holding` says which rows they are about, and counts them beforehand.
"""

from __future__ import annotations

from django.db import models, router, transaction
from django.db.models import F
from django.utils import timezone

from django_agent_memory.exceptions import Conflict
from django_agent_memory.models import Note, RecordedCall, Revision, Workspace
from django_agent_memory.models.workspace import new_index_version
from django_agent_memory.results import Erased, Redacted
from django_agent_memory.signals import erased

from . import holding
from .changes import check_revision
from .channel import Transcript, check_signature
from .locking import lock, locked, run_serialised
from .postings import forget_all, store_postings


def redact(
    path: str,
    key: str,
    *,
    revision: int | None = None,
    expected_revision: int | None = None,
    actor: str = "",
    reason: str = "",
    using: str | None = None,
) -> Redacted:
    """Blank the summaries and bodies of past revisions of `key`, and the recorded answers.

    Who wrote when and what kind of write it was stays. What the note says now is not past: forget
    or replace it first. Raises `Refused` for a `revision` that is not one of the key's past ones,
    and `Conflict` where the key's last revision is not the `expected_revision` (0 for none).
    """
    holding.check_key(path, key, revision)
    check_signature(actor, reason)
    _check_expected(expected_revision)
    alias = using or router.db_for_write(Workspace)

    def write() -> Redacted:
        workspace = lock(path, using=alias, create=False)
        _expect(workspace, key, expected_revision, alias)
        if workspace is None:
            return _nothing_redacted(key, revision)
        return _redact(Transcript(workspace, alias, actor, reason), key, revision)

    return run_serialised(alias, write)


def erase(
    path: str,
    key: str | None = None,
    *,
    expected_revision: int | None = None,
    using: str | None = None,
) -> Erased:
    """Remove every row that holds the text of `key`, or of the whole workspace; count them.

    The workspace itself and its agent keys stay. Recorded calls lose key and answer but keep their
    names: a late retry must not bring the text back. `signals.erased` is sent when it is committed.
    Raises `Conflict` where the last revision, of the key or of the workspace, is not the
    `expected_revision` (0 for none).
    """
    holding.check_key(path, key, None)
    _check_expected(expected_revision)
    alias = using or router.db_for_write(Workspace)

    def write() -> Erased:
        workspace = lock(path, using=alias, create=False)
        _expect(workspace, key, expected_revision, alias)
        if workspace is None:
            return holding.NOTHING
        keys = holding.keys_held(workspace, key, alias)
        done = _erase(workspace, key, alias)

        def tell() -> None:
            erased.send_robust(Workspace, workspace=path, keys=keys, whole=key is None)

        transaction.on_commit(tell, using=alias, robust=True)
        return done

    return run_serialised(alias, write)


def _check_expected(expected: int | None) -> None:
    if expected is not None:
        check_revision(expected, name="expected_revision")


def _expect(workspace: Workspace | None, key: str | None, expected: int | None, alias: str) -> None:
    """Raise `Conflict` unless the last revision of the key, or of all, is the expected one."""
    if expected is None:
        return
    last = 0 if workspace is None else _last_revision(workspace, key, alias)
    if last != expected:
        name = "The workspace" if key is None else f'"{key}"'
        raise Conflict(
            f"{name} is at revision {last}, not at {expected}; nothing was removed. "
            "Look again first.",
            current_revision=last,
        )


def _last_revision(workspace: Workspace, key: str | None, alias: str) -> int:
    if key is None:
        return int(workspace.revision)
    rows = locked(holding.revisions_of(workspace, key, alias), alias).order_by("-number")
    return rows.values_list("number", flat=True).first() or 0


def _redact(transcript: Transcript, key: str, revision: int | None) -> Redacted:
    workspace, alias = transcript.workspace, transcript.using
    state = transcript.read({key})[key]
    rows = holding.revisions_of(workspace, key, alias)
    past = rows if revision is None else rows.filter(number=revision)
    exists, now = past.exists(), holding.says_now_from(rows, state.revision)
    holding.check_past(key, revision, exists=exists, now=now)
    if not exists:
        return _nothing_redacted(key, None, workspace.revision)
    count = _blank(holding.said_before(past, now))
    calls = _blank_calls(holding.answers(workspace, key, alias, others=count > 0))
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
    """Blank what the revisions say and return how many there are."""
    numbers = list(revisions.values_list("pk", flat=True))
    for start in range(0, len(numbers), 500):
        rows = Revision.objects.using(revisions.db).filter(pk__in=numbers[start : start + 500])
        rows.filter(summary__isnull=False).update(summary="")
        rows.filter(body__isnull=False).update(
            body="", body_is_json=False, details="", expires_at=None
        )
        rows.update(redacted=True)
    return len(numbers)


def _blank_calls(answers: models.QuerySet[RecordedCall]) -> int:
    # Without its digest too: a short text could be guessed from it.
    return answers.update(answer="", digest="")


def _erase(workspace: Workspace, key: str | None, alias: str) -> Erased:
    transcript = Transcript(workspace, alias, "", "")
    rows = holding.texts(workspace, key, alias)
    position = None
    if key is None:
        removed = forget_all(transcript)
    else:
        states = transcript.read({key})
        removed = store_postings(transcript, {}, states)
        position = states[key].position
    used = holding.usage(workspace, position, alias).delete()[0]
    counts = {name: of_table.delete()[0] for name, of_table in rows.items()}
    calls = _blank_calls(holding.answers(workspace, key, alias, others=any(counts.values())))
    named = RecordedCall.objects.using(alias).filter(workspace=workspace)
    (named if key is None else named.filter(key=key)).update(key="")
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
    return Erased(**counts, recorded_calls=calls, usage=used, **removed._asdict())


def _nothing_redacted(key: str, revision: int | None, last: int = 0) -> Redacted:
    holding.check_past(key, revision, exists=False, now=None)
    return Redacted(
        key=key,
        revisions=0,
        recorded_calls=0,
        kept_revision=None,
        revision=None,
        workspace_revision=last,
    )
