"""The history: one row a write, never updated, never deleted by a write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_agent_memory.results import Details

from .details import decode
from .fields import KeyField
from .note import body_value, seen_in
from .workspace import Workspace


class RevisionQuerySet(models.QuerySet["Revision"]):
    """Sets of revisions, named by what is true of them."""

    def up_to(self, number: int) -> RevisionQuerySet:
        """Those with at most this number."""
        return self.filter(number__lte=number)

    def last_of(self, keys: Sequence[str], number: int) -> Iterable[tuple[str, int]]:
        """Return those of the keys that were written up to this number, with the last one each."""
        # The number as an expression: with the statistics of ANALYZE, SQLite 3.40 looks for list
        # and bound in one index, and returns numbers beyond the bound.
        bounded = self.filter(key__in=keys).alias(bound=models.F("number") + 0)
        of_keys = bounded.filter(bound__lte=number).order_by().values("key")
        return of_keys.annotate(last=models.Max("number")).values_list("key", "last")

    def seen_in(self, session: str) -> RevisionQuerySet:
        """Those of what all share, and of what the session has to itself."""
        return self.filter(seen_in(session))

    def current_at(self, number: int) -> RevisionQuerySet:
        """The last one of each key up to this number: the state of a whole workspace then."""
        later = Revision.objects.filter(
            workspace=models.OuterRef("workspace"),
            key=models.OuterRef("key"),
            number__gt=models.OuterRef("number"),
            number__lte=number,
        )
        return self.up_to(number).filter(~models.Exists(later))


class Revision(models.Model):
    """The full state of one key after one write, numbered gap-free within its workspace."""

    class Operation(models.TextChoices):
        """What the write was."""

        REMEMBER = "remember", _("remember")
        FORGET = "forget", _("forget")
        RESTORE = "restore", _("restore")
        REDACT = "redact", _("redact")
        REPAIR = "repair", _("repair")

    workspace = models.ForeignKey(
        Workspace,
        models.CASCADE,
        related_name="revisions",
        db_index=False,
        verbose_name=_("workspace"),
    )
    number = models.PositiveBigIntegerField(_("number"))
    key = KeyField(_("key"), max_length=512)
    operation = models.CharField(_("operation"), max_length=16, choices=Operation)
    summary = models.TextField(  # noqa: DJ001  (None is "no index entry", "" is a blank one)
        _("summary"), null=True, blank=True
    )
    body = models.TextField(  # noqa: DJ001  (None is "no note", "" is an empty one)
        _("body"), null=True, blank=True
    )
    body_is_json = models.BooleanField(_("body is JSON"), default=False)
    details = models.TextField(
        _("details"),
        blank=True,
        default="",
        db_default="",
        help_text=_("What else the note had, such as weight and contexts, as JSON."),
    )
    session = KeyField(
        _("session"),
        max_length=255,
        blank=True,
        default="",
        db_default="",
        help_text=_("The only session that sees it."),
    )
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    actor = KeyField(_("actor"), max_length=255, blank=True)
    reason = models.TextField(_("reason"), blank=True)
    redacted = models.BooleanField(
        _("redacted"), default=False, help_text=_("Its summary and body were blanked for good.")
    )
    created_at = models.DateTimeField(_("time"), default=timezone.now)

    objects = RevisionQuerySet.as_manager()

    class Meta:
        verbose_name = _("revision")
        verbose_name_plural = _("revisions")
        constraints = [
            models.UniqueConstraint(
                fields=("workspace", "number"), name="agent_memory_revision_number"
            ),
            models.UniqueConstraint(
                fields=("workspace", "key", "number"), name="agent_memory_revision_key"
            ),
        ]
        indexes = [
            models.Index(fields=("workspace", "created_at"), name="agent_memory_revision_time"),
        ]

    def __str__(self) -> str:
        return f"v{self.number} {self.operation} {self.key}"

    @property
    def value(self) -> Any:
        """The body as the type it was given, None after a forget."""
        return None if self.body is None else body_value(self.body, is_json=self.body_is_json)

    @property
    def known(self) -> Details:
        """What the note had beside its text; reading is total, whatever the columns hold."""
        return decode(self.details, self.expires_at)
