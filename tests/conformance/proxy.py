"""A proxy that lets the conformance suite in, which sends no credentials and knows its own names.

The suite asks for tools, resources and prompts of an example server. Where the site has something
of the same kind, the proxy says the site's name for the example's, in the body and in the header
that repeats it. All else of a request and all of the answer stay as sent, Host and Origin too.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.api.live.mcp import Endpoint

STANDS_FOR = {
    "test_simple_text": "list_memories",
    "test_error_handling": "recall",  # of no key
    "test_simple_prompt": "memory_index",
    "test://static-text": "memory://core/index",
    "test://template/123/data": "memory://core/notes/123",
}
"""The site's names by those of the example server."""

COMPLETED = {
    "ref": {"type": "ref/resource", "uri": "memory://core/notes/{+key}"},
    "argument": {"name": "key", "value": "12"},
}
"""What of the site can be completed, in the place of an argument of an example prompt."""

_HOP_BY_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length")


@contextlib.contextmanager
def let_in(endpoint: Endpoint) -> Iterator[str]:
    """Yield the address of a proxy to the endpoint."""

    class Handler(_Handler):
        target = endpoint

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/memory/mcp/"
        finally:
            server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    target: Endpoint

    def handle(self) -> None:
        # The suite hangs up on an answer whose body it does not need.
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        port = self.target.server.port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        with contextlib.closing(connection):
            connection.putrequest(
                self.command, self.path, skip_host=True, skip_accept_encoding=True
            )
            for name, value in _passed(self.headers.items()):
                connection.putheader(name, STANDS_FOR.get(value, value))
            for name, value in self.target.headers.items():
                connection.putheader(name, value)
            body = _renamed(body)
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            self._answer(answer, answer.read())

    do_GET = do_DELETE = do_POST  # noqa: N815

    def _answer(self, answer: http.client.HTTPResponse, body: bytes) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in _passed(answer.getheaders()):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: the suite says what it asked."""


def _passed(headers: Any) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers if name.lower() not in _HOP_BY_HOP]


def _renamed(body: bytes) -> bytes:
    """Return the message with the site's names; what is none stays as it is."""
    try:
        message = json.loads(body)
        params = message["params"]
        renamed = {name: STANDS_FOR.get(params[name], params[name]) for name in _named(params)}
        completed = COMPLETED if message["method"] == "completion/complete" else {}
    except (ValueError, KeyError, TypeError):
        return body
    if not completed and renamed.items() <= params.items():
        return body
    return json.dumps({**message, "params": {**params, **renamed, **completed}}).encode()


def _named(params: dict[str, Any]) -> list[str]:
    return [name for name in ("name", "uri") if isinstance(params.get(name), str)]
