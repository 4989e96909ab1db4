"""What `find` reads beside the notes: the terms of each, and the contexts it stands in.

Both are derived from the notes and written by `writing` in the same critical section. Notes are
named by their position, which is unique in a workspace, never changes, and is known before the note
is inserted. No row has a constraint to a note: checking it would cost more than writing. How many
notes and terms there are in all stands on the workspace.
"""

from __future__ import annotations

import hashlib

from django.db import models

from .fields import KeyField
from .workspace import Workspace


class Posting(models.Model):
    """How often a term stands in a note, and where first."""

    # All columns, so that what a query reads lies in one index, in the order it is read.
    pk = models.CompositePrimaryKey("workspace_id", "term", "position", "frequency", "place")
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    term = KeyField(max_length=64)
    position = models.PositiveBigIntegerField()
    frequency = models.PositiveIntegerField()
    place = models.PositiveIntegerField(help_text="How many terms stand before its first one.")

    class Meta:
        indexes = [
            # To take a note's postings away.
            models.Index(fields=("workspace", "position"), name="agent_memory_posting_note"),
        ]

    def __str__(self) -> str:
        return f"{self.term} ×{self.frequency} in {self.position}"


class NoteContext(models.Model):
    """A note in one of its contexts, the path its key lies under if it was given none.

    The contexts of a session's private note are told by `private_context`: what it says raises the
    notes next to it and about the same, and to others it is next to none.
    """

    pk = models.CompositePrimaryKey("workspace_id", "context", "position")
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    context = KeyField(max_length=512)
    position = models.PositiveBigIntegerField()

    class Meta:
        indexes = [
            # In which contexts a note stands.
            models.Index(
                fields=("workspace", "position", "context"), name="agent_memory_context_note"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.position} in {self.context}"


def private_context(session: str, context: str) -> str:
    """Return a name that no other context has, given or private, and that tells nothing."""
    digest = hashlib.blake2b(f"{session}\0{context}".encode(), digest_size=16)
    return f"\x01{digest.hexdigest()}"
