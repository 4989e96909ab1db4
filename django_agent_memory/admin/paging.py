"""How many rows a list counts and shows: at most 10,000 are counted, as many as asked are shown."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from .filters import Choices

MOST_COUNTED = 10_000
"""Beyond so many rows a list says that there are more: counting a million takes a second."""

SIZES = (25, 100, 500)
"""How many rows a page may have."""


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts up to 10,000 rows, in one statement that stops there; later pages are not offered."""

    @cached_property
    def _counted(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by().values("pk")[: MOST_COUNTED + 1].count())

    @property
    def count(self) -> int:
        """The number of rows, at most 10,000."""
        return min(self._counted, MOST_COUNTED)

    @property
    def is_capped(self) -> bool:
        """Whether there are more rows than are counted."""
        return self._counted > MOST_COUNTED


class SizeFilter(admin.SimpleListFilter):
    """Filters nothing: how many rows a page has."""

    title = _("rows a page")
    parameter_name = "rows"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return the sizes."""
        return [(str(size), str(size)) for size in SIZES]

    def choices(self, changelist: Any) -> Any:
        """Return the sizes; that of the list itself is the one that nobody has to choose."""
        yield from list(super().choices(changelist))[1:]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return all rows."""
        return queryset


def size_of(request: HttpRequest) -> int | None:
    """Return how many rows a page is to have, None where nobody said."""
    asked = request.GET.get(SizeFilter.parameter_name, "")
    return int(asked) if asked in map(str, SIZES) else None
