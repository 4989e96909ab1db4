"""Django's test client over real HTTP: each request goes through a socket and a real server.

The server runs the site's code on the test's own thread, hence inside its transaction: gunicorn's
worker is called there, and uvicorn's protocol, in the event loop of `async_to_sync`, has Django
call it back there.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import socket
import string
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Any
from urllib.parse import quote

import gunicorn.config
import uvicorn
from asgiref.sync import async_to_sync
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.http import HttpResponse
from gunicorn.glogging import Logger
from gunicorn.workers.sync import SyncWorker
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

_TOKEN = "c" * 32
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")
_PATH_AS_IT_IS = "/-._~!$&'()*+,;=:@"
_QUERY_AS_IT_IS = string.punctuation
_OF_THE_SERVER = ("connection", "date", "server", "transfer-encoding", "set-cookie")
_LOCALHOST = ("127.0.0.1", 0)
_SECONDS = 60

_OF_A_SERVER = "Under a server that hands over no body without its end, nobody meets this."
_SET_UP = "A prefix is in how a server is set up, in no request."
_BROKEN = "What says that it is in chunks and is not never ends."
NOT_OVER_THE_WIRE: dict[str, dict[str, str]] = {
    "gunicorn": {
        "test_some_request_is_answered_by_each_code['length_required']": _OF_A_SERVER,
        "test_below_the_prefix_of_a_script_too": _SET_UP,
        "test_a_session_with_a_body_that_is_not_json[told1]": _BROKEN,
    },
    "uvicorn": {
        "test_some_request_is_answered_by_each_code['length_required']": _OF_A_SERVER,
        "test_below_the_prefix_of_a_script_too": _SET_UP,
        "test_a_session_with_a_body_that_is_not_json[told1]": _BROKEN,
        "test_some_request_is_answered_by_each_code['bad_request']": _OF_A_SERVER,
    },
}
"""The tests that cannot be asked through a server, and why."""


@dataclass
class Answer:
    """What came back over the socket."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Wire:
    """What the test client calls with the environment of a request, in place of its own handler."""

    def __init__(self, enforce_csrf_checks: bool = True) -> None:
        self.enforce_csrf_checks = enforce_csrf_checks

    def __call__(self, environ: dict[str, Any]) -> Any:
        """Send the request and return what was answered as the response of a view."""
        body = environ["wsgi.input"].read()
        raw = request_bytes(environ, body, with_csrf_token=not self.enforce_csrf_checks)
        send = functools.partial(
            exchange,
            raw=raw,
            method=environ["REQUEST_METHOD"],
            hangs_up=len(body) < int(environ.get("CONTENT_LENGTH") or 0),
        )
        with socket.create_server(_LOCALHOST) as listener, _connections_stay_open():
            client = socket.create_connection(listener.getsockname(), timeout=_SECONDS)
            server, address = listener.accept()
            with client, server, ThreadPoolExecutor(1) as beside:
                answer = beside.submit(send, client)
                self.serve(listener, server, address, answer)
                response = _as_response(answer.result())
        # The test client asks it for the urlconf.
        response.wsgi_request = WSGIRequest(environ)
        return response

    def serve(
        self,
        listener: socket.socket,
        connection: socket.socket,
        address: Any,
        answer: Future[Answer],
    ) -> None:
        """Answer the one request of the connection; return once `answer` is there."""
        raise NotImplementedError


class OverGunicorn(Wire):
    """The request through gunicorn's sync worker, by WSGI."""

    @functools.cached_property
    def site(self) -> WSGIHandler:
        return WSGIHandler()

    def serve(
        self,
        listener: socket.socket,
        connection: socket.socket,
        address: Any,
        answer: Future[Answer],
    ) -> None:
        worker = _gunicorn_worker()
        worker.wsgi = self.site
        worker.handle(listener, connection, address)


class OverUvicorn(Wire):
    """The request through uvicorn's protocol, by ASGI."""

    @functools.cached_property
    def site(self) -> ASGIHandler:
        return _OnTheTestsThread()

    def serve(
        self,
        listener: socket.socket,
        connection: socket.socket,
        address: Any,
        answer: Future[Answer],
    ) -> None:
        async_to_sync(_serve_by_uvicorn)(self.site, connection, answer)


