"""Every code of a problem document: its status, and what it means to the caller.

`docs/errors.md` shows them. A code is there for programs to tell errors by, and never changes.
"""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """What a code goes with."""

    status: int
    meaning: str


CODES: dict[str, Code] = {
    "refused": Code(400, "The input can never be accepted; the sentence says what is wrong."),
    "bad_request": Code(400, "The request is malformed or ended before it was complete."),
    "not_authenticated": Code(401, "There is no agent key and no signed-in user."),
    "unknown_key": Code(401, "There is no such agent key."),
    "revoked_key": Code(401, "The agent key has been revoked."),
    "expired_key": Code(401, "The agent key has expired."),
    "inactive_user": Code(401, "The user of the agent key is inactive or gone."),
    "not_allowed": Code(403, "The caller may not do this; the sentence names what is missing."),
    "csrf_failed": Code(403, "A signed-in user's write came without its CSRF token."),
    "not_found": Code(404, "It is not there, or the caller may not know of it."),
    "method_not_allowed": Code(405, "The address takes the methods in Allow only."),
    "conflict": Code(409, "The note is at current_revision, not at the one expected."),
    "exists": Code(409, "There is such a row already; the sentence names its address."),
    "pruned": Code(410, "That past went with the revisions that retention removed."),
    "length_required": Code(411, "The server wants a body with its Content-Length."),
    "too_large": Code(413, "It is over a limit; the sentence gives the limit and the size."),
    "unsupported_media_type": Code(415, "The body is not JSON in UTF-8, or is compressed."),
    "replay_mismatch": Code(422, "The Idempotency-Key names another call."),
    "throttled": Code(429, "The caller made too many requests; Retry-After says how long to wait."),
    "internal_error": Code(500, "The server failed in a way nobody foresaw; its log says how."),
    "busy": Code(503, "The database stayed locked; nothing was written, so send it again."),
    "unavailable": Code(503, "The database cannot be reached; send it again later."),
}

_GENERAL = {401: "not_authenticated", 403: "not_allowed", 404: "not_found", 429: "throttled"}


def known_code(code: str, status: int) -> str:
    """Return the code if there is such a one, else the general one of what has that status."""
    if code in CODES:
        return code
    return _GENERAL.get(status, "internal_error" if status >= 500 else "bad_request")
