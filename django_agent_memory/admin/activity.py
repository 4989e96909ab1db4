"""What happened on each of the last days: writes, and how many lines the index had.

Days are those of the current time zone. The database counts by its own clock, in hours (in minutes
where a day begins within an hour): not every MariaDB knows time zones, and SQLite would call Python
for every row.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from django.db import connections
from django.db.models import (
    Case,
    CharField,
    Count,
    IntegerField,
    OuterRef,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce, Substr
from django.utils import timezone
from django.utils.formats import date_format

from django_agent_memory.models import Revision, Workspace

from .plots import Point

MOST_REVISIONS = 100_000
"""So many of the newest are compared with what was before them; older days are left out."""

_DAY = datetime.timedelta(days=1)
_HOURS = len("2026-11-30 23")
_MINUTES = len("2026-11-30 23:47")
Days = Sequence[datetime.date]


def last_days(count: int) -> list[datetime.date]:
    """Return the days up to today, oldest first."""
    today = _local(timezone.now())
    return [today - _DAY * back for back in reversed(range(count))]


def writes_by_day(log: QuerySet[Revision], days: Days) -> list[Point]:
    """Return how many of the revisions each day has, in one statement."""
    written = _by_day(log.filter(created_at__gte=_begin(days[0])), days, Count("pk"))
    return _points(days, [written[day] for day in days])


def lines_by_day(workspace: Workspace, lines: int, days: Days) -> list[Point]:
    """Return how many lines the index had at the end of each day; it has `lines` now.

    Counted back from now, as far as the history is complete and at most over the last 100,000
    revisions: earlier days are left out. Up to two statements.
    """
    first = max(workspace.history_from, workspace.revision - MOST_REVISIONS)
    log = Revision.objects.filter(workspace=workspace, number__gt=first).seen_in("")
    if first:
        oldest = log.order_by("number").values_list("created_at", flat=True).first()
        known_from = _local(oldest or workspace.updated_at)
        days = [day for day in days if day >= known_from]
        if not days:
            return []
    begin = _begin(days[0])
    gained = _by_day(log.filter(created_at__gte=begin).annotate(gain=_gain()), days, Sum("gain"))
    after = [0, *accumulate(gained[day] for day in reversed(days[1:]))]
    return _points(days, [max(0, lines - gone) for gone in reversed(after)])


def _by_day(log: QuerySet[Any], days: Days, amount: Any) -> Counter[datetime.date]:
    zone: datetime.tzinfo | None = connections[log.db].timezone  # None where none is in use.
    hourly = all(_on(zone, _begin(day)).minute == 0 for day in days)
    moment = Substr(Cast("created_at", CharField()), 1, _HOURS if hourly else _MINUTES)
    rows = log.annotate(moment=moment).order_by().values_list("moment").annotate(n=amount)
    by_day: Counter[datetime.date] = Counter()
    for text, n in rows:
        by_day[_local(datetime.datetime.fromisoformat(text).replace(tzinfo=zone))] += n or 0
    return by_day


def _has_line() -> Case:
    return Case(When(summary__isnull=True, then=0), default=1, output_field=IntegerField())


def _gain() -> Any:
    """Return what a revision brings to the index: a line more, a line less, or none."""
    before = Revision.objects.filter(
        workspace=OuterRef("workspace"), key=OuterRef("key"), number__lt=OuterRef("number")
    ).seen_in("")
    had = before.order_by("-number").values(had=_has_line())[:1]
    return _has_line() - Coalesce(Subquery(had, output_field=IntegerField()), Value(0))


def _on(zone: datetime.tzinfo | None, moment: datetime.datetime) -> datetime.datetime:
    return moment if zone is None else moment.astimezone(zone)


def _local(moment: datetime.datetime) -> datetime.date:
    return timezone.localdate(moment) if timezone.is_aware(moment) else moment.date()


def _begin(day: datetime.date) -> datetime.datetime:
    midnight = datetime.datetime.combine(day, datetime.time())
    return timezone.make_aware(midnight) if timezone.is_aware(timezone.now()) else midnight


def _points(days: Days, values: Sequence[int]) -> list[Point]:
    return [
        Point(date_format(day, "SHORT_DATE_FORMAT"), value)
        for day, value in zip(days, values, strict=True)
    ]
