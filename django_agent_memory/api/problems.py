"""The one place where an exception becomes an answer: `application/problem+json` (RFC 9457).

`detail` is one English sentence of at most 300 characters that a model can act on; it is never
translated. `code` is one of `codes`. What was not foreseen is logged and answered without its text.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import InterfaceError, OperationalError, connections, router
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions as rest

from django_agent_memory.exceptions import AgentMemoryError, Busy, Conflict
from django_agent_memory.models import Note
from django_agent_memory.text.rendering import sentence
from django_agent_memory.writing.locking import is_contention

from .codes import CODES, known_code
from .rendering import json_answer

PROBLEM_JSON = "application/problem+json"
RETRY_AFTER_SECONDS = 1
BUSY_READ = "The database is busy and could not be read. Try the same call again in a moment."
UNAVAILABLE = "The database cannot be reached. Try the same call again in a moment."
NO_SUCH_WORKSPACE = "There is no such workspace."

_RETRY = {"Retry-After": str(RETRY_AFTER_SECONDS)}
_logger = logging.getLogger("django_agent_memory.api")

_FOREIGN: tuple[tuple[type[Exception], str, str], ...] = (
    (Http404, "not_found", "There is nothing at this address."),
    (PermissionDenied, "not_allowed", "This is not allowed."),
    (SuspiciousOperation, "bad_request", "The request is malformed or over a limit."),
    (UnreadablePostError, "bad_request", "The request body ended before it was complete."),
)


def answer_problem(exc: Exception, context: dict[str, Any]) -> HttpResponse:
    """Return the problem document for `exc`; the exception handler of every endpoint."""
    if isinstance(exc, AgentMemoryError):
        return _own_problem(exc)
    if isinstance(exc, rest.APIException):
        return _rest_problem(exc)
    for kind, code, detail in _FOREIGN:
        if isinstance(exc, kind):
            return problem(code, detail)
    if isinstance(exc, OperationalError) and is_contention(exc):
        return _own_problem(Busy(BUSY_READ))
    if isinstance(exc, (OperationalError, InterfaceError)) and _is_database_down():
        _logger.error("The database cannot be reached.", exc_info=exc)
        return problem("unavailable", UNAVAILABLE, headers=_RETRY)
    return _unexpected(exc, context["request"])


def problem(
    code: str, detail: str, *, headers: dict[str, str] | None = None, **members: Any
) -> HttpResponse:
    """Return a problem document with the status of its `code`, one of `codes.CODES`.

    `members` are further fields such as `current_revision`.
    """
    status = CODES[code].status
    document = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": sentence(detail),
        "code": code,
        **members,
    }
    return json_answer(document, status=status, content_type=PROBLEM_JSON, headers=headers)


def no_such_workspace() -> rest.NotFound:
    """Return the error for a workspace that is not there, or that the caller may not know of."""
    return rest.NotFound(NO_SUCH_WORKSPACE, code="not_found")


@csrf_exempt
@login_not_required
def not_found(request: HttpRequest) -> HttpResponse:
    """Answer an address that no endpoint has; the last route of the urlconf."""
    return problem("not_found", "There is no endpoint at this address.")


def _own_problem(error: AgentMemoryError) -> HttpResponse:
    # A site's own error has the code of what it is derived from.
    codes = (getattr(kind, "code", "") for kind in type(error).__mro__)
    code = next((code for code in codes if code in CODES), "bad_request")
    if isinstance(error, Conflict):
        return problem(code, str(error), current_revision=error.current_revision)
    headers = _RETRY if isinstance(error, Busy) else None
    return problem(code, str(error), headers=headers)


def _is_database_down() -> bool:
    """Whether a connection is broken or cannot be had, as opposed to a statement that failed."""
    for alias in {router.db_for_read(Note), router.db_for_write(Note)}:
        connection = connections[alias]
        try:
            connection.ensure_connection()
        except (OperationalError, InterfaceError):
            return True
        if not connection.is_usable():
            return True
    return False


def _rest_problem(error: rest.APIException) -> HttpResponse:
    headers = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if allowed := getattr(error, "allow", None):
        headers["Allow"] = allowed
    if retry_after := getattr(error, "retry_after", None):
        headers["Retry-After"] = str(retry_after)
    code = known_code(str(error.get_codes()), error.status_code)
    return problem(code, str(error.detail), headers=headers)


def _unexpected(error: Exception, request: Any) -> HttpResponse:
    """Log what nobody foresaw and tell error reporters of it, as Django does for its own 500."""
    _logger.error("Unexpected error: %s %s", request.method, request.path, exc_info=error)
    got_request_exception.send(sender=None, request=request)
    return problem(
        "internal_error", "The server failed to answer; its log says why. Try again later."
    )
