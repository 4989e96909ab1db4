"""Grants: which people reach which memories, given and taken back one by one."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from django_agent_memory.models import Grant
from django_agent_memory.models.grant import named_grantees

from .base import MemoryAdmin, MemoryChangeList
from .filters import Choices, WorkspaceFilter
from .grant_form import GrantForm
from .shown import quiet


class GranteeFilter(admin.SimpleListFilter):
    """By whether a user or a group was given it."""

    title = _("grantee")
    parameter_name = "grantee"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return the two kinds."""
        return [("user", _("user")), ("group", _("group"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the grants of the chosen kind."""
        if self.value() not in ("user", "group"):
            return queryset
        return queryset.filter(**{f"{self.value()}__isnull": False})


class GrantChangeList(MemoryChangeList):
    """The list of grants, each with the name of its grantee."""

    def get_results(self, request: HttpRequest) -> None:
        """Look up the names of this page, wherever users live."""
        super().get_results(request)
        rows: Any = self.result_list
        self.result_list = list(rows)
        names = named_grantees(self.result_list)
        for row in self.result_list:
            row.grantee_name = names.get(row.pk)


@admin.register(Grant)
class GrantAdmin(MemoryAdmin):
    """What people may do with single memories, beside the permissions that hold for all.

    Whoever may add or change grants can give only what they may do themselves.
    """

    form = GrantForm
    autocomplete_fields = ("workspace",)
    raw_id_fields = ("user", "group")
    list_display = ("grantee", "workspace", "access", "created_at")
    list_filter = (WorkspaceFilter, GranteeFilter, "access")
    list_select_related = ("workspace",)
    ordering = ("-created_at",)
    search_fields = ("workspace__path",)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the list that names grantees."""
        return GrantChangeList

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the form of a new grant, or that of the access of an old one."""
        if obj is None:
            return ((None, {"fields": ("workspace", "user", "group", "access")}),)
        return ((None, {"fields": ("workspace", "grantee", "access", "created_at")}),)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what stays as it was given."""
        return ("workspace", "grantee", "created_at") if obj is not None else ()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may delete grants: nothing is lost that was not typed into this form."""
        return self._may(request, "delete", obj)

    @admin.display(description=_("grantee"))
    def grantee(self, grant: Grant) -> str:
        """The user or the group by name."""
        if not hasattr(grant, "grantee_name"):
            grant.grantee_name = named_grantees([grant]).get(grant.pk)  # type: ignore[attr-defined]
        name = grant.grantee_name  # type: ignore[attr-defined]
        is_user = grant.user_id is not None
        if name is None:
            gone = gettext("user %(id)s is gone") if is_user else gettext("group %(id)s is gone")
            return quiet(gone % {"id": grant.user_id if is_user else grant.group_id})
        kind = gettext("user") if is_user else gettext("group")
        return format_html("<bdi>{}</bdi> ({})", name, kind)