class _OnTheTestsThread(ASGIHandler):
    """Django's handler without a thread for each request, which would have its own connection."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.handle(scope, receive, send)


SERVERS: dict[str, type[Wire]] = {"gunicorn": OverGunicorn, "uvicorn": OverUvicorn}


def name() -> str:
    """Return what AGENT_MEMORY_TEST_SERVER names: a server, or `none` for Django's own client."""
    return os.environ.get("AGENT_MEMORY_TEST_SERVER", "none")


def chosen() -> type[Wire] | None:
    """Return the way to the server that is named."""
    return None if name() == "none" else SERVERS[name()]


def request_bytes(environ: dict[str, Any], body: bytes, *, with_csrf_token: bool) -> bytes:
    """Return the request as it goes over the wire; a session's write has its token, if it may."""
    method = environ["REQUEST_METHOD"]
    path = quote(environ["PATH_INFO"].encode("latin-1"), safe=_PATH_AS_IT_IS)
    query = quote(environ.get("QUERY_STRING", "").encode("latin-1"), safe=_QUERY_AS_IT_IS)
    headers = {"Host": environ["SERVER_NAME"], **_headers(environ)}
    if (
        with_csrf_token
        and method not in _SAFE_METHODS
        and settings.SESSION_COOKIE_NAME in str(headers.get("Cookie"))
    ):
        headers["Cookie"] += f"; {settings.CSRF_COOKIE_NAME}={_TOKEN}"
        headers["X-Csrftoken"] = _TOKEN
    lines = [f"{method} {path}{'?' * bool(query)}{query} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def exchange(client: socket.socket, raw: bytes, method: str, *, hangs_up: bool) -> Answer:
    """Send the bytes and return the answer, which may come before all of them are sent."""
    with contextlib.suppress(ConnectionError):
        client.sendall(raw)
        if hangs_up:
            client.shutdown(socket.SHUT_WR)
    response = HTTPResponse(client, method=method)
    response.begin()
    body = response.read()
    client.close()
    return Answer(response.status, response.getheaders(), body)


def _headers(environ: dict[str, Any]) -> dict[str, str]:
    names = {"CONTENT_TYPE": "Content-Type", "CONTENT_LENGTH": "Content-Length"}
    names |= {
        name: name.removeprefix("HTTP_").replace("_", "-").title()
        for name in environ
        if name.startswith("HTTP_")
    }
    if not environ.get("CONTENT_LENGTH"):
        del names["CONTENT_LENGTH"]
    return {said: str(environ[name]) for name, said in names.items() if name in environ}


def _as_response(answer: Answer) -> HttpResponse:
    response = HttpResponse(answer.body, status=answer.status)
    del response["Content-Type"]
    for name, value in answer.headers:
        if name.lower() not in _OF_THE_SERVER:
            response[name] = value
        elif name.lower() == "set-cookie":
            response.cookies.load(value)
    return response


@contextmanager
def _connections_stay_open() -> Iterator[None]:
    """Keep the test's connection, as the test client does: nobody closes it after a request."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)


@functools.cache
def _gunicorn_worker() -> Any:
    config = gunicorn.config.Config()
    # Its own bounds, which a site may set, are not what these tests are about.
    config.set("limit_request_line", 0)
    config.set("limit_request_field_size", 65_536)
    return SyncWorker(0, os.getpid(), [], None, _SECONDS, config, Logger(config))


async def _serve_by_uvicorn(
    site: ASGIHandler, connection: socket.socket, answer: Future[Answer]
) -> None:
    config = uvicorn.Config(site, lifespan="off", log_config=None)  # type: ignore[arg-type]
    config.load()
    state = ServerState()
    await asyncio.get_running_loop().connect_accepted_socket(
        lambda: H11Protocol(config, state, {}), connection
    )
    await asyncio.wrap_future(answer)
    for task in list(state.tasks):
        await task
