"""Forms that have issued a key: sent again, by a reload of the secret's page, they issue nothing.

The session remembers digests of what the forms carried, and nothing of the keys.
"""

from __future__ import annotations

import hashlib
from typing import Any

_NAME = "agent_memory_issued"
_MOST = 100


def remember(session: Any, nonce: str) -> None:
    """Remember a form; at once, so that it is known before its key exists."""
    session[_NAME] = [*session.get(_NAME, []), _digest(nonce)][-_MOST:]
    session.save()


def is_known(session: Any, nonce: str) -> bool:
    """Whether this form has issued a key."""
    return _digest(nonce) in session.get(_NAME, [])


def _digest(nonce: str) -> str:
    # Short: the session may be a cookie.
    return hashlib.sha256(nonce.encode("utf-8", "surrogatepass")).hexdigest()[:16]
