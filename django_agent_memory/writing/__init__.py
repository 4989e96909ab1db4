"""The write channel: the only lock and the only writer.

`apply` takes changes and returns their outcomes; everything that writes a memory, whatever the
edge, comes through it. What removes text for good is in `removal`, under the same lock.
"""

from .changes import Change, Drop, Restore, Save, Store, check
from .channel import MAX_ACTOR_LENGTH, Then, apply
from .clearing import clear
from .details import KEEP, Contexts, Keep
from .expiry import forget_expired
from .holding import erasable, keys_of, redactable
from .integrity import find_defects, repair
from .patience import impatient
from .removal import erase, redact
from .replanning import replanned
from .retention import prune_revisions
from .sessions import check_session, end_session
from .statements import upsert
from .workspaces import WorkspaceValues, configure, create_workspace

__all__ = [
    "KEEP",
    "MAX_ACTOR_LENGTH",
    "Change",
    "Contexts",
    "Drop",
    "Keep",
    "Restore",
    "Save",
    "Store",
    "Then",
    "WorkspaceValues",
    "apply",
    "check",
    "check_session",
    "clear",
    "configure",
    "create_workspace",
    "end_session",
    "erasable",
    "erase",
    "find_defects",
    "forget_expired",
    "impatient",
    "keys_of",
    "prune_revisions",
    "redact",
    "redactable",
    "repair",
    "replanned",
    "upsert",
]
