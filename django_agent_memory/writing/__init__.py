"""The write channel: the only lock and the only writer.

`apply` takes changes and returns their outcomes; everything that writes a memory, whatever the
edge, comes through it.
"""

from .changes import Change, Drop, Save
from .channel import MAX_ACTOR_LENGTH, apply
from .workspaces import WorkspaceValues, configure

__all__ = ["MAX_ACTOR_LENGTH", "Change", "Drop", "Save", "WorkspaceValues", "apply", "configure"]
