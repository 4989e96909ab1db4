"""Which rows hold the text of a key, or of a workspace: one answer for who counts and who removes.

Counting takes no lock and the same few statements whatever there is.
"""

from __future__ import annotations

from typing import Any

from django.db import models, router
from django.db.models import Count, Max, Sum
from django.db.models.functions import Coalesce, Length

from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Refused
from django_agent_memory.models import (
    IndexEntry,
    Note,
    NoteContext,
    NoteUsage,
    Posting,
    RecordedCall,
    Revision,
    Workspace,
)
from django_agent_memory.results import Erasable, Erased, Redactable
from django_agent_memory.text import gate

from .changes import check_revision
from .postings import counted_rows

NOTHING = Erased(notes=0, index_entries=0, revisions=0, recorded_calls=0)


def redactable(
    path: str, key: str, *, revision: int | None = None, using: str | None = None
) -> Redactable:
    """Return what `redact` would blank by now; `revision` and what it raises are as there."""
    check_key(path, key, revision)
    alias = using or router.db_for_write(Workspace)
    workspace = Workspace.objects.using(alias).filter(path=path).first()
    if workspace is None:
        check_past(key, revision, exists=False, now=None)
        return Redactable(
            revisions=0, characters=0, recorded_calls=0, kept_revision=None, last_revision=0
        )
    current = _note(workspace, key, alias)[0]
    rows = revisions_of(workspace, key, alias)
    past = rows if revision is None else rows.filter(number=revision)
    now = says_now_from(rows, current)
    check_past(key, revision, exists=past.exists(), now=now)
    sums = said_before(past, now).aggregate(rows=Count("pk"), characters=_characters())
    calls = answers(workspace, key, alias, others=sums["rows"] > 0)
    return Redactable(
        revisions=sums["rows"],
        characters=sums["characters"],
        recorded_calls=calls.count() if past.exists() else 0,
        kept_revision=current or None,
        last_revision=last_revision(workspace, key, alias),
    )


def erasable(path: str, key: str | None = None, *, using: str | None = None) -> Erasable:
    """Return what `erase` would remove by now, of the key or of the whole workspace."""
    check_key(path, key, None)
    alias = using or router.db_for_write(Workspace)
    workspace = Workspace.objects.using(alias).filter(path=path).first()
    if workspace is None:
        return Erasable(rows=NOTHING, characters=0, last_revision=0)
    rows = texts(workspace, key, alias)
    sums = {
        name: of.aggregate(rows=Count("pk"), characters=_characters(*columns))
        for (name, of), columns in zip(rows.items(), _COLUMNS, strict=True)
    }
    counts = {name: of["rows"] for name, of in sums.items()}
    position = None if key is None else _note(workspace, key, alias)[1]
    erased = Erased(
        **counts,
        recorded_calls=answers(workspace, key, alias, others=any(counts.values())).count(),
        postings=counted_rows(Posting, workspace, places(position), using=alias).count(),
        contexts=counted_rows(NoteContext, workspace, places(position), using=alias).count(),
        usage=usage(workspace, position, alias).count(),
    )
    return Erasable(
        rows=erased,
        characters=sum(of["characters"] for of in sums.values()),
        last_revision=last_revision(workspace, key, alias),
    )


def keys_of(path: str, key: str | None = None, *, using: str | None = None) -> frozenset[str]:
    """Return the keys that `erase` names in its signal; none where there is no workspace."""
    alias = using or router.db_for_write(Workspace)
    workspace = Workspace.objects.using(alias).filter(path=path).first()
    return frozenset() if workspace is None else keys_held(workspace, key, alias)


# What is asked and refused


def check_key(path: str, key: str | None, revision: int | None) -> None:
    """Raise `Refused` unless these can name a workspace, a key of it and one of its revisions."""
    gate.check_path(path)
    if key is not None:
        gate.check_key(key, limit=conf.max_key_length)
    if revision is not None:
        check_revision(revision, name="revision")


