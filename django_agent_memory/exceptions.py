"""Everything the package raises: one base, and a leaf for each thing a caller can act on."""

from __future__ import annotations


class AgentMemoryError(Exception):
    """Base of every error this package raises; `str(error)` is one sentence a model can act on.

    `code` is stable and machine-readable; edges put it beside the sentence.
    """

    code = "error"


class Refused(AgentMemoryError, ValueError):
    """The input itself can never be accepted: the gate, a bad path, a wrong type."""

    code = "refused"


class TooLarge(Refused):
    """The input is over a limit; the sentence gives the limit, the actual size and what to do."""

    code = "too_large"


class Conflict(AgentMemoryError):
    """The note is not at the revision the caller expected; nothing was written.

    `current_revision` is the note's last revision number, 0 when it does not exist.
    """

    code = "conflict"

    def __init__(self, message: str, *, current_revision: int) -> None:
        super().__init__(message)
        self.current_revision = current_revision


class Busy(AgentMemoryError):
    """The database stayed locked until the deadline; nothing was written, so try again later."""

    code = "busy"


class ReplayMismatch(AgentMemoryError):
    """The name of a recorded call came again with another verb or other arguments."""

    code = "replay_mismatch"


class Pruned(AgentMemoryError):
    """The past that is asked for went with the revisions that retention removed."""

    code = "pruned"


class NotAllowed(AgentMemoryError):
    """The caller may not do this; the sentence names what is missing."""

    code = "not_allowed"
