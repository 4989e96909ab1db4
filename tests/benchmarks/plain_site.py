"""The site of the HTTP benchmark: the memory, and a plain view with the same two queries."""

from __future__ import annotations

import hashlib

from django.http import HttpRequest, JsonResponse
from django.urls import include, path

from django_agent_memory.models import AgentKey, Note


def recall(request: HttpRequest) -> JsonResponse:
    """Answer what the recall tool answers, as plainly as Django lets one."""
    secret = request.headers["Authorization"].removeprefix("Bearer ")
    digest = hashlib.sha256(secret.encode()).hexdigest()
    agent_key = AgentKey.objects.select_related("workspace", "user").get(digest=digest)
    if not agent_key.is_usable:
        return JsonResponse({"detail": "This key is not usable."}, status=401)
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


urlpatterns = [
    path("memory/", include("django_agent_memory.urls")),
    path("plain/recall/", recall),
]
