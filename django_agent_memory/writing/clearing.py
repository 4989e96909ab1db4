"""Forgetting every note of a workspace in one critical section."""

from __future__ import annotations

from django.db import router

from django_agent_memory.models import Note, Revision, Workspace
from django_agent_memory.results import Outcome
from django_agent_memory.text import gate

from .changes import Checked
from .channel import Then, Transcript, check_signature
from .locking import lock, locked, run_serialised


def clear(
    path: str,
    *,
    actor: str = "",
    reason: str = "",
    session: str = "",
    using: str | None = None,
    then: Then | None = None,
) -> list[Outcome]:
    """Forget every note that `session` sees once the lock is held; an outcome each, in key order.

    The workspace, its history and index entries that have no note stay. `then` and the errors are
    those of `apply`.
    """
    gate.check_path(path)
    check_signature(actor, reason)
    alias = using or router.db_for_write(Workspace)

    def write() -> list[Outcome]:
        workspace = lock(path, using=alias, create=then is not None)
        if workspace is None:
            return []
        live = Note.objects.using(alias).filter(workspace=workspace).live(session=session)
        notes = locked(live, alias)
        forgets = [
            Checked(Revision.Operation.FORGET, key, None)
            for key in notes.order_by("key").values_list("key", flat=True)
        ]
        outcomes = Transcript(workspace, alias, actor, reason, session=session).write(forgets)
        if then is not None:
            then(workspace, outcomes)
        return outcomes

    return run_serialised(alias, write)
