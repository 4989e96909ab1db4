"""Recorded calls: what was answered to whom, so that a retry is answered alike. Only to look at."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from django_agent_memory.models import RecordedCall
from django_agent_memory.text.gate import is_storable

from . import links
from .access import may
from .base import Crumb, MemoryAdmin, MemoryChangeList
from .filters import KeyFilter, WorkspaceFilter
from .shown import LIST_KEY, exact_text, key_text, quiet


class CallChangeList(MemoryChangeList):
    """The list of calls, which reads no answers."""

    def get_queryset(self, *args: Any, **kwargs: Any) -> QuerySet[RecordedCall]:
        """Return the rows without what was answered."""
        return super().get_queryset(*args, **kwargs).defer("answer")


@admin.register(RecordedCall)
class RecordedCallAdmin(MemoryAdmin):
    """The calls of agents that name them, newest first."""

    actions = None
    list_display = (
        "created_at",
        "workspace",
        "shown_caller",
        "shown_name",
        "verb",
        "shown_key",
    )
    list_filter = (WorkspaceFilter, KeyFilter)
    list_select_related = ("workspace",)
    ordering = ("-created_at", "-pk")
    search_fields = ("name", "caller")
    search_help_text = _("Finds calls by their whole name, or by their whole caller.")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "workspace",
                    "shown_caller",
                    "whole_name",
                    "verb",
                    "whole_key",
                    "created_at",
                )
            },
        ),
        (_("What was answered"), {"fields": ("exact_answer",)}),
    )

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the list that leaves answers in the database."""
        return CallChangeList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search for the term as a whole: a name may hold blanks and quotes."""
        if not search_term:
            return queryset, False
        if not is_storable(search_term):
            return queryset.none(), False
        return queryset.filter(Q(name=search_term) | Q(caller=search_term)), False

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody: calls are recorded as they are answered."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: a retry must get the answer that was given."""
        return False

    def object_tools(self, request: HttpRequest, obj: Any) -> list[Crumb]:
        """Return the way to the history of the key it was about."""
        if not obj.key or not may(request, "view_revision", path=obj.workspace.path):
            return []
        address = links.to_past(self.admin_site.name, "timeline", obj.workspace.path, obj.key)
        return [(_("History of this key"), address)]

    @admin.display(description=_("caller"), ordering="caller")
    def shown_caller(self, call: RecordedCall) -> str:
        """Who called."""
        return key_text(call.caller)

    @admin.display(description=_("name"), ordering="name")
    def shown_name(self, call: RecordedCall) -> str:
        """The name with its blanks visible."""
        return key_text(call.name, most=LIST_KEY)

    @admin.display(description=_("name"))
    def whole_name(self, call: RecordedCall) -> str:
        """The name, however long."""
        return key_text(call.name)

    @admin.display(description=_("key"), ordering="key")
    def shown_key(self, call: RecordedCall) -> str:
        """The key with its blanks visible; a call may be about several, or about none."""
        return key_text(call.key, most=LIST_KEY) if call.key else quiet(_("(no single key)"))

    @admin.display(description=_("key"))
    def whole_key(self, call: RecordedCall) -> str:
        """The key, however long."""
        return key_text(call.key) if call.key else quiet(_("(no single key)"))

    @admin.display(description=_("answer"))
    def exact_answer(self, call: RecordedCall) -> str:
        """The stored answer exactly; a redacted one is gone."""
        return exact_text(call.answer) if call.answer else quiet(_("redacted: the text is gone"))
