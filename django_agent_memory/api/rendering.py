"""Answers as JSON, with the headers that every one has."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.renderers import JSONRenderer as BaseJSONRenderer

from django_agent_memory.encoding import encode
from django_agent_memory.memory import Memory

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
