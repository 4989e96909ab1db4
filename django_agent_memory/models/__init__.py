"""The rows of a memory. Everything hangs off a workspace, and every unique constraint starts with it."""

from .access import AgentKey
from .note import IndexEntry, Note
from .revision import Revision
from .workspace import Workspace

__all__ = ["AgentKey", "IndexEntry", "Note", "Revision", "Workspace"]
