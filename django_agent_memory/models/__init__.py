"""The rows of a memory. All hang off a workspace, with which every unique constraint starts."""

from .access import AgentKey
from .grant import Grant
from .journal import RecordedCall
from .note import IndexEntry, Note
from .posting import NoteContext, Posting
from .pruning import SavedRule
from .revision import Revision
from .usage import NoteUsage
from .workspace import Workspace

__all__ = [
    "AgentKey",
    "Grant",
    "IndexEntry",
    "Note",
    "NoteContext",
    "NoteUsage",
    "Posting",
    "RecordedCall",
    "Revision",
    "SavedRule",
    "Workspace",
]