def check_past(key: str, revision: int | None, *, exists: bool, now: int | None) -> None:
    """Raise `Refused` for a `revision` that is not one of the key's past ones."""
    if revision is None:
        return
    if not exists:
        raise Refused(f'"{key}" has no revision {revision}.')
    if now is not None and revision >= now:
        raise Refused(f'Revision {revision} is what "{key}" says now; forget it or replace it.')


# The rows

_COLUMNS = (("body",), ("summary",), ("body", "summary"))
"""What is text in each of `texts`."""


def texts(workspace: Workspace, key: str | None, alias: str) -> dict[str, models.QuerySet[Any]]:
    """Return what `erase` deletes, by the names that `Erased` has for it."""
    of_key = {} if key is None else {"key": key}
    tables: tuple[tuple[str, type[Any]], ...] = (
        ("notes", Note),
        ("index_entries", IndexEntry),
        ("revisions", Revision),
    )
    return {
        name: model._default_manager.using(alias).filter(workspace=workspace, **of_key)
        for name, model in tables
    }


def keys_held(workspace: Workspace, key: str | None, alias: str) -> frozenset[str]:
    """Return the key, or with None every key that a row of the workspace has."""
    if key is not None:
        return frozenset([key])
    rows = texts(workspace, None, alias).values()
    return frozenset(
        key for of in rows for key in of.order_by().values_list("key", flat=True).distinct()
    )


def places(position: int | None) -> set[int] | None:
    """Return the positions of one note, none for 0, which is that of raw SQL; None for all."""
    return None if position is None else {position} - {0}


def usage(workspace: Workspace, position: int | None, alias: str) -> models.QuerySet[NoteUsage]:
    """Return how often the note at the position was recalled; None for all of the workspace."""
    used = NoteUsage.objects.using(alias).filter(workspace=workspace)
    return used if position is None else used.filter(position=position)


def revisions_of(workspace: Workspace, key: str, alias: str) -> models.QuerySet[Revision]:
    """Return the revisions of the key, those of sessions too."""
    return Revision.objects.using(alias).filter(workspace=workspace, key=key)


def says_now_from(of_key: models.QuerySet[Revision], current: int) -> int | None:
    """Return from which revision on the key says what the note says now; None without a note.

    A redaction is a revision that says the same as the one before it.
    """
    if not current:
        return None
    told = of_key.filter(number__lte=current).exclude(operation=Revision.Operation.REDACT)
    return int(told.aggregate(last=Coalesce(Max("number"), 0))["last"] or 0)


def said_before(past: models.QuerySet[Revision], now: int | None) -> models.QuerySet[Revision]:
    """Return those that `redact` blanks: that say something, but for what is said now."""
    blankable = past.filter(redacted=False).exclude(body=None, summary=None)
    return blankable if now is None else blankable.filter(number__lt=now)


def answers(
    workspace: Workspace, key: str | None, alias: str, *, others: bool
) -> models.QuerySet[RecordedCall]:
    """Return the recorded answers to calls about `key`, and to `others` that may show it too."""
    rows = RecordedCall.objects.using(alias).filter(workspace=workspace).exclude(answer="")
    return rows if key is None else rows.filter(key__in=[key, ""] if others else [key])


def last_revision(workspace: Workspace, key: str | None, alias: str) -> int:
    """Return the number of the last revision of the key, of the workspace with None; 0 for none."""
    if key is None:
        return int(workspace.revision)
    of_key = revisions_of(workspace, key, alias)
    return of_key.aggregate(last=Coalesce(Max("number"), 0))["last"] or 0


def _note(workspace: Workspace, key: str, alias: str) -> tuple[int, int]:
    """Return revision and position of the note under the key, 0 where there is none."""
    rows = Note.objects.using(alias).filter(workspace=workspace, key=key)
    return rows.values_list("revision", "position").first() or (0, 0)


def _characters(*columns: str) -> Coalesce:
    total: Any = 0
    for column in columns or ("body", "summary"):
        total = Coalesce(Length(column), 0) + total
    return Coalesce(Sum(total), 0)
