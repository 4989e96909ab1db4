"""The admin: where people see, search and prune what the agents believe.

Every page reads through QuerySets and writes through `Memory`, so that a person's change is locked,
checked and kept in the history just as an agent's is. Importing this package registers the pages.
"""

from .agent_keys import AgentKeyAdmin
from .calls import RecordedCallAdmin
from .grants import GrantAdmin
from .notes import NoteAdmin
from .prune_rules import SavedRuleAdmin
from .revisions import RevisionAdmin
from .workspaces import WorkspaceAdmin

__all__ = [
    "AgentKeyAdmin",
    "GrantAdmin",
    "NoteAdmin",
    "RecordedCallAdmin",
    "RevisionAdmin",
    "SavedRuleAdmin",
    "WorkspaceAdmin",
]
