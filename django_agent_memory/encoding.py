"""Answers as JSON: compact, characters as themselves, times in ISO 8601 with their offset."""

from __future__ import annotations

import datetime
import json
from typing import Any

from django.utils import timezone


def encode(data: Any) -> bytes:
    """Return `data` as UTF-8 JSON without blanks; lone surrogates, which UTF-8 lacks, escaped."""
    try:
        return _COMPACT.encode(data).encode()
    except UnicodeEncodeError:
        return _ESCAPING.encode(data).encode()


def render_moment(value: datetime.datetime) -> str:
    """Return the time with an offset; one without (`USE_TZ = False`) is in the site's zone."""
    return (timezone.make_aware(value) if timezone.is_naive(value) else value).isoformat()


def _plain(value: object) -> Any:
    if isinstance(value, datetime.datetime):
        return render_moment(value)
    raise TypeError(f"{type(value).__name__} has no JSON form.")


_FLAGS: dict[str, Any] = {"allow_nan": False, "separators": (",", ":"), "default": _plain}
_COMPACT = json.JSONEncoder(ensure_ascii=False, **_FLAGS)
_ESCAPING = json.JSONEncoder(ensure_ascii=True, **_FLAGS)
