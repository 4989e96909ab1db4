"""The filters of notes by what is known of them beside their text, bounded as all are."""

from __future__ import annotations

import datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet, Subquery
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from django_agent_memory.associations import tied_to
from django_agent_memory.history import written_by
from django_agent_memory.models import Note, Workspace
from django_agent_memory.text.flags import LARGE_BODY
from django_agent_memory.text.gate import is_storable

from .filters import Choices, TypedFilter, WorkspaceFilter, exactly, with_chosen
from .overview import STALE

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


class SourceFilter(_NameFilter):
    """By what a note was taken from."""

    title = _("source")
    parameter_name = "source"


class ContextFilter(TypedFilter):
    """By a context that is typed in, exactly: there may be as many contexts as notes."""

    title = _("context")
    parameter_name = "context"
    label = _("Context, exactly")

    def chosen(self, queryset: Any, typed: str) -> Any:
        """Return the notes that are tied to it."""
        return queryset.filter(tied_to(typed))


class SubjectFilter(TypedFilter):
    """By whom or what a note is about, typed in exactly."""

    title = _("subject")
    parameter_name = "subject"
    label = _("Subject, exactly")

    def chosen(self, queryset: Any, typed: str) -> Any:
        """Return the notes about it."""
        return queryset.filter(subject=typed)


class WriterFilter(TypedFilter):
    """By who wrote what a note says now, typed in exactly."""

    title = _("last writer")
    parameter_name = "writer"
    label = _("Agent or person, exactly as in the history")

    def chosen(self, queryset: Any, typed: str) -> Any:
        """Return the notes whose last revision has this actor."""
        return written_by(queryset, typed)


class ExpiryFilter(admin.SimpleListFilter):
    """By whether agents still see a note, and whether that ends."""

    title = _("expiry")
    parameter_name = "expiry"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return the four cases."""
        return [
            ("live", _("seen by agents")),
            ("expired", _("expired")),
            ("expires", _("expires")),
            ("never", _("never expires")),
        ]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Return the notes of the chosen case."""
        chosen = self.value() or ""
        if chosen == "live":
            return queryset.unexpired()
        if chosen == "expired":
            return queryset.expired()
        if chosen == "expires":
            return queryset.filter(expires_at__gt=timezone.now())
        return queryset.filter(expires_at=None) if chosen == "never" else queryset


class RecallFilter(admin.SimpleListFilter):
    """By when agents last recalled a note."""

    title = _("last recall")
    parameter_name = "recalled"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return the spans."""
        return [
            ("never", _("never")),
            ("7", _("in the past 7 days")),
            ("30", _("in the past 30 days")),
            ("older", _("before that")),
            ("stale", _("neither written nor recalled for 90 days")),
        ]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Return the notes of the chosen span."""
        now = timezone.now()
        month = now - datetime.timedelta(days=30)
        chosen = self.value() or ""
        if chosen == "never":
            return queryset.never_recalled()
        if chosen == "older":
            return queryset.ever_recalled().unrecalled_since(month)
        if chosen == "stale":
            return queryset.unwritten_since(now - STALE).unrecalled_since(now - STALE)
        if chosen in ("7", "30"):
            return queryset.recalled_since(now - datetime.timedelta(days=int(chosen)))
        return queryset


class LengthFilter(admin.SimpleListFilter):
    """By the characters of the body."""

    title = _("characters")
    parameter_name = "characters"

    # Longer than, and up to; beyond the last it is flagged as unusual.
    _EDGES: ClassVar[dict[str, tuple[int, int | None]]] = {
        "short": (0, 200),
        "middle": (200, 2_000),
        "long": (2_000, LARGE_BODY),
        "longest": (LARGE_BODY, None),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return the lengths."""
        return [(name, _span(*edges)) for name, edges in self._EDGES.items()]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Return the notes of the chosen length."""
        if self.value() not in self._EDGES:
            return queryset
        above, most = self._EDGES[str(self.value())]
        longer = queryset.longer_than(above) if above else queryset
        return longer if most is None else longer.no_longer_than(most)


def _span(above: int, most: int | None) -> str:
    """Return a range of lengths in words."""
    if most is None:
        return gettext("more than %s") % number_format(above)
    if not above:
        return gettext("up to %s") % number_format(most)
    ends = {"first": number_format(above + 1), "last": number_format(most)}
    return gettext("%(first)s to %(last)s") % ends


def _recent(request: HttpRequest, model_admin: Any) -> list[dict[str, str]]:
    """Return kind, slot and source of the newest notes, read once for all filters of a page.

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
        rows = notes.values("kind", "slot", "source", "session")
        is_known = path is None or is_storable(path)
        found = rows[:_RECENT_NOTES] if is_known else []
        page.agent_memory_recent_notes = [row for row in found if not row["session"]]
    recent: list[dict[str, str]] = page.agent_memory_recent_notes
    return recent
