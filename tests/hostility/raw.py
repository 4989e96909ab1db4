"""Bytes over a socket, exactly as a test wants them, and what comes back."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.api.live.server import Server

Headers = Iterable[tuple[str, str]]
PROBLEM = "application/problem+json"


@dataclass
class Answer:
    """An answer; `ours` tells whether the site gave it, or the server in front of the site."""

    status: int
    kind: str
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def ours(self) -> bool:
        return "Cache-Control" in self.headers

    def json(self) -> Any:
        return json.loads(self.body)


def head(
    server: Server,
    request_line: str,
    headers: Headers = (),
    *,
    bearer: bool = True,
) -> bytes:
    """Return the lines of a request up to the body; names may stand twice."""
    lines = [request_line, "Host: localhost"]
    if bearer:
        lines.append(f"Authorization: Bearer {server.secret}")
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def post(
    server: Server, address: str, body: bytes, headers: Headers = (), *, method: str = "POST"
) -> bytes:
    """Return a whole request with a JSON body and its length."""
    said = [("Content-Type", "application/json"), ("Content-Length", str(len(body))), *headers]
    return head(server, f"{method} /memory/{address} HTTP/1.1", said) + body


def chunked(server: Server, address: str, pieces: Iterable[bytes], headers: Headers = ()) -> bytes:
    """Return a whole request whose body comes in chunks."""
    said = [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked"), *headers]
    first = head(server, f"POST /memory/{address} HTTP/1.1", said)
    return b"".join([first, *(b"%x\r\n%b\r\n" % (len(p), p) for p in pieces), b"0\r\n\r\n"])


@contextlib.contextmanager
def connected(server: Server) -> Iterator[socket.socket]:
    """Yield a connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        yield connection


def ask(server: Server, raw: bytes, *, method: str = "POST") -> Answer:
    """Send the bytes on a connection of their own and return the answer."""
    with connected(server) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(raw)
        return read(connection, method=method)


def read(connection: socket.socket, *, method: str = "POST") -> Answer:
    """Return the next answer on the connection."""
    response = http.client.HTTPResponse(connection, method=method)
    response.begin()
    kind = (response.headers["Content-Type"] or "").partition(";")[0]
    return Answer(response.status, kind, response.headers, response.read())


def assert_refused(answer: Answer, *statuses: int) -> None:
    """Assert that it is one of the statuses, as a problem document if the site itself said so."""
    assert answer.status in statuses, (answer.status, answer.body[:500])
    if not answer.ours:
        return
    assert answer.kind == PROBLEM
    document = answer.json()
    assert document["status"] == answer.status
    assert 0 < len(document["detail"]) <= 300
    assert "\n" not in document["detail"]
    assert "Traceback" not in document["detail"]
