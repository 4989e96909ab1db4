"""The rows of a memory. All hang off a workspace, with which every unique constraint starts."""

from .access import AgentKey
from .journal import RecordedCall
from .note import IndexEntry, Note, NoteContext
from .revision import Revision
from .workspace import Workspace

__all__ = ["AgentKey", "IndexEntry", "Note", "NoteContext", "RecordedCall", "Revision", "Workspace"]
