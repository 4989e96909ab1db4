"""The tools over HTTP: a call is one POST, a read may also be a GET."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpResponse
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from django_agent_memory.exceptions import Refused
from django_agent_memory.memory import Memory
from django_agent_memory.text import gate
from django_agent_memory.tools import STYLES, TOOLS, ToolSpec, dispatch, render

from .base import Endpoint, method_not_allowed
from .parsing import (
    call_name,
    expected_revision,
    number,
    read_fields,
    read_json,
    read_query,
    whole_number,
)
from .rendering import json_answer, replay_headers


class ToolView(Endpoint):
    """`POST tools/<tool>/` with JSON arguments; `GET` with a query, for tools that only read.

    Answers `{"text": what the model reads, …fields}`. A workspace path in front of the tool's name
    is optional for a key and needed by a user. Under an `Idempotency-Key` the same call is answered
    again, byte for byte, and not done again; `Idempotency-Replayed: true` says so.

    With the header `Memory-Session`, what is saved with `"persist": false` is there for calls of
    this credential under this session only.
    """

    http_method_names = ["get", "head", "post"]
    queried = ("GET", "HEAD")
    takes_call_names = True
    takes_sessions = True

    def post(self, request: Request, tool: str, workspace: str | None = None) -> HttpResponse:
        """Call the tool with the JSON body."""
        spec, memory = self._called(request, tool, workspace)
        arguments = read_json(request._request)
        if not spec.read_only and "HTTP_IF_MATCH" in request.META:
            arguments = _with_precondition(request, arguments)
        return _answer(memory, spec, arguments)

    def get(self, request: Request, tool: str, workspace: str | None = None) -> HttpResponse:
        """Call the tool with the query parameters."""
        spec, memory = self._called(request, tool, workspace)
        if not spec.read_only:
            raise method_not_allowed(request, _methods(tool))
        return _answer(memory, spec, _from_query(spec, read_query(request._request)))

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Raise 405 with the methods that this tool takes."""
        raise method_not_allowed(request, _methods(kwargs["tool"]))

    def _called(
        self, request: Request, tool: str, workspace: str | None
    ) -> tuple[ToolSpec, Memory]:
        """Return the tool and the memory it is called on, once the caller may use both."""
        name = call_name(request._request)
        memory = self.access.memory(workspace, place="tools/<workspace>/<tool>/", call_name=name)
        spec = TOOLS.get(tool)
        if spec is None:
            usable = ", ".join(s.name for s in TOOLS.values() if self.access.may_use(s))
            raise NotFound(f"There is no such tool; yours are: {usable or 'none'}.")
        self.access.require_call(spec, memory, is_recorded=name is not None)
        return spec, memory


class ToolsView(Endpoint):
    """`GET tools/`: the tools this credential may use, with the JSON schema of their arguments.

    With `?style=` they are as `openai`, `openai-chat`, `anthropic` or `mcp` take them.
    """

    http_method_names = ["get", "head"]
    queried = ("GET", "HEAD")
    takes_sessions = True

    def get(self, request: Request) -> HttpResponse:
        """List them."""
        query = read_fields(read_query(request._request), required=(), optional=("style",))
        style = query.get("style")
        if style is not None and style not in STYLES:
            raise Refused(f"There is no such style; the styles are: {', '.join(STYLES)}.")
        usable = [
            spec.as_json() if style is None else render(spec, style)
            for spec in TOOLS.values()
            if self.access.may_use(spec)
        ]
        revision = self.access.workspace_revision
        return json_answer({"tools": usable, "workspace_revision": revision})


def _methods(tool: str) -> list[str]:
    spec = TOOLS.get(tool)
    return ["POST"] if spec is not None and not spec.read_only else ["GET", "HEAD", "POST"]


def _from_query(spec: ToolSpec, query: dict[str, str]) -> dict[str, Any]:
    """Return the arguments, with numbers for the digits of those that are numbers."""
    kinds = {parameter.name: parameter.kind for parameter in spec.parameters}
    return {
        name: _READ.get(kinds.get(name, ""), _as_text)(text, name) for name, text in query.items()
    }


def _as_text(text: str, _name: str) -> str:
    return text


_READ: dict[str, Callable[[str, str], Any]] = {
    "integer": lambda text, name: whole_number(text, name=f"The argument '{name}'"),
    "number": lambda text, name: number(text, name=f"The argument '{name}'"),
}


def _answer(memory: Memory, spec: ToolSpec, arguments: Any) -> HttpResponse:
    answer = dispatch(memory, spec.name, arguments)
    return json_answer({"text": answer.text, **answer.data}, headers=replay_headers(memory))


def _with_precondition(request: Request, arguments: Any) -> Any:
    """Return the arguments with the revision from `If-Match`; only an object is given one."""
    if isinstance(arguments, str):
        arguments = gate.parse_json(arguments)
    if not isinstance(arguments, Mapping):
        return arguments
    expected = expected_revision(request._request, arguments)
    return {**arguments, "expected_revision": expected}
