"""Where a memory lives."""

from __future__ import annotations

import secrets

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_agent_memory.text.gate import MAX_PATH_LENGTH

from .fields import KeyField


def new_index_version() -> str:
    """Return a token no index text has had before.

    Random, not a counter: what a rolled-back write put into a cache can never be asked for again.
    """
    return secrets.token_urlsafe(16)


class WorkspaceQuerySet(models.QuerySet["Workspace"]):
    """Sets of workspaces."""

    def last_revision(self, path: str) -> int:
        """Return the number of the last revision under exactly `path`, 0 before the first."""
        return self.filter(path=path).values_list("revision", flat=True).first() or 0


class Workspace(models.Model):
    """A memory of its own, named by a path; its row is the lock of every write to it."""

    path = KeyField(_("path"), max_length=MAX_PATH_LENGTH, unique=True)
    title = models.CharField(_("title"), max_length=200, blank=True)
    description = models.TextField(_("description"), blank=True)
    revision = models.PositiveBigIntegerField(
        _("revision"), default=0, editable=False, help_text=_("Number of the last revision.")
    )
    index_version = models.CharField(
        _("index version"),
        max_length=32,
        default=new_index_version,
        editable=False,
        help_text=_("New whenever the index text changes."),
    )
    index_budget = models.PositiveIntegerField(
        _("index budget"),
        null=True,
        blank=True,
        help_text=_(
            "Most characters of index put into an agent's context on each turn. "
            "Empty: every memory has its line."
        ),
    )
    revisions_removed = models.PositiveBigIntegerField(
        default=0,
        editable=False,
        help_text="How many revisions erasure and retention took; the rest of a gap is damage.",
    )
    history_from = models.PositiveBigIntegerField(
        default=0,
        editable=False,
        help_text="Revision number from which on the past is complete; retention moves it.",
    )
    counted_notes = models.PositiveBigIntegerField(
        default=0, db_default=0, editable=False, help_text="How many notes there are for find."
    )
    counted_terms = models.PositiveBigIntegerField(
        default=0, db_default=0, editable=False, help_text="How many terms these have."
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("last write"), default=timezone.now, editable=False)

    objects = WorkspaceQuerySet.as_manager()

    class Meta:
        verbose_name = _("workspace")
        verbose_name_plural = _("workspaces")
        ordering = ("path",)
        permissions = [
            ("read_notes", "Can read the notes of a workspace"),
            ("write_notes", "Can read and write the notes of a workspace"),
            ("redact_workspace", "Can blank the past of a workspace for good"),
            ("erase_workspace", "Can erase the texts of a workspace for good"),
        ]

    def __str__(self) -> str:
        return str(self.path)
