"""The end of old revisions: what was superseded long ago is removed, where a site asks for it."""

from __future__ import annotations

import datetime

from django.db import router
from django.db.models import F, OuterRef, Subquery
from django.utils import timezone

from django_agent_memory.exceptions import Refused
from django_agent_memory.models import Revision, Workspace
from django_agent_memory.text import gate

from .locking import lock, run_serialised


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
