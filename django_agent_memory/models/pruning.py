"""Rules for pruning that people have saved, to be used again and by `memory_prune`."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_agent_memory.exceptions import Refused
from django_agent_memory.text import gate

from .fields import KeyField
from .workspace import Workspace

MAX_RULE_NAME = 100
"""Code points of a name."""


class SavedRuleQuerySet(models.QuerySet["SavedRule"]):
    """Sets of rules, and the one way to save one."""

    def for_workspace(self, path: str) -> SavedRuleQuerySet:
        """Those of the workspace and those for every workspace, by name."""
        meant = self.filter(Q(workspace__path=path) | Q(workspace=None))
        return meant.order_by("name", "pk")

    def keep(self, *, workspace: Workspace | None, name: str, rule: dict[str, Any]) -> SavedRule:
        """Save a rule that is not there yet; None is for every workspace.

        Raises `Refused` for a name that is blank, or longer than 100 characters, or taken.
        """
        gate.check_text(name, name="name", limit=MAX_RULE_NAME)
        if not name.strip():
            raise Refused("Give the rule a name.")
        saved, made = self.get_or_create(workspace=workspace, name=name, defaults={"rule": rule})
        if not made:
            raise Refused("There is a rule of this name already; choose another.")
        return saved


class SavedRule(models.Model):
    """A `pruning.PruneRule` under a name, for one workspace or for all."""

    workspace = models.ForeignKey(
        Workspace,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="prune_rules",
        verbose_name=_("workspace"),
        help_text=_("Empty: every workspace."),
    )
    name = KeyField(_("name"), max_length=MAX_RULE_NAME)
    rule = models.JSONField(_("rule"), default=dict)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)

    objects = SavedRuleQuerySet.as_manager()

    class Meta:
        verbose_name = _("prune rule")
        verbose_name_plural = _("prune rules")
        # Whoever may forget the notes of a workspace may do all with its rules.
        default_permissions = ()
        constraints = [
            # Of those for every workspace two may share a name: NULL is equal to nothing.
            models.UniqueConstraint(fields=("workspace", "name"), name="agent_memory_rule_name"),
        ]

    def __str__(self) -> str:
        return str(self.name)
