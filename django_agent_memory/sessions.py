"""A bridge from Django's sessions: a memory session for each, which ends when its user logs out.

The name of the memory session is a salted digest of a random token that the Django session keeps:
it survives the new session key of a login, works with every session backend, and tells nothing of
the session key. `request.session.flush()` sends no signal; call `end_session_of(request)` before.
A login over the session of another user flushes it too: when Django tells of it, the token is gone,
and the notes, which nobody sees any more, end with their expiry.
"""

from __future__ import annotations

import logging
import secrets
from typing import Any

from django.db import DatabaseError, router
from django.db.models import Exists, OuterRef
from django.utils.crypto import salted_hmac

from .exceptions import AgentMemoryError
from .memory import Memory
from .models import Note, Workspace

_TOKEN = "_agent_memory_session"  # noqa: S105  (the name of one)
_SALT = "django_agent_memory.sessions"

logger = logging.getLogger(__name__)


def session_of(request: Any) -> str:
    """Return the name of the memory session that belongs to the request's Django session.

    The first time it puts a token into the Django session, which is then saved with the response.
    """
    token = request.session.get(_TOKEN)
    if token is None:
        token = request.session[_TOKEN] = secrets.token_urlsafe(32)
    return _name(token)


def end_session_of(request: Any) -> int:
    """End the memory session of the request, in every workspace; return how many notes it had.

    Does nothing where `session_of` was never asked. Raises what `Memory.end_session` does.
    """
    session = getattr(request, "session", None)
    token = None if session is None else session.get(_TOKEN)
    if token is None:
        return 0
    name = _name(token)
    private = Note.objects.filter(workspace=OuterRef("pk"), session=name)
    workspaces = Workspace.objects.using(router.db_for_write(Note)).filter(Exists(private))
    paths = list(workspaces.order_by("path").values_list("path", flat=True))
    return sum(
        Memory(path, session=name).end_session(reason="The session ended.") for path in paths
    )


def after_logout(*, request: Any = None, **_: Any) -> None:
    """Receive `user_logged_out`; what fails is logged, and expires by itself: a logout succeeds."""
    try:
        end_session_of(request)
    except (AgentMemoryError, DatabaseError):
        logger.warning("A memory session could not be ended; its notes expire.", exc_info=True)


def _name(token: str) -> str:
    return f"django:{salted_hmac(_SALT, token, algorithm='sha256').hexdigest()}"
