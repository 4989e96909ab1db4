"""The description over HTTP: the document, and a page on which people read and try it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import yaml
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from rest_framework.request import Request

from django_agent_memory.api.base import Endpoint
from django_agent_memory.api.parsing import read_fields, read_query
from django_agent_memory.api.rendering import CACHE_CONTROL, JSON, json_answer
from django_agent_memory.exceptions import NotAllowed, Refused
from django_agent_memory.models import AgentKey

from .binding import MemoryGenerator
from .parts import Limits, current_limits

YAML = "application/yaml"
_FORMATS = {"json": JSON, "yaml": YAML}
_YAML_TYPES = (YAML, "application/vnd.oai.openapi", "text/yaml", "application/x-yaml")


class SchemaView(Endpoint):
    """`GET schema/`: the API as OpenAPI 3.1, JSON or, by `?format=yaml` or `Accept`, YAML.

    It is the same for every credential and says nothing of any workspace. Without a credential it
    is refused as everything is: it tells the version, and that there is a memory at all.
    """

    schema = None
    http_method_names = ["get", "head"]
    queried = ("GET", "HEAD")

    def get(self, request: Request) -> HttpResponse:
        """Return the document; its server is the mount at which it was asked for."""
        kind = _wanted(request._request)
        mount = request.path.rstrip("/").removesuffix("schema").rstrip("/")
        document = _document(
            current_limits(), settings.SESSION_COOKIE_NAME, settings.CSRF_HEADER_NAME
        )
        answer = {**document, "servers": [{"url": mount or "/"}]}
        if kind == JSON:
            return json_answer(answer)
        text = yaml.dump(answer, Dumper=_Dumper, allow_unicode=True, sort_keys=False)
        response = HttpResponse(text, content_type=f"{YAML}; charset=utf-8")
        response.headers["Cache-Control"] = CACHE_CONTROL
        return response


class SchemaPageView(Endpoint):
    """`GET schema/docs/`: the document as a page, by the files of drf-spectacular-sidecar.

    It asks no other host for anything and has no inline script or style.
    """

    schema = None
    http_method_names = ["get", "head"]

    def get(self, request: Request) -> HttpResponse:
        """Return the page, to people: an agent reads the document."""
        if isinstance(request.auth, AgentKey):
            raise NotAllowed("The page is for people who are signed in; an agent reads schema/.")
        address = request.path.rstrip("/").removesuffix("docs")
        context = {"address": address, "token": get_token(request._request)}
        response = render(request._request, "agent_memory/openapi.html", context)
        response.headers["Cache-Control"] = CACHE_CONTROL
        response.headers["X-Frame-Options"] = "DENY"
        return response


class _Dumper(yaml.SafeDumper):
    """Writes what stands in several places in each of them: many readers know no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _wanted(request: HttpRequest) -> str:
    query = read_fields(read_query(request), required=(), optional=("format",))
    if "format" in query:
        if query["format"] not in _FORMATS:
            raise Refused(f"format must be one of: {', '.join(_FORMATS)}.")
        return _FORMATS[query["format"]]
    for accepted in request.accepted_types:
        kind = f"{accepted.main_type}/{accepted.sub_type}"
        if kind in _YAML_TYPES:
            return YAML
        if kind in (JSON, "application/*", "*/*"):
            return JSON
    return JSON


@lru_cache(maxsize=8)
def _document(limits: Limits, cookie: str, csrf_header: str) -> dict[str, Any]:
    """Return the document under these settings; making it takes longer than most requests."""
    return MemoryGenerator(urlconf="django_agent_memory.urls").get_schema()
