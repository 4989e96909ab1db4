"""Workspaces: what each holds, what it costs on every turn, and exactly what its agents see."""

from __future__ import annotations

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

from django_agent_memory.memory import Memory
from django_agent_memory.models import IndexEntry, Note, Workspace
from django_agent_memory.text.rendering import estimated_tokens, one_line

from . import links
from .access import may, may_somewhere, within
from .base import Crumb, MemoryAdmin, MemoryChangeList
from .batches import BatchPage
from .forms import WorkspaceForm
from .numbers import is_number
from .prune_page import PRUNING, PrunePage
from .rolling_back import ROLLING_BACK, RollbackPage
from .shown import key_text
from .sizes import growth, index_characters

_SAMPLE = 20


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
        """Return the pages that show what the agent sees, that prune, and that undo."""
        views = {
            "index": self.index_view,
            "rollback": self.rollback_view,
            "prune": self.prune_view,
            "batch": self.batch_view,
        }
        return [
            path(
                f"<path:object_id>/{name}/",
                self.admin_site.admin_view(view),
                name=f"agent_memory_workspace_{name}",
            )
            for name, view in views.items()
        ]

    def rollback_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask whose writes, show what that restores, and once confirmed restore it."""
        return self._writing_page(request, object_id, RollbackPage, ROLLING_BACK)

    def prune_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask which notes may go, show them, and once confirmed forget them."""
        return self._writing_page(request, object_id, PrunePage, PRUNING)

    def batch_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show what one write forgot, and on POST bring it back."""
        return self._writing_page(request, object_id, BatchPage, PRUNING)

    def _writing_page(
        self,
        request: HttpRequest,
        object_id: str,
        page: type[RollbackPage | PrunePage | BatchPage],
        permissions: tuple[str, ...],
    ) -> HttpResponse:
        """Answer for whoever may do this there, whether they may view the workspace or not."""
        if not may_somewhere(request, *permissions):
            raise PermissionDenied
        writable = within(request, Workspace.objects.all(), *permissions, workspace="pk")
        found = writable.filter(pk=object_id) if is_number(object_id) else writable.none()
        workspace: Workspace | None = found.first()
        if workspace is None:
            return self._unknown(request)
        return page(self, request, workspace).respond()

    def _unknown(self, request: HttpRequest) -> HttpResponse:
        self.message_user(request, _("This workspace does not exist."), messages.WARNING)
        return HttpResponseRedirect(links.to_list(self.admin_site.name, "workspace"))

    def index_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the index text exactly as it is put into an agent's context."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        workspace: Workspace | None = self.get_object(request, object_id)
        if workspace is None or not self.has_view_permission(request, workspace):
            return self._unknown(request)
        memory = Memory(workspace)
        text, stats = memory.index_note(), memory.stats()
        dangling = _entries_without_note(workspace)
        site = self.admin_site.name
        return self.page(
            request,
            "what_the_agent_sees.html",
            title=_("What the agent sees"),
            crumbs=[(workspace.path, links.to_page(site, "workspace", "change", workspace.pk))],
            workspace=workspace,
            text=text,
            stats=stats,
            growth=growth(stats),
            notes_url=links.to_list(site, "note", workspace=workspace.path),
            can_see_notes=may(request, "view_note", path=workspace.path),
            can_add_notes=may(request, "add_note", path=workspace.path),
            dangling=[
                (key_text(key), links.to_add(site, "note", workspace=workspace.pk, key=key))
                for key in dangling[:_SAMPLE]
            ],
            dangling_total=len(dangling),
        )

    def object_tools(self, request: HttpRequest, obj: Any) -> list[Crumb]:
        """Return the ways to what the agents see, to the notes, to pruning and to rolling back."""
        site = self.admin_site.name
        tools = [(_("What the agent sees"), links.to_page(site, "workspace", "index", obj.pk))]
        if may(request, "view_note", path=obj.path):
            tools.append((_("Notes"), links.to_list(site, "note", workspace=obj.path)))
        if may(request, *PRUNING, path=obj.path):
            tools.append((_("Prune…"), links.to_page(site, "workspace", "prune", obj.pk)))
        if may(request, *ROLLING_BACK, path=obj.path):
            tools.append((_("Roll back…"), links.to_page(site, "workspace", "rollback", obj.pk)))
        return tools

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


def _entries_without_note(workspace: Workspace) -> list[str]:
    """Return the keys whose line agents see although there is nothing to recall."""
    noted = Note.objects.filter(workspace=workspace).values("key")
    entries = IndexEntry.objects.filter(workspace=workspace).exclude(key__in=noted)
    return list(entries.order_by("key").values_list("key", flat=True))
