"""Workspaces: what each holds, what it costs on every turn, and exactly what its agents see."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from django_agent_memory.models import IndexEntry, Note, Workspace
from django_agent_memory.text.rendering import estimated_tokens, one_line

from . import links
from .access import may, may_somewhere, within
from .action_page import ActionPage
from .base import Crumb, MemoryAdmin, MemoryChangeList
from .batches import BatchPage
from .checking import CheckPage
from .clearing import ClearPage
from .duplicates_page import DuplicatesPage
from .ending_sessions import SessionsPage
from .erasing import ErasePage
from .exporting import ExportPage
from .forms import WorkspaceForm
from .merge_page import MergePage
from .numbers import is_number
from .overview_page import OverviewPage
from .prune_page import PrunePage
from .rolling_back import RollbackPage
from .sizes import index_characters

_ACTIONS: list[tuple[type[ActionPage], Any]] = [
    (ExportPage, _("Export")),
    (PrunePage, _("Prune…")),
    (DuplicatesPage, _("Duplicates")),
    (CheckPage, _("Check and repair…")),
    (RollbackPage, _("Roll back…")),
    (SessionsPage, _("End sessions…")),
    (ClearPage, _("Forget all notes…")),
    (ErasePage, _("Erase…")),
]
"""What can be done to a whole workspace, with the names of the ways there."""


class WorkspaceChangeList(MemoryChangeList):
    """The list of workspaces, each row with the size of its index."""

    def get_results(self, request: HttpRequest) -> None:
        """Measure the workspaces of this page, and no others."""
        super().get_results(request)
        rows: Any = self.result_list
        self.result_list = list(rows)
        sizes = index_characters(self.result_list)
        for row in self.result_list:
            row.index_characters = sizes[row.pk]


@admin.register(Workspace)
class WorkspaceAdmin(MemoryAdmin):
    """The memories themselves. No workspace is deleted here; its notes are forgotten."""

    form = WorkspaceForm
    workspace_lookup = "pk"
    list_display = (
        "path",
        "shown_title",
        "shown_notes",
        "shown_lines",
        "shown_characters",
        "shown_tokens",
        "updated_at",
        "shown_index",
    )
    list_per_page = 50
    ordering = ("path",)
    search_fields = ("path", "title")
    fieldsets = ((None, {"fields": ("path", "title", "description", "index_budget")}),)

    def path_of(self, row: Any) -> str:
        """Return its path."""
        path: str = row.path
        return path

    def get_queryset(self, request: HttpRequest) -> QuerySet[Workspace]:
        """Return the workspaces with the number of their notes and of the lines of their index."""
        workspaces: QuerySet[Workspace] = super().get_queryset(request)
        return workspaces.annotate(
            note_count=_count_of(Note.objects.seen_in("")),
            line_count=_count_of(IndexEntry.objects.all()),
        )

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the list that measures indexes."""
        return WorkspaceChangeList

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the path of an existing workspace: agents know it by it."""
        return ("path",) if obj is not None else ()

    def own_urls(self) -> list[URLPattern]:
        """Return the page of a workspace, the index as a file, and what can be done there."""
        views: dict[str, Any] = {"index": self.index_view, "index_text": self.index_text_view}
        pages: list[type[ActionPage]] = [*(page for page, _name in _ACTIONS), BatchPage, MergePage]
        for page in pages:
            views[page.name] = partial(self.action_view, page=page)
        return [
            path(
                f"<path:object_id>/{name.replace('_', '-')}/",
                self.admin_site.admin_view(view),
                name=f"agent_memory_workspace_{name}",
            )
            for name, view in views.items()
        ]

    def action_view(
        self, request: HttpRequest, object_id: str, *, page: type[ActionPage]
    ) -> HttpResponse:
        """Show a page that does something to a whole workspace, or do it."""
        if not may_somewhere(request, *page.permissions):
            raise PermissionDenied
        # Whoever may do it there, whether they may view the workspace's own row or not.
        reached = within(request, Workspace.objects.all(), *page.permissions, workspace="pk")
        found = reached.filter(pk=object_id) if is_number(object_id) else reached.none()
        workspace: Workspace | None = found.first()
        if workspace is None:
            return self._unknown(request)
        return page(self, request, workspace).respond()

    def _unknown(self, request: HttpRequest) -> HttpResponse:
        self.message_user(request, _("This workspace does not exist."), messages.WARNING)
        return HttpResponseRedirect(links.to_list(self.admin_site.name, "workspace"))

    def index_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the index text exactly as it is put into an agent's context, and all about it."""
        page = self._overview(request, object_id)
        return self._unknown(request) if page is None else page.respond()

    def index_text_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Return the whole index text as a file."""
        page = self._overview(request, object_id)
        return self._unknown(request) if page is None else page.as_text()

    def _overview(self, request: HttpRequest, object_id: str) -> OverviewPage | None:
        if not self.has_view_permission(request):
            raise PermissionDenied
        workspace: Workspace | None = self.get_object(request, object_id)
        if workspace is None or not self.has_view_permission(request, workspace):
            return None
        return OverviewPage(self, request, workspace)

    def object_tools(self, request: HttpRequest, obj: Any) -> list[Crumb]:
        """Return the ways to what the agents see, to the notes, and to what can be done there."""
        site = self.admin_site.name
        tools = [(_("What the agent sees"), links.to_page(site, "workspace", "index", obj.pk))]
        return tools + self.actions_on(request, obj)

    def actions_on(self, request: HttpRequest, workspace: Workspace) -> list[Crumb]:
        """Return the ways to the notes and to what this user may do to all of them."""
        site = self.admin_site.name
        tools: list[Crumb] = []
        if may(request, "view_note", path=workspace.path):
            tools.append((_("Notes"), links.to_list(site, "note", workspace=workspace.path)))
        return tools + [
            (name, links.to_page(site, "workspace", page.name, workspace.pk))
            for page, name in _ACTIONS
            if may(request, *page.permissions, path=workspace.path)
        ]

    @admin.display(description=_("title"), ordering="title")
    def shown_title(self, workspace: Any) -> str:
        """The title on one line."""
        return one_line(workspace.title)

    @admin.display(description=_("notes"), ordering="note_count")
    def shown_notes(self, workspace: Any) -> Any:
        """The number of notes."""
        return workspace.note_count

    @admin.display(description=_("index lines"), ordering="line_count")
    def shown_lines(self, workspace: Any) -> Any:
        """The number of lines of the whole index."""
        return workspace.line_count

    @admin.display(description=_("index characters"))
    def shown_characters(self, workspace: Any) -> int:
        """The length of the index text that an agent gets."""
        characters: int = workspace.index_characters
        return characters

    @admin.display(description=_("tokens per turn (estimate)"))
    def shown_tokens(self, workspace: Any) -> int:
        """About how many tokens that is."""
        return estimated_tokens(workspace.index_characters)

    @admin.display(description=_("index"))
    def shown_index(self, workspace: Any) -> str:
        """The way to the index text."""
        address = links.to_page(self.admin_site.name, "workspace", "index", workspace.pk)
        return format_html('<a href="{}">{}</a>', address, _("What the agent sees"))


def _count_of(rows: QuerySet[Any]) -> Coalesce:
    """Return the number of those of the rows that are in a workspace."""
    rows = rows.filter(workspace=OuterRef("pk")).order_by().values("workspace")
    count = rows.annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(count, output_field=IntegerField()), 0)
