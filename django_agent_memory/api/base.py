"""The base of every endpoint: REST framework's view with each of its policies pinned.

Class attributes of `APIView` default to the host's `REST_FRAMEWORK`. Whatever stands there, an
agent is to meet the same parser, renderer, authentication and errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from django.db import connections, transaction
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import MethodNotAllowed, NotAuthenticated
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.views import APIView

from django_agent_memory.conf import conf
from django_agent_memory.models import AgentKey

from .access import Access, KeyAccess, UserAccess
from .authentication import AgentKeyAuthentication, UserAuthentication
from .parsing import JSONParser, refuse_call_name, refuse_query, refuse_session, session_name
from .problems import answer_problem
from .rendering import JSON, JSONRenderer
from .throttling import CredentialThrottle, TooManyRequests


class OnlyJSON(BaseContentNegotiation):
    """Takes the one parser and the one renderer, whatever `Accept` or `?format=` say."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        """Return the parser; it refuses other media types itself."""
        return parsers[0]

    def select_renderer(
        self, request: Any, renderers: Any, format_suffix: str | None = None
    ) -> tuple[Any, str]:
        """Return the renderer."""
        return renderers[0], JSON


class Endpoint(APIView):
    """A view for agents and users. In a handler, `self.access` says what the caller may do."""

    authentication_classes = (AgentKeyAuthentication, UserAuthentication)
    permission_classes = ()
    throttle_classes = (CredentialThrottle,)
    parser_classes = (JSONParser,)
    renderer_classes = (JSONRenderer,)
    content_negotiation_class = OnlyJSON
    metadata_class = None
    versioning_class = None
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]

    # The methods that take query parameters.
    queried: ClassVar[tuple[str, ...]] = ()
    takes_call_names = False
    takes_sessions = False
    access: Access
    # Instances without state, shared by all requests.
    _authenticators = [AgentKeyAuthentication(), UserAuthentication()]
    _negotiator = OnlyJSON()
    _parsers = [JSONParser()]
    _accepted = (JSONRenderer(), JSON)

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """Return the view as `free_of_the_host` leaves it."""
        return free_of_the_host(super().as_view(**initkwargs))

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Find out who calls, or raise 401, or 429; what they may do each handler asks."""
        request.accepted_renderer, request.accepted_media_type = self._accepted
        request.version = request.versioning_scheme = None
        self.perform_authentication(request)
        self.check_throttles(request)
        key = request.auth
        if request.method not in ("GET", "HEAD") and not self.takes_call_names:
            refuse_call_name(request._request)
        if request.method in self.allowed_methods and request.method not in self.queried:
            refuse_query(request._request)
        if not self.takes_sessions:
            refuse_session(request._request)
        session = session_name(request._request)
        if isinstance(key, AgentKey):
            self.access = KeyAccess(key, session, kwargs.get("workspace"))
        else:
            self.access = UserAccess(request.user, session, kwargs.get("workspace"))

    def perform_authentication(self, request: Request) -> None:
        """Set `request.user` and `request.auth`, or raise 401; makes no anonymous user."""
        for authenticator in request.authenticators or ():
            found: tuple[Any, Any] | None = authenticator.authenticate(request)
            if found is not None:
                request.user, request.auth = found
                return
        raise NotAuthenticated(
            "Send an agent key: the header Authorization: Bearer with the key behind it."
        )

    def get_authenticators(self) -> Any:
        """Return the bearer key first, so that a stray session cookie never counts beside it."""
        return self._authenticators

    def get_parsers(self) -> Any:
        """Return the JSON parser."""
        return self._parsers

    def perform_content_negotiation(self, request: Any, force: Any = None) -> Any:
        """Return the JSON renderer."""
        return self._accepted

    def throttled(self, request: Request, wait: float | None) -> NoReturn:
        """Raise 429 with the seconds to wait."""
        raise TooManyRequests(str(conf.throttle), wait)

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], HttpResponse]:
        """Return our handler, not the host's."""
        return answer_problem

    @property
    def default_response_headers(self) -> dict[str, str]:
        """No headers: `Allow` belongs to a 405."""
        return {}

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Raise 405 with the methods this address has."""
        raise method_not_allowed(request, self.allowed_methods)


def free_of_the_host(view: Any) -> Any:
    """Take the view out of ATOMIC_REQUESTS on every alias, as each write is a unit of its own.

    And out of `LoginRequiredMiddleware`, which would answer an agent with a login page.
    """
    for alias in connections:
        view = transaction.non_atomic_requests(using=alias)(view)
    view.login_required = False
    return view


def method_not_allowed(request: HttpRequest | Request, allowed: list[str]) -> MethodNotAllowed:
    """Return the error for a method that is not among `allowed`."""
    methods = ", ".join(sorted(allowed))
    error = MethodNotAllowed(
        str(request.method), detail=f"The method {request.method} is not for this; use {methods}."
    )
    error.allow = methods  # type: ignore[attr-defined]
    return error
