"""The rows of a memory. All hang off a workspace, with which every unique constraint starts."""

from .access import AgentKey
from .journal import RecordedCall
from .note import IndexEntry, Note, NoteContext
from .posting import Placement, Posting, Tally
from .revision import Revision
from .workspace import Workspace

__all__ = [
    "AgentKey",
    "IndexEntry",
    "Note",
    "NoteContext",
    "Placement",
    "Posting",
    "RecordedCall",
    "Revision",
    "Tally",
    "Workspace",
]
