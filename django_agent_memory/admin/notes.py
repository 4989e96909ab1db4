"""Notes: the list, the form, and forgetting."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from django_agent_memory.models import Note, NoteUsage
from django_agent_memory.models.note import NoteQuerySet
from django_agent_memory.policy import ERASES
from django_agent_memory.search import matching
from django_agent_memory.text.flags import decode_flags
from django_agent_memory.text.gate import is_storable

from . import blanks, links
from .access import may, may_somewhere, within
from .base import Crumb, MemoryAdmin
from .details_form import NAMES
from .filters import AgeFilter, KeyFilter, SummaryFilter, WorkspaceFilter
from .finding_page import FindingPage
from .flagged import FlagFilter, badges, explained
from .folders import FolderFilter
from .forget_page import ForgetPage
from .known import READ_ONLY
from .known_filters import (
    ContextFilter,
    ExpiryFilter,
    KindFilter,
    LengthFilter,
    RecallFilter,
    SlotFilter,
    SourceFilter,
    SubjectFilter,
    WriterFilter,
)
from .note_form import NoteForm
from .note_list import NoteChangeList, note_lines, with_summaries
from .numbers import is_number
from .paging import SizeFilter
from .shown import (
    LIST_KEY,
    exact_body,
    exact_summary,
    exact_text,
    exact_tool,
    key_text,
    local_time,
    quiet,
)

KNOWN = _("What is known of it")
_HISTORY = ("created_at", "updated_at", "shown_revision", "shown_usage")


@admin.register(Note)
class NoteAdmin(MemoryAdmin):
    """What the agents remember. Saving and forgetting go through the channel, into the history."""

    form = NoteForm
    untouched = _("Nothing was changed: the note says exactly this already.")
    actions = ("forget_selected",)
    autocomplete_fields = ("workspace",)
    list_display = (
        "shown_key",
        "shown_summary",
        "shown_size",
        "shown_flags",
        "shown_workspace",
        "updated_at",
        "created_at",
    )
    list_filter = (
        WorkspaceFilter,
        FolderFilter,
        KeyFilter,
        FlagFilter,
        RecallFilter,
        AgeFilter,
        ExpiryFilter,
        SummaryFilter,
        LengthFilter,
        KindFilter,
        SlotFilter,
        SourceFilter,
        ContextFilter,
        SubjectFilter,
        WriterFilter,
        SizeFilter,
    )
    # The order of the unique index, so that no list has to be sorted.
    ordering = ("workspace_id", "key")
    search_fields = ("key",)
    search_help_text = _(
        "Finds the text as it is in key, summary and body, capitals or not: "
        "no wildcards, not split into words. Agents search the same way."
    )

    def get_queryset(self, request: HttpRequest) -> NoteQuerySet:
        """Return the notes that all share with `size`, the length of the body."""
        notes: NoteQuerySet = super().get_queryset(request)  # type: ignore[assignment]
        return notes.seen_in("").with_size()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the list that leaves long texts in the database."""
        return NoteChangeList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search as the tool does."""
        assert isinstance(queryset, NoteQuerySet)  # noqa: S101
        return matching(queryset, search_term), False

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """Return the note with `summary`, which is None without an index line.

        And with `shows_blanks`: whether white space is to be marked. By its key, if it was
        forgotten and stored again in the meantime.
        """
        note = super().get_object(request, object_id, from_field)
        if note is None and request.method == "POST":
            note = _stored_again(self.get_queryset(request), request)
        if note is None:
            return None
        note.shows_blanks = blanks.is_asked(request)
        return with_summaries([note])[0]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Take the form; what was written for a note that is gone becomes the form of a new one."""
        is_edited = object_id is not None and "expected_revision" in request.POST
        may_add = is_edited and self.has_add_permission(request)
        if may_add and not self.get_object(request, str(object_id)):
            object_id = None
        return super().changeform_view(request, object_id, form_url, extra_context)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the form, or for those who may only look, what is stored."""
        dates = (_("History"), {"fields": _HISTORY})
        flags = _shown_flags(obj)
        if obj is not None and not self.has_change_permission(request, obj):
            shown = (
                "workspace",
                "whole_key",
                "shown_type",
                "stored_summary",
                "stored_body",
                *flags,
            )
            known_of_it: Any = (KNOWN, {"fields": tuple(READ_ONLY.values())})
            return ((None, {"fields": shown}), known_of_it, dates)
        # A field of a form shows no marks.
        seen = ("whole_text",) if obj is not None and "invisible" in obj.flags else ()
        if obj is not None and obj.shows_blanks:
            seen = (*seen, "stored_summary", "stored_body")
        main = (
            *flags,
            *seen,
            "workspace",
            "key",
            "in_index",
            "summary",
            "body_type",
            "body",
            "reason",
        )
        form = (None, {"fields": (*main, "expected_revision")})
        known_of_it = (KNOWN, {"fields": NAMES, "classes": ("collapse",)})
        return (form, known_of_it) if obj is None else (form, known_of_it, dates)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what the form shows and does not take."""
        shown = (*_HISTORY, "explained_flags", "whole_text", "stored_summary", "stored_body")
        return shown if obj is not None else ()

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Go to the timeline of the key: it knows every writer, Django's own log only people."""
        note = self.get_object(request, object_id)
        if note is None:
            return super().history_view(request, object_id, extra_context)
        if not self.has_view_permission(request, note):
            raise PermissionDenied
        return HttpResponseRedirect(
            links.to_past(self.admin_site.name, "timeline", note.workspace.path, note.key)
        )

    # Forgetting

    def has_forget_permission(self, request: HttpRequest) -> bool:
        """Whether this user may make agents of some workspace forget."""
        return may_somewhere(request, "delete_note")

    def own_urls(self) -> list[URLPattern]:
        """Return the pages that ask before one note is forgotten, and that say why it is found."""
        forget = self.admin_site.admin_view(self.forget_view)
        finding = self.admin_site.admin_view(self.finding_view)
        return [
            path("<path:object_id>/forget/", forget, name="agent_memory_note_forget"),
            path("<path:object_id>/finding/", finding, name="agent_memory_note_finding"),
        ]

    def finding_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show why a note is found by a query, or why it is not."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        note = self.get_object(request, object_id)
        if note is None:
            gone = _("This note is not stored any more.")
            self.message_user(request, gone, messages.WARNING)
            return HttpResponseRedirect(links.to_list(self.admin_site.name, "note"))
        if not self.has_view_permission(request, note):
            raise PermissionDenied
        return FindingPage(self, request, note).respond()

    def forget_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, and on POST forget one note."""
        return ForgetPage(self, request).of_one(object_id)

    @admin.action(permissions=["forget"], description=_("Forget selected notes"))
    def forget_selected(self, request: HttpRequest, queryset: QuerySet[Note]) -> HttpResponse:
        """Ask, and once confirmed forget the notes."""
        return ForgetPage(self, request).of_many(within(request, queryset, "delete_note"))

    def object_tools(self, request: HttpRequest, obj: Any) -> list[Crumb]:
        """Return the ways to the history of the key, and to what can be seen and done here."""
        site, path, tools = self.admin_site.name, obj.workspace.path, []
        if may(request, "view_revision", path=path):
            tools.append((_("History"), links.to_past(site, "timeline", path, obj.key)))
        tools.append(exact_tool(site, "note", obj))
        tools.append((_("Why is it found?"), links.to_page(site, "note", "finding", obj.pk)))
        if may(request, "delete_note", path=path):
            tools.append((_("Forget…"), links.to_page(site, "note", "forget", obj.pk)))
        if may(request, ERASES, path=path):
            tools.append((_("Erase…"), links.to_past(site, "erase", path, obj.key)))
        return tools

    # Columns

    @admin.display(description=_("key"), ordering="key")
    def shown_key(self, note: Any) -> str:
        """The key with its blanks visible, and in it what was searched for."""
        return key_text(note.key, most=LIST_KEY, pattern=getattr(note, "pattern", ""))

    @admin.display(description=_("key"))
    def whole_key(self, note: Any) -> str:
        """The key, however long."""
        return key_text(note.key)

    @admin.display(description=_("index line"))
    def shown_summary(self, note: Any) -> str:
        """The summary as the index shows it; below, where a search has found the note."""
        return note_lines(note)

    @admin.display(description=_("workspace"), ordering="workspace")
    def shown_workspace(self, note: Any) -> str:
        """The path of its workspace."""
        path: str = note.path
        return path

    @admin.display(description=_("flags"), ordering="flags")
    def shown_flags(self, note: Any) -> str:
        """What a person should look at, as badges."""
        return badges(decode_flags(note.flags))

    @admin.display(description=_("with what is not seen"))
    def whole_text(self, note: Any) -> str:
        """Key, summary and body, in which invisible characters have names."""
        return exact_text("\n".join((note.key, note.summary or "", note.body)))

    @admin.display(description=_("flags"))
    def explained_flags(self, note: Any) -> str:
        """What a person should look at, and why."""
        return explained(note.flags)

    @admin.display(description=_("characters"), ordering="size")
    def shown_size(self, note: Any) -> int:
        """The length of the body."""
        size: int = note.size
        return size

    @admin.display(description=_("revision"))
    def shown_revision(self, note: Any) -> int:
        """The number of the revision that wrote it."""
        revision: int = note.revision
        return revision

    @admin.display(description=_("recalled"))
    def shown_usage(self, note: Any) -> Any:
        """How often agents recalled it, and when last; counted within a minute of it."""
        at = {"workspace": note.workspace_id, "position": note.position}
        usage = NoteUsage.objects.filter(**at).first()
        if usage is None or not usage.recall_count:
            return quiet(_("never"))
        last = ngettext("once, %(when)s", "%(count)s times, last %(when)s", usage.recall_count)
        when = date_format(local_time(usage.recalled_at), "DATETIME_FORMAT")
        return last % {"count": number_format(usage.recall_count), "when": when}

    @admin.display(description=_("type"))
    def shown_type(self, note: Any) -> Any:
        """Text or JSON."""
        return _("JSON") if note.body_is_json else _("text")

    @admin.display(description=_("summary"))
    def stored_summary(self, note: Any) -> str:
        """The summary exactly."""
        return exact_summary(note)

    @admin.display(description=_("body"))
    def stored_body(self, note: Any) -> str:
        """The body exactly."""
        return exact_body(note)


def _shown_flags(note: Any) -> tuple[str, ...]:
    return ("explained_flags",) if note is not None and note.flags else ()


def _stored_again(notes: NoteQuerySet, request: HttpRequest) -> Note | None:
    """Return the note that is stored under the key which a change form was about."""
    key, workspace = request.POST.get("key", ""), request.POST.get("workspace", "")
    if not (key and is_storable(key) and is_number(workspace)):
        return None
    return notes.filter(workspace_id=int(workspace), key=key.replace("\r\n", "\n")).first()
