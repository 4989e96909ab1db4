"""What `find` counts: the terms of each note, where it stands in its contexts, and their sums.

All of it is derived from the notes and written by `writing` in the same critical section. Notes
are named by their position, which is unique in a workspace, never changes, and is known before the
note is inserted. No row has a constraint to another: checking them would cost more than writing.
"""

from __future__ import annotations

from django.db import models

from .fields import KeyField
from .workspace import Workspace

MOST_SUBJECT_CHARACTERS = 100


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


class Placement(models.Model):
    """A note in one of its contexts ("" if it has none), with what ranking asks of the note."""

    # All columns again, in the order of what is asked for most: the placements of many notes.
    pk = models.CompositePrimaryKey(
        "workspace_id",
        "position",
        "context",
        "length",
        "told",
        "has_number",
        "subject",
    )
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    position = models.PositiveBigIntegerField()
    context = KeyField(max_length=512)
    length = models.PositiveIntegerField(help_text="Number of its terms.")
    told = models.PositiveIntegerField(help_text="Number of those in summary and body.")
    has_number = models.BooleanField(help_text="Whether there is a number among those.")
    # No index of PostgreSQL holds a whole one beside a whole context.
    subject = KeyField(max_length=MOST_SUBJECT_CHARACTERS, help_text="Its first 100 characters.")

    class Meta:
        indexes = [
            # Whose neighbour is whose.
            models.Index(
                fields=("workspace", "context", "position"), name="agent_memory_placement_near"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.position} in {self.context}"


class Tally(models.Model):
    """How many notes there are of a kind, and how many terms in them."""

    class Kind(models.TextChoices):
        """What is summed up; only contexts and subjects have names."""

        NOTES = "n", "all notes"
        CONTEXTS = "a", "all contexts, each a document"
        CONTEXT = "c", "the notes of one context"
        SUBJECT = "s", "the notes about one subject"

    pk = models.CompositePrimaryKey("workspace_id", "kind", "name")
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    kind = KeyField(max_length=1, choices=Kind)
    name = KeyField(max_length=512, blank=True)
    documents = models.PositiveBigIntegerField()
    length = models.PositiveBigIntegerField()

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.name}: {self.documents}"
