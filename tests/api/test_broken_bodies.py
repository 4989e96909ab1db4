"""Bodies that break off or are cut into broken chunks, under a real server."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from .live.server import Server, live_server

WHOLE = b'{"key":"k","summary":"s","body":"b"}'
CHUNKED = {"Transfer-Encoding": "chunked"}
BROKEN: list[tuple[dict[str, str], bytes]] = [
    (CHUNKED, b"ZZ\r\nabc\r\n0\r\n\r\n"),
    (CHUNKED, b"-1\r\nabc\r\n0\r\n\r\n"),
    (CHUNKED, b"3\r\nabcdef\r\n0\r\n\r\n"),
    (CHUNKED, b"24\r\n" + WHOLE),
    (CHUNKED, b"24\r\n" + WHOLE + b"\r\n"),
    (CHUNKED, b"24\r\n" + WHOLE + b"\r\n0\r\n"),
    (CHUNKED, b"30\r\n" + WHOLE),
    (CHUNKED, b"\r\n"),
    (CHUNKED, b""),
    ({"Content-Length": "37"}, WHOLE),
    ({"Content-Length": "9"}, b""),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with live_server(tmp_path_factory.mktemp("live")) as server:
        yield server


def send(server: Server, method: str, address: str, headers: dict[str, str], raw: bytes) -> Any:
    """Send the bytes as they are, then nothing more; return status, type and body."""
    lines = {
        "Host": "localhost", "Authorization": f"Bearer {server.secret}",
        "Content-Type": "application/json", **headers,
    }  # fmt: skip
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(f"{method} /memory/{address} HTTP/1.1\r\n{head}\r\n".encode() + raw)
        connection.shutdown(socket.SHUT_WR)
        response = http.client.HTTPResponse(connection, method=method)
        response.begin()
        return response.status, response.headers["Content-Type"], json.loads(response.read())


@pytest.mark.parametrize(("headers", "raw"), BROKEN)
def test_a_broken_body_is_the_callers_fault(
    server: Server, headers: dict[str, str], raw: bytes
) -> None:
    kept = server.call("remember", key="kept", summary="s", body="b")
    (note,) = server.get("notes/?key=kept").json()["results"]
    for method, address in (
        ("POST", "tools/remember/"), ("POST", "tools/list_memories/"), ("POST", "notes/"),
        ("DELETE", f"notes/{note['id']}/"), ("POST", "restore/"),
    ):  # fmt: skip
        status, kind, document = send(server, method, address, headers, raw)
        assert (status, kind) == (400, "application/problem+json")
        assert document["detail"] == "The request body ended before it was complete."
        assert document["code"] == "bad_request"
    assert server.get("notes/").json()["workspace_revision"] == kept["workspace_revision"]


def test_whole_chunks_are_read(server: Server) -> None:
    raw = b"4\r\n" + WHOLE[:4] + b"\r\n20\r\n" + WHOLE[4:] + b"\r\n0\r\n\r\n"
    status, _, answer = send(server, "POST", "tools/remember/", CHUNKED, raw)
    assert (status, answer["key"]) == (200, "k")
