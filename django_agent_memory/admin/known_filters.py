"""The filters of notes by what is known of them beside their text, bounded as all are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import PAGE_VAR
from django.db.models import Q, QuerySet, Subquery
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_agent_memory.associations import tied_to
from django_agent_memory.models import Note, Workspace
from django_agent_memory.text.gate import is_storable

from .filters import Choices, WorkspaceFilter, exactly, with_chosen

_MOST_CHOICES = 50
_RECENT_NOTES = 2_000


class _NameFilter(admin.SimpleListFilter):
    """By a name, exactly; offers 50 of those that the newest 2,000 notes have.

    Of the chosen workspace alone, where one is chosen; nothing where no note has a name.
    """

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return the names in order, no name last."""
        names = sorted(
            {row[str(self.parameter_name)] for row in _recent(request, model_admin)} - {""}
        )
        chosen = self.value()
        if not names and chosen is None:
            return []
        return [*with_chosen(chosen or None, names[:_MOST_CHOICES]), ("", _("(none)"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the notes that have the chosen name."""
        return exactly(queryset, str(self.parameter_name), self.value())


class KindFilter(_NameFilter):
    """By kind."""

    title = _("kind")
    parameter_name = "kind"


class SlotFilter(_NameFilter):
    """By slot."""

    title = _("slot")
    parameter_name = "slot"


class ContextFilter(admin.SimpleListFilter):
    """By a context that is typed in, exactly: there may be as many contexts as notes."""

    title = _("context")
    parameter_name = "context"
    template = "admin/agent_memory/context_filter.html"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return the chosen context alone."""
        return with_chosen(self.value(), ())

    def has_output(self) -> bool:
        """Always: there is a field to type into."""
        return True

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Return all that the form of this filter needs: the other filters, and the way back."""
        request: HttpRequest = self.request
        given = request.GET.lists()
        dropped = (self.parameter_name, PAGE_VAR)
        yield {
            "kept": [
                (name, value) for name, values in given if name not in dropped for value in values
            ],
            "all": changelist.get_query_string(remove=[self.parameter_name]),
            "chosen": self.value() or "",
        }

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the notes that are tied to it."""
        context = self.value()
        if not context:
            return queryset
        return queryset.filter(tied_to(context)) if is_storable(context) else queryset.none()


class ExpiryFilter(admin.SimpleListFilter):
    """By whether agents still see a note, and whether that ends."""

    title = _("expiry")
    parameter_name = "expiry"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return the three cases."""
        return [("expired", _("expired")), ("expires", _("expires")), ("never", _("never expires"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the notes of the chosen case."""
        now = timezone.now()
        cases = {
            "expired": Q(expires_at__lte=now),
            "expires": Q(expires_at__gt=now),
            "never": Q(expires_at=None),
        }
        case = cases.get(self.value() or "")
        return queryset if case is None else queryset.filter(case)


def _recent(request: HttpRequest, model_admin: Any) -> list[dict[str, str]]:
    """Return kind and slot of the newest notes, read once for both filters of a page.

    Private ones are left out afterwards: a condition could let the database read on without end.
    """
    page: Any = request
    if not hasattr(page, "agent_memory_recent_notes"):
        path = request.GET.get(WorkspaceFilter.parameter_name)
        notes = model_admin.seen(request, Note.objects.order_by("-pk"))
        if path is not None:
            # A value and no join: the index of positions then is in the order that is asked for.
            chosen = Workspace.objects.filter(path=path).values("pk")[:1]
            notes = notes.filter(workspace_id=Subquery(chosen)).order_by("-position")
        rows = notes.values("kind", "slot", "session")
        is_known = path is None or is_storable(path)
        found = rows[:_RECENT_NOTES] if is_known else []
        page.agent_memory_recent_notes = [row for row in found if not row["session"]]
    recent: list[dict[str, str]] = page.agent_memory_recent_notes
    return recent
