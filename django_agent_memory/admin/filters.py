"""The filters beside the lists, each bounded at any number of rows."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.views.main import PAGE_VAR
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_agent_memory.models import Revision
from django_agent_memory.text.gate import is_storable

from .marking import marked

_MOST_CHOICES = 100
_RECENT_REVISIONS = 2_000

Choices = Iterable[tuple[str, Any]]


class WorkspaceFilter(admin.SimpleListFilter):
    """By workspace path, exactly; offers the first 100 paths that one may see."""

    title = _("workspace")
    parameter_name = "workspace"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return the paths, the chosen one among them."""
        seen = model_admin.seen_workspaces(request)
        paths = seen.order_by("path").values_list("path", flat=True)
        return with_chosen(self.value(), paths[:_MOST_CHOICES])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of the chosen workspace."""
        return exactly(queryset, "workspace__path", self.value())


class TypedFilter(admin.SimpleListFilter):
    """By a text that is typed in, for which there may be as many choices as rows."""

    template = "admin/agent_memory/typed_filter.html"
    # What a screen reader says of the field.
    label: ClassVar[Any]

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return the chosen text alone."""
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
            "links": list(self.links(changelist)),
        }

    def links(self, changelist: Any) -> Iterable[tuple[Any, str]]:
        """Return names and addresses of what may be chosen by a click."""
        return ()

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the chosen rows; all for nothing, none for what no database can hold."""
        typed = self.value()
        if not typed:
            return queryset
        rows: QuerySet[Any] = (
            self.chosen(queryset, typed) if is_storable(typed) else queryset.none()
        )
        return rows

    def chosen(self, queryset: Any, typed: str) -> Any:
        """Return the rows that the text chooses."""
        raise NotImplementedError


class KeyFilter(admin.SimpleListFilter):
    """By key, exactly; shown only while a link has set it."""

    title = _("key")
    parameter_name = "key"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return the chosen key alone."""
        return with_chosen(self.value(), ())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of the chosen key."""
        return exactly(queryset, "key", self.value())


class ActorFilter(admin.SimpleListFilter):
    """By who wrote; offers the actors of the last 2,000 revisions that one may see."""

    title = _("actor")
    parameter_name = "actor"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return the actors in order, the unnamed one last."""
        seen = model_admin.seen(request, Revision.objects.order_by("-pk"))
        recent = seen.values_list("actor", flat=True)
        actors = sorted(set(recent[:_RECENT_REVISIONS]) - {""})[:_MOST_CHOICES]
        return [*with_chosen(self.value() or None, actors), ("", _("(not named)"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return what the chosen actor wrote."""
        return exactly(queryset, "actor", self.value())


class AgeFilter(admin.SimpleListFilter):
    """By the time of the last write."""

    title = _("last update")
    parameter_name = "updated"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return the spans."""
        return [
            ("today", _("today")),
            ("7", _("in the past 7 days")),
            ("30", _("in the past 30 days")),
            ("90", _("in the past 90 days")),
            ("older", _("before that")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the notes of the chosen span; today began at midnight of the current time zone."""
        now = timezone.now()
        starts = {days: now - datetime.timedelta(days=int(days)) for days in ("7", "30", "90")}
        chosen = self.value() or ""
        if chosen == "today":
            return queryset.filter(updated_at__gte=_midnight(now))
        if chosen == "older":
            return queryset.filter(updated_at__lt=starts["90"])
        return queryset.filter(updated_at__gte=starts[chosen]) if chosen in starts else queryset


class SummaryFilter(admin.SimpleListFilter):
    """By what the index shows of a note."""

    title = _("index line")
    parameter_name = "summary"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return the three cases."""
        return [
            ("filled", _("with a summary")),
            ("blank", _("with a blank summary")),
            ("none", _("no index line")),
        ]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Return the notes of the chosen case."""
        if self.value() == "none":
            return queryset.without_summary()
        blank = Q(entry__summary="")
        cases = {"blank": blank, "filled": Q(entry__summary__isnull=False) & ~blank}
        case = cases.get(self.value() or "")
        return queryset if case is None else queryset.filter(case)


class KeyStateFilter(admin.SimpleListFilter):
    """By whether an agent key still works."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return the three states."""
        return [("active", _("active")), ("expired", _("expired")), ("revoked", _("revoked"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the keys in the chosen state; a revoked one is revoked, expired or not."""
        over = Q(expires_at__lte=timezone.now())
        kept = Q(revoked_at=None)
        cases = {"active": kept & ~over, "expired": kept & over, "revoked": ~kept}
        case = cases.get(self.value() or "")
        return queryset if case is None else queryset.filter(case)


def exactly(queryset: QuerySet[Any], field: str, value: str | None) -> QuerySet[Any]:
    """Return the rows with this value, all for None; none for what no database can hold."""
    if value is None:
        return queryset
    return queryset.filter(**{field: value}) if is_storable(value) else queryset.none()


def with_chosen(chosen: str | None, values: Iterable[str]) -> list[tuple[str, str]]:
    """Return choices for the values and for the chosen one, which may not be among them.

    Characters that are not seen are named, as everywhere.
    """
    listed = list(values)
    if chosen is not None and chosen not in listed:
        listed.insert(0, chosen)
    return [(value, value if value.isprintable() else marked(value)) for value in listed]


def _midnight(now: datetime.datetime) -> datetime.datetime:
    local = timezone.localtime(now) if timezone.is_aware(now) else now
    return local.replace(hour=0, minute=0, second=0, microsecond=0)
