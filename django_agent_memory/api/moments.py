"""Times in requests: ISO 8601 with an offset, also on a site that stores them without zones."""

from __future__ import annotations

import datetime

from django.conf import settings
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from django_agent_memory.exceptions import Refused
from django_agent_memory.models.access import LAST_YEAR

# In UTC. Every database holds these, also moved by an offset and stored without a zone.
_FIRST_YEAR = 1900


def parse_moment(text: str, *, name: str) -> datetime.datetime:
    """Return the time as this site's database compares it: without a zone where `USE_TZ` is off.

    Raises `Refused` with `name` for one without an offset (whose midnight would it be?), for what
    is no time, and for years that not every database holds.
    """
    try:
        value = parse_datetime(text)
    except ValueError:
        value = None
    if value is None or timezone.is_naive(value):
        raise Refused(
            f"{name} must be a time with its offset, such as 2026-11-30T08:15:00Z "
            "(a + in a query is written %2B)."
        )
    moment = _in_utc(value)
    if moment is None or not _FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise Refused(f"{name} must be in the years {_FIRST_YEAR} to {LAST_YEAR}.")
    return moment if settings.USE_TZ else timezone.make_naive(moment, _zone())


def parse_aware_moment(text: str, *, name: str) -> datetime.datetime:
    """Return the time with its zone, whatever `USE_TZ` is; raises `Refused` as `parse_moment`."""
    value = parse_moment(text, name=name)
    return timezone.make_aware(value) if timezone.is_naive(value) else value


def _in_utc(value: datetime.datetime) -> datetime.datetime | None:
    """Return the time in UTC, as not every database takes every offset; None beyond its years."""
    try:
        return value.astimezone(datetime.UTC)
    except OverflowError:
        return None


def _zone() -> datetime.tzinfo:
    return timezone.get_default_timezone()
