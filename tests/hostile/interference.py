"""What the hostile site puts in the way: router, exception handler, negotiation, middleware."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from django.http import HttpRequest, HttpResponse


class MemoryRouter:
    """Keeps the memory, and nothing else, in the database `memory`."""

    def db_for_read(self, model: Any, **_: Any) -> str | None:
        return "memory" if model._meta.app_label == "agent_memory" else None

    db_for_write = db_for_read

    def allow_migrate(self, db: str, app_label: str, **_: Any) -> bool:
        return (db == "memory") == (app_label == "agent_memory")


def explode(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """Answer every error of REST framework with a page."""
    return HttpResponse("<h1>Hostile</h1>", status=418)


class NoNegotiation:
    """Fails when it is so much as made."""

    def __init__(self) -> None:
        raise AssertionError("the host's negotiation was used")


def no_user() -> NoReturn:
    """Stand for a user class that cannot be made."""
    raise AssertionError("the host's anonymous user was used")


class ReadsBodies:
    """A middleware that has read the body before the view does, as loggers do."""

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> Any:
        request.body  # noqa: B018
        return self.get_response(request)
