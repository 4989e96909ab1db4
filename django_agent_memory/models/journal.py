"""The record of answered calls, so that a call made again is answered again and not done again."""

from __future__ import annotations

import datetime

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .fields import KeyField
from .workspace import Workspace


class RecordedCallQuerySet(models.QuerySet["RecordedCall"]):
    """Sets of recorded calls, named by what is true of them."""

    def older_than(self, age: datetime.timedelta) -> RecordedCallQuerySet:
        """Those recorded longer ago than `age`."""
        return self.filter(created_at__lt=timezone.now() - age)


class RecordedCall(models.Model):
    """One executed call of one caller under the name the caller gave it, and its answer."""

    workspace = models.ForeignKey(
        Workspace,
        models.CASCADE,
        related_name="recorded_calls",
        db_index=False,
        verbose_name=_("workspace"),
    )
    caller = KeyField(_("caller"), max_length=270)
    name = KeyField(_("name"), max_length=255, help_text=_("The caller's idempotency key."))
    verb = models.CharField(_("verb"), max_length=32)
    key = KeyField(
        _("key"),
        max_length=512,
        blank=True,
        help_text=_("The one key it was about; empty if it was about more."),
    )
    digest = models.CharField(
        max_length=64, editable=False, help_text="SHA-256 of the verb and its arguments."
    )
    answer = models.TextField(_("answer"), help_text="The result as JSON; empty once redacted.")
    created_at = models.DateTimeField(_("time"), default=timezone.now)

    objects = RecordedCallQuerySet.as_manager()

    class Meta:
        verbose_name = _("recorded call")
        verbose_name_plural = _("recorded calls")
        constraints = [
            models.UniqueConstraint(
                fields=("workspace", "caller", "name"), name="agent_memory_recorded_call"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.verb}"
