"""The index over HTTP: what a program puts into the model's context on every turn."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.utils.http import parse_etags
from rest_framework.request import Request

from django_agent_memory.memory import Memory
from django_agent_memory.results import Index
from django_agent_memory.text.rendering import estimated_tokens

from .base import Endpoint
from .rendering import CACHE_CONTROL, JSON, json_answer

TEXT = "text/plain"


class IndexView(Endpoint):
    """`GET index/`: the text itself, or with `Accept: application/json` the text and its sizes.

    The strong `ETag` is the version of the index; under `If-None-Match` an unchanged one is 304,
    answered from one row, without making the text. `Workspace-Revision` carries the revision.

    With the header `Memory-Session`, the session's private lines are among the others.

    Every key may ask, whatever its tools are: the index is for the program that calls the model,
    not for the model.
    """

    http_method_names = ["get", "head"]
    takes_sessions = True

    def get(self, request: Request, workspace: str | None = None) -> HttpResponse:
        """Return the index of the workspace."""
        self.access.require("view_note")
        memory = self.access.memory(workspace, place="index/<workspace>/")
        as_json = _prefers_json(request._request)
        response = _unchanged(request._request, memory, as_json=as_json)
        if response is None:
            index = memory.index()
            response = _as_json(index) if as_json else _as_text(index)
            response.headers["ETag"] = _etag(index.version, index.workspace_revision, as_json)
            response.headers["Workspace-Revision"] = str(index.workspace_revision)
        response.headers["Cache-Control"] = CACHE_CONTROL
        response.headers["Vary"] = "Accept, Authorization, Cookie, Memory-Session"
        return response


def _prefers_json(request: HttpRequest) -> bool:
    """Whether the first of the accepted types that fits one of ours is JSON; parameters are free.

    Django's own choice would take `application/json; charset=utf-8` for another type.
    """
    for accepted in request.accepted_types:
        if not accepted.quality:
            continue
        kind = f"{accepted.main_type}/{accepted.sub_type}"
        if kind in (TEXT, "text/*", "*/*"):
            return False
        if kind in (JSON, "application/*"):
            return True
    return False


def _unchanged(request: HttpRequest, memory: Memory, *, as_json: bool) -> HttpResponse | None:
    """Return a 304 if the caller has the text of the current version, else None."""
    known = parse_etags(request.headers.get("If-None-Match", ""))
    if not known:
        return None
    version, revision = memory.index_version()
    etag = _etag(version, revision, as_json)
    # Weak comparison: a compressing middleware on the way marks the tag as weak.
    if etag not in [tag.removeprefix("W/") for tag in known] and known != ["*"]:
        return None
    response = HttpResponseNotModified()
    response.headers["ETag"] = etag
    response.headers["Workspace-Revision"] = str(revision)
    return response


def _etag(version: str, revision: int, as_json: bool) -> str:  # noqa: FBT001
    """Return the tag of one form of the answer; the JSON holds the revision, so does its tag."""
    return f'"{version}.{revision}.json"' if as_json else f'"{version or "none"}"'


def _as_text(index: Index) -> HttpResponse:
    response = HttpResponse(index.text, content_type=f"{TEXT}; charset=utf-8")
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _as_json(index: Index) -> HttpResponse:
    characters = len(index.text)
    return json_answer(
        {
            "text": index.text,
            "lines": index.lines,
            "characters": characters,
            "estimated_tokens": estimated_tokens(characters),
            "workspace_revision": index.workspace_revision,
        }
    )
