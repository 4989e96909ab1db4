"""The engine over HTTP: one more endpoint, with the authentication and the limits of all others.

Statuses and headers are those of every address; what is wrong is said as JSON-RPC has it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port, validate_host
from django.utils.http import is_same_domain
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from django_agent_memory.api.access import Access
from django_agent_memory.api.base import Endpoint
from django_agent_memory.api.parsing import call_name, read_json
from django_agent_memory.api.problems import answer_problem
from django_agent_memory.api.rendering import JSON, json_answer
from django_agent_memory.encoding import encode
from django_agent_memory.exceptions import Refused
from django_agent_memory.memory import Memory
from django_agent_memory.tools import TOOLS, ToolSpec

from .engine import handle
from .envelope import id_in
from .wire import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, failure

_PLACE = "mcp/<workspace>/"
_LOCAL = (".localhost", "127.0.0.1", "[::1]")


class MCPView(Endpoint):
    """`POST mcp/` with a message of the Model Context Protocol, for any client that speaks it.

    A key's own workspace, or the one behind the address. Every request stands for itself: no
    session, no stream. The headers `Idempotency-Key` and `Memory-Session` are those of `tools/`.
    """

    # Its clients ask for its own description.
    schema = None
    http_method_names = ["post"]
    takes_call_names = True
    takes_sessions = True
    _message: Any = None
    _unreadable = INVALID_REQUEST

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse pages of other sites before anything else, then find out who calls."""
        check_origin(request._request)
        super().initial(request, *args, **kwargs)

    def post(self, request: Request, workspace: str | None = None) -> HttpResponse:
        """Answer the message."""
        self.access.require("view_note")
        caller = _Caller(self.access, workspace, call_name(request._request))
        self._unreadable = PARSE_ERROR
        self._message = read_json(request._request)
        status, answer = handle(self._message, request.headers, caller)
        if answer is None:
            return HttpResponse(status=status, content_type=JSON)
        return json_answer(answer, status=status)

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], HttpResponse]:
        """Return what says in the protocol what other addresses say as a problem document."""
        return self._answer

    def _answer(self, exc: Exception, context: dict[str, Any]) -> HttpResponse:
        response = answer_problem(exc, context)
        said = json.loads(response.content)
        code = INVALID_REQUEST
        if response.status_code >= 500:
            code = INTERNAL_ERROR
        elif said["code"] == Refused.code:
            code = self._unreadable
        # Clients show the sentence of a JSON-RPC error, also below a status such as 401.
        answer = failure(id_in(self._message), code, said["detail"], {"code": said["code"]})
        response.content = encode(answer)
        response.headers["Content-Type"] = JSON
        return response


def check_origin(request: HttpRequest) -> None:
    """Raise 403 for a page of a site that is neither this one nor in CSRF_TRUSTED_ORIGINS.

    The host that a request names is this site's if ALLOWED_HOSTS names it; its "*" names none, as
    whoever makes a name of their own lead to this machine would be let in.
    """
    host = request.get_host()
    origin = request.headers.get("Origin")
    if origin is None or (origin == f"{request.scheme}://{host}" and _is_named(host)):
        return
    if not any(_fits(origin, trusted) for trusted in settings.CSRF_TRUSTED_ORIGINS):
        raise PermissionDenied(
            "Pages of this origin may not call; CSRF_TRUSTED_ORIGINS names those that may."
        )


def _is_named(host: str) -> bool:
    named = [allowed for allowed in settings.ALLOWED_HOSTS if allowed != "*"]
    return validate_host(split_domain_port(host)[0], [*named, *_LOCAL])


def _fits(origin: str, trusted: str) -> bool:
    """Whether it is the trusted origin, or one of the subdomains that a * stands for."""
    scheme, is_wildcard, domain = trusted.partition("://*")
    if not is_wildcard:
        return origin == trusted
    found, _, host = origin.partition("://")
    return found == scheme and is_same_domain(host, domain)


class _Caller:
    """Whoever the endpoint let in, in one workspace."""

    def __init__(self, access: Access, workspace: str | None, call_name: str | None) -> None:
        self._access = access
        self._workspace = workspace
        self.call_name = call_name
        self.memory = access.memory(workspace, place=_PLACE)

    def tools(self) -> list[ToolSpec]:
        """Return the tools that the credential may use."""
        return [spec for spec in TOOLS.values() if self._access.may_use(spec)]

    def memory_for(self, spec: ToolSpec, call_name: str | None = None) -> Memory:
        """Return the memory once the credential may use the tool in it, as `tools/` does."""
        memory = self.memory
        if call_name is not None:
            memory = self._access.memory(self._workspace, place=_PLACE, call_name=call_name)
        self._access.require_call(spec, memory, is_recorded=call_name is not None)
        return memory
