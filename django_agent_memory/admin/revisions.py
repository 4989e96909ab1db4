"""Revisions: who wrote what, when and why. Nothing can be changed here."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from django_agent_memory.models import Note, Revision
from django_agent_memory.models.revision import RevisionQuerySet
from django_agent_memory.policy import REDACTS
from django_agent_memory.results import Details
from django_agent_memory.undoing import batch_around

from . import blanks, known, links
from .access import may, may_somewhere
from .base import Crumb, MemoryAdmin, MemoryChangeList
from .batches import UNDOING
from .comparing import ComparePage
from .erasing import EraseKeyPage
from .filters import ActorFilter, KeyFilter, WorkspaceFilter
from .paging import SizeFilter
from .past import PastPage, Said, may_restore
from .redacting import RedactPage, is_redactable
from .restoring import RestorePage
from .shown import LIST_KEY, exact_body, exact_summary, exact_text, exact_tool, key_text, quiet
from .timeline import TimelinePage

_PAGES: dict[str, type[PastPage]] = {
    "timeline": TimelinePage,
    "compare": ComparePage,
    "restore": RestorePage,
    "redact": RedactPage,
    "erase": EraseKeyPage,
}


class RevisionChangeList(MemoryChangeList):
    """The list of revisions, which reads no bodies and no summaries."""

    def get_queryset(self, *args: Any, **kwargs: Any) -> QuerySet[Revision]:
        """Return the rows without their long texts."""
        return super().get_queryset(*args, **kwargs).defer("body", "summary", "details")


@admin.register(Revision)
class RevisionAdmin(MemoryAdmin):
    """The history of every key, of agents and people alike."""

    actions = None
    list_display = (
        "number",
        "workspace",
        "operation",
        "shown_key",
        "shown_actor",
        "created_at",
        "shown_reason",
    )
    list_filter = (WorkspaceFilter, "operation", ActorFilter, KeyFilter, SizeFilter)
    list_select_related = ("workspace",)
    ordering = ("-pk",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "workspace",
                    "number",
                    "operation",
                    "whole_key",
                    "shown_actor",
                    "exact_reason",
                    "created_at",
                    "redacted",
                )
            },
        ),
        (
            _("What was stored then"),
            {"fields": ("exact_summary", "shown_type", "exact_body")},
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Revision]:
        """Return the revisions, but private ones."""
        revisions: RevisionQuerySet = super().get_queryset(request)  # type: ignore[assignment]
        return revisions.seen_in("")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the list that leaves long texts in the database."""
        return RevisionChangeList

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody: the channel writes revisions."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: nothing rewrites history."""
        return False

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """Return the revision with `before`, what the one before it said (None: not known).

        And with `shows_blanks`: whether white space is to be marked.
        """
        revision: Any = super().get_object(request, object_id, from_field)
        if revision is not None:
            revision.before = _details_before(revision)
            revision.shows_blanks = blanks.is_asked(request)
        return revision

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what was stored, and of what was known of it that which is not as usual."""
        fieldsets = super().get_fieldsets(request, obj)
        details = None if obj is None else Said.by(obj).details
        if details is None:
            return fieldsets
        names = known.noteworthy(details, obj.before and obj.before[1])
        fields = tuple(known.READ_ONLY[name] for name in names)
        known_then = (_("What was known of it"), {"fields": fields})
        return (*fieldsets, known_then) if fields else fieldsets

    # The past of one key

    def own_urls(self) -> list[URLPattern]:
        """Return the pages about one key, which their queries name."""
        return [
            path(
                f"{name}/",
                self.admin_site.admin_view(self.past_view),
                {"name": name},
                name=f"agent_memory_revision_{name}",
            )
            for name in _PAGES
        ]

    def past_view(self, request: HttpRequest, name: str) -> HttpResponse:
        """Show the timeline of a key, or another page about its past."""
        page = _PAGES[name]
        if not any(may_somewhere(request, permission) for permission in page.permissions):
            raise PermissionDenied
        return page(self, request).respond()

    # Columns

    @admin.display(description=_("key"), ordering="key")
    def shown_key(self, revision: Revision) -> str:
        """The key with its blanks visible, leading to its timeline."""
        address = links.to_past(
            self.admin_site.name, "timeline", revision.workspace.path, revision.key
        )
        return format_html('<a href="{}">{}</a>', address, key_text(revision.key, most=LIST_KEY))

    @admin.display(description=_("key"))
    def whole_key(self, revision: Revision) -> str:
        """The key, however long."""
        return key_text(revision.key)

    @admin.display(description=_("actor"), ordering="actor")
    def shown_actor(self, revision: Revision) -> str:
        """Who wrote it."""
        return key_text(revision.actor) if revision.actor else quiet(_("(not named)"))

    @admin.display(description=_("reason"))
    def shown_reason(self, revision: Revision) -> str:
        """The beginning of the reason."""
        reason = revision.reason
        return reason if len(reason) <= 100 else f"{reason[:99]}…"

    @admin.display(description=_("reason"))
    def exact_reason(self, revision: Revision) -> str:
        """The whole reason."""
        return exact_text(revision.reason)

    @admin.display(description=_("summary"))
    def exact_summary(self, revision: Revision) -> str:
        """The summary exactly; none is not the same as a blank one."""
        return exact_summary(revision)

    @admin.display(description=_("type"))
    def shown_type(self, revision: Revision) -> Any:
        """Text or JSON."""
        if revision.body is None:
            return quiet(_("no note"))
        return _("JSON") if revision.body_is_json else _("text")

    @admin.display(description=_("body"))
    def exact_body(self, revision: Revision) -> str:
        """The body exactly; after a forget there is none."""
        if revision.body is None:
            return quiet(_("no note: it was forgotten"))
        return exact_body(revision)

    def object_tools(self, request: HttpRequest, obj: Any) -> list[Crumb]:
        """Return the ways to the timeline, the note if there is one, and what can be done here."""
        site, past = self.admin_site.name, (obj.workspace.path, obj.key)
        tools = [(_("History of this key"), links.to_past(site, "timeline", *past))]
        if obj.body:
            tools.append(exact_tool(site, "revision", obj))
        note = (
            Note.objects.seen_in("")
            .filter(workspace=obj.workspace, key=obj.key)
            .only("revision")
            .first()
        )
        if note is not None and may(request, "view_note", path=past[0]):
            tools.append((_("The note"), links.to_page(site, "note", "change", note.pk)))
        is_now = obj.body is None if note is None else obj.number == note.revision
        allowed = may_restore(request, past[0], is_gone=note is None, to_nothing=obj.body is None)
        if allowed and not is_now and not obj.redacted:
            address = links.to_past(site, "restore", *past, revision=obj.number)
            tools.append((_("Restore…"), address))
        if obj.operation == Revision.Operation.FORGET and may(request, *UNDOING, path=past[0]):
            batch = links.to_batch(site, obj.workspace_id, *batch_around(obj))
            tools.append((_("What was forgotten with it…"), batch))
        if may(request, REDACTS, path=past[0]) and is_redactable(obj):
            address = links.to_past(site, "redact", *past, revision=obj.number)
            tools.append((_("Redact…"), address))
        return tools


def _details_before(revision: Revision) -> tuple[int, Details] | None:
    """Return number and details of the revision of the key before this, if they can be known."""
    rows = Revision.objects.seen_in("").filter(workspace=revision.workspace_id, key=revision.key)
    row = rows.filter(number__lt=revision.number).order_by("-number").first()
    if row is None or row.body is None or row.redacted:
        return None
    return row.number, row.known
