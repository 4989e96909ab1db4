"""Answers as JSON: compact, characters as themselves, times in ISO 8601 with their offset."""

from __future__ import annotations

import datetime
import json
from typing import Any

from django.http import HttpResponse
from rest_framework.renderers import JSONRenderer as BaseJSONRenderer

from django_agent_memory.memory import Memory

from .moments import render_moment

JSON = "application/json"
# What one credential may see must not be served to another by a cache in between.
CACHE_CONTROL = "private, no-cache"


class JSONRenderer(BaseJSONRenderer):
    """The only renderer of every endpoint, whatever the host's flags for JSON are."""

    charset = None

    def render(
        self, data: Any, accepted_media_type: Any = None, renderer_context: Any = None
    ) -> bytes:
        """Return `data` as `encode` does; no media type parameter changes it."""
        return encode(data)


def json_answer(
    data: Any,
    *,
    status: int = 200,
    content_type: str = JSON,
    headers: dict[str, str] | None = None,
) -> HttpResponse:
    """Return a finished answer, so that what cannot be rendered fails inside the view."""
    response = HttpResponse(encode(data), content_type=content_type, status=status)
    response.headers["Cache-Control"] = CACHE_CONTROL
    for name, value in (headers or {}).items():
        response.headers[name] = value
    return response


def replay_headers(memory: Memory) -> dict[str, str]:
    """Return the header that says an answer is a recorded one, where it is."""
    return {"Idempotency-Replayed": "true"} if memory.replayed else {}


def encode(data: Any) -> bytes:
    """Return `data` as UTF-8 JSON without blanks; lone surrogates, which UTF-8 lacks, escaped."""
    try:
        return _COMPACT.encode(data).encode()
    except UnicodeEncodeError:
        return _ESCAPING.encode(data).encode()


def _plain(value: object) -> Any:
    if isinstance(value, datetime.datetime):
        return render_moment(value)
    raise TypeError(f"{type(value).__name__} has no JSON form.")


_FLAGS: dict[str, Any] = {"allow_nan": False, "separators": (",", ":"), "default": _plain}
_COMPACT = json.JSONEncoder(ensure_ascii=False, **_FLAGS)
_ESCAPING = json.JSONEncoder(ensure_ascii=True, **_FLAGS)
