"""Saved prune rules: made here or from a preview, used by people and by `memory_prune --rules`."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.translation import gettext_lazy as _

from django_agent_memory.models import SavedRule

from . import links
from .access import may, may_everywhere
from .base import Crumb, MemoryAdmin
from .filters import WorkspaceFilter
from .forms import WrittenForm
from .prune_page import PRUNING
from .rule_form import CONDITIONS, RuleFields, in_words
from .shown import key_text, quiet


class SavedRuleForm(RuleFields, WrittenForm):
    """A rule and its name; of one that is there, only the conditions change."""

    class Meta:
        model = SavedRule
        fields = ("workspace", "name")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        said = self.instance.rule
        if isinstance(said, dict):
            self.initial.update({name: said.get(name) for name in CONDITIONS})

    def clean(self) -> dict[str, Any]:
        """Refuse a rule for every workspace by those who may not forget in every one."""
        cleaned = super().clean()
        for_all = self.instance._state.adding and cleaned.get("workspace") is None
        if for_all and not all(self.policy.everywhere(self.person, name) for name in PRUNING):
            refusal = _("Choose a workspace: you may not forget notes in every one.")
            self.add_error("workspace", refusal)
        return cleaned

    @property
    def wrote(self) -> bool:
        """Whether there are other conditions."""
        return self.instance._state.adding or bool(set(CONDITIONS) & set(self.changed_data))

    def write(self) -> SavedRule:
        """Save a new rule, or the conditions of one that is there."""
        given, saved = self.cleaned_data, self.instance
        rule = given["rule"].as_dict()
        if saved._state.adding:
            return SavedRule.objects.keep(
                workspace=given["workspace"], name=given["name"], rule=rule
            )
        if self.wrote:
            SavedRule.objects.filter(pk=saved.pk).update(rule=rule)
        return saved  # type: ignore[no-any-return]


@admin.register(SavedRule)
class SavedRuleAdmin(MemoryAdmin):
    """The rules of each workspace, for those who may forget its notes; nobody else sees them."""

    form = SavedRuleForm
    autocomplete_fields = ("workspace",)
    list_display = ("shown_name", "shown_workspace", "shown_rule", "created_at")
    list_filter = (WorkspaceFilter,)
    list_select_related = ("workspace",)
    ordering = ("name", "pk")
    search_fields = ("name",)

    def permission_to(self, verb: str) -> str:
        """Return the permission to forget: a rule is nothing but that, planned."""
        (permission,) = PRUNING
        return permission

    def _may(self, request: HttpRequest, verb: str, row: Any) -> bool:
        if row is not None and row.workspace_id is None:
            return may_everywhere(request, *PRUNING)
        return super()._may(request, verb, row)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may change the rule: it holds no text of an agent's."""
        return self._may(request, "delete", obj)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the name and where it holds, and what it asks of a note."""
        about = _("All that is given must be true of a note that may go.")
        named = ("workspace", "name") if obj is None else ("workspace", "name", "created_at")
        return (
            (None, {"fields": named}),
            (_("Which notes may go"), {"fields": CONDITIONS, "description": about}),
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what stays: the history names the rule by its name."""
        return ("workspace", "name", "created_at") if obj is not None else ()

    def object_tools(self, request: HttpRequest, obj: Any) -> list[Crumb]:
        """Return the way to the page that prunes, filled with the rule."""
        if obj.workspace_id is None or not may(request, *PRUNING, path=obj.workspace.path):
            return []
        page = links.to_page(self.admin_site.name, "workspace", "prune", obj.workspace_id)
        return [(_("Prune…"), f"{page}?rule={obj.pk}")]

    @admin.display(description=_("name"), ordering="name")
    def shown_name(self, saved: SavedRule) -> str:
        """The name with its blanks visible."""
        return key_text(saved.name)

    @admin.display(description=_("which notes may go"))
    def shown_rule(self, saved: SavedRule) -> str:
        """The rule in words."""
        return format_html_join(", ", "{}", ((phrase,) for phrase in in_words(saved.rule)))

    @admin.display(description=_("workspace"), ordering="workspace__path")
    def shown_workspace(self, saved: SavedRule) -> Any:
        """The workspace, or that it is every one."""
        return quiet(_("every workspace")) if saved.workspace is None else saved.workspace
