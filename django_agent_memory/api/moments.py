"""Times on the wire: ISO 8601 with an offset, also on a site that stores them without zones."""

from __future__ import annotations

import datetime

from django.conf import settings
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from django_agent_memory.exceptions import Refused


def render_moment(value: datetime.datetime) -> str:
    """Return the time with an offset; one without (`USE_TZ = False`) is in the site's zone."""
    return (timezone.make_aware(value) if timezone.is_naive(value) else value).isoformat()


def parse_moment(text: str, *, name: str) -> datetime.datetime:
    """Return the time as this site's database compares it; without an offset, in the site's zone.

    A date is its first moment. Raises `Refused` with `name` for anything else.
    """
    try:
        value = parse_datetime(text)
        if value is not None:
            return _as_stored(value)
    except (ValueError, OverflowError):
        pass
    raise Refused(
        f"{name} must be a time such as 2026-11-30T08:15:00Z; write a + in a query as %2B."
    )


def parse_aware_moment(text: str, *, name: str) -> datetime.datetime:
    """Return the time with its zone, on a site that stores them without one too."""
    value = parse_moment(text, name=name)
    return timezone.make_aware(value) if timezone.is_naive(value) else value


def _as_stored(value: datetime.datetime) -> datetime.datetime:
    if timezone.is_naive(value) == (not settings.USE_TZ):
        return value
    zone = timezone.get_default_timezone()
    return timezone.make_aware(value, zone) if settings.USE_TZ else timezone.make_naive(value, zone)
