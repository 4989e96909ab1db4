"""When notes were recalled: counted beside them, so that reading a note never writes to it."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from .workspace import Workspace


class NoteUsage(models.Model):
    """How often a note was recalled, and when last, about: see `usage`.

    The note is named by its position, as `find` names it; one that was forgotten and restored has
    another and starts anew.
    """

    pk = models.CompositePrimaryKey("workspace_id", "position")
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    position = models.PositiveBigIntegerField()
    recalled_at = models.DateTimeField(_("recalled"))
    recall_count = models.PositiveBigIntegerField(_("recalls"), default=0)

    def __str__(self) -> str:
        return f"{self.position}: {self.recall_count}"
