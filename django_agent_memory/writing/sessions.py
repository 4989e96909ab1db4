"""Sessions: what one has to itself is forgotten when it ends."""

from __future__ import annotations

from django.db import router

from django_agent_memory.exceptions import Refused
from django_agent_memory.models import Note, Workspace
from django_agent_memory.results import Outcome
from django_agent_memory.text import gate

from .changes import Drop, check
from .channel import Then, Transcript, check_signature
from .details import MAX_SUBJECT_LENGTH
from .locking import lock, locked, run_serialised


def check_session(session: object) -> str:
    """Return the name of a session: 1 to 255 code points, no control character; else `Refused`."""
    if session == "":
        raise Refused("The session is empty; give it a name of 1 or more characters.")
    checked = gate.check_text(session, name="session", limit=MAX_SUBJECT_LENGTH)
    gate.check_line_characters(checked, name="session")
    return checked


def end_session(
    path: str,
    session: str,
    *,
    actor: str = "",
    reason: str = "",
    using: str | None = None,
    then: Then | None = None,
) -> list[Outcome]:
    """Forget all that the session has to itself, in one critical section; return an outcome each.

    What it writes afterwards is a note of its own again. `then` is as in `apply`. Raises `Busy`.
    """
    gate.check_path(path)
    check_session(session)
    check_signature(actor, reason)
    alias = using or router.db_for_write(Workspace)

    def write() -> list[Outcome]:
        workspace = lock(path, using=alias, create=then is not None)
        if workspace is None:
            return []
        transcript = Transcript(workspace, alias, actor, reason, session=session)
        private = Note.objects.using(alias).filter(workspace=workspace, session=session)
        keys = sorted(locked(private, alias).values_list("key", flat=True))
        outcomes = transcript.write([check(Drop(key=key)) for key in keys])
        if then is not None:
            then(workspace, outcomes)
        return outcomes

    return run_serialised(alias, write)
