"""The site of the HTTP benchmark: the memory, and plain views that read the same."""

from __future__ import annotations

import hashlib

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path

from django_agent_memory import Memory
from django_agent_memory.models import AgentKey, Note


def _key(request: HttpRequest) -> AgentKey:
    secret = request.headers["Authorization"].removeprefix("Bearer ")
    digest = hashlib.sha256(secret.encode()).hexdigest()
    agent_key = AgentKey.objects.select_related("workspace", "user").get(digest=digest)
    if not agent_key.is_usable:
        raise PermissionDenied
    return agent_key


def recall(request: HttpRequest) -> JsonResponse:
    """Answer what the recall tool answers, as plainly as Django lets one."""
    agent_key = _key(request)
    key = request.GET["key"]
    note = (
        Note.objects.filter(workspace__path=agent_key.workspace.path, key=key)
        .values(
            "body",
            "body_is_json",
            "entry__summary",
            "revision",
            "created_at",
            "updated_at",
            "workspace__revision",
        )
        .get()
    )
    return JsonResponse({"text": note["body"], "found": True, "key": key, **note})


def index(request: HttpRequest) -> HttpResponse:
    """Answer the text of the index."""
    return HttpResponse(Memory(_key(request).workspace).index().text, content_type="text/plain")


def find(request: HttpRequest) -> JsonResponse:
    """Answer what is found."""
    finding = Memory(_key(request).workspace).finding(request.GET["query"])
    found = [{"key": one.key, "body": one.body, "summary": one.summary} for one in finding.found]
    return JsonResponse({"found": found, "workspace_revision": finding.workspace_revision})


urlpatterns = [
    path("memory/", include("django_agent_memory.urls")),
    path("plain/recall/", recall),
    path("plain/index/", index),
    path("plain/find/", find),
]
