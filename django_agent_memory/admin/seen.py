"""The time at which a page was made, which it sends along with its form."""

from __future__ import annotations

import datetime

from django.utils import timezone
from django.utils.dateparse import parse_datetime


def moment_of(text: str) -> datetime.datetime | None:
    """Return the time that was sent, aware where this site's times are; None for what is none."""
    try:
        moment = parse_datetime(text)
    except ValueError:
        return None
    fits = moment is not None and timezone.is_naive(moment) == timezone.is_naive(timezone.now())
    return moment if fits else None
