"""Clients that are slow, that hang up, and that are gone before the answer."""

from __future__ import annotations

import socket
import struct
from contextlib import ExitStack

import pytest

from tests.api.live.server import Server

from .raw import connected, head, post, read

REMEMBER = b'{"key":"cut","summary":"s","body":"b"}'
# How many silent connections a server bears: gunicorn's threads are 8 in each of 2 workers.
SILENT = {"sync": 1, "gthread": 7, "uvicorn": 200}


def reset(connection: socket.socket) -> None:
    """Let the connection end with a reset, as that of a process that was killed."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.mark.parametrize("sent", [1, 20, 120, -1])
@pytest.mark.parametrize("end", ["close", "reset", "half"])
def test_a_client_that_is_gone_in_the_middle_of_its_request(
    server: Server, sent: int, end: str
) -> None:
    raw = post(server, "tools/remember/", REMEMBER)
    for _ in range(5):
        with connected(server) as connection:
            connection.sendall(raw[:sent])
            if end == "reset":
                reset(connection)
            elif end == "half":
                connection.shutdown(socket.SHUT_WR)
                connection.recv(65_536)
    assert server.call("recall", key="cut")["found"] is False


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("tool", ["recall", "remember"])
def test_a_client_that_is_gone_before_its_answer(server: Server, tool: str, end: str) -> None:
    """What was asked is done or not, whole: a write that nobody hears of is there."""
    server.call("remember", key="large", summary="s", body="x" * 900_000)
    body = b'{"key":"large"}' if tool == "recall" else REMEMBER.replace(b"cut", b"unheard")
    for _ in range(10):
        with connected(server) as connection:
            connection.sendall(post(server, f"tools/{tool}/", body))
            if end == "reset":
                reset(connection)
    assert server.call("recall", key="large")["body"] == "x" * 900_000
    found = server.call("recall", key="unheard")
    assert found["found"] is False or found["body"] == "b"


@pytest.mark.parametrize("end", ["close", "reset"])
def test_a_client_that_is_gone_in_the_middle_of_its_answer(server: Server, end: str) -> None:
    server.call("remember", key="large", summary="s", body="x" * 900_000)
    for _ in range(10):
        with connected(server) as connection:
            connection.sendall(post(server, "tools/recall/", b'{"key":"large"}'))
            assert connection.recv(10)
            if end == "reset":
                reset(connection)


def test_a_request_that_comes_byte_by_byte_is_answered(server: Server) -> None:
    raw = post(server, "tools/recall/", b'{"key":"known"}')
    with connected(server) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(len(raw)):
            connection.sendall(raw[number : number + 1])
        assert read(connection).json()["body"] == "b"


@pytest.mark.parametrize("part", ["nothing", "head", "body"])
def test_silent_connections_leave_the_others_their_answers(server: Server, part: str) -> None:
    """As many as the server bears: gunicorn's sync worker bears none, its threads one each."""
    raw = post(server, "tools/remember/", REMEMBER)
    sent = {"nothing": b"", "head": raw[:30], "body": raw[:-5]}[part]
    with ExitStack() as open_connections:
        silent = [
            open_connections.enter_context(connected(server)) for _ in range(SILENT[server.kind])
        ]
        for connection in silent:
            connection.sendall(sent)
        for _ in range(5):
            assert server.call("recall", key="known")["body"] == "b"
        for connection in silent:
            connection.sendall(raw[len(sent) :])
            assert read(connection).status == 200
    server.call("forget", key="cut")


def test_continue_is_said_before_a_body_is_sent(server: Server) -> None:
    body = b'{"key":"known"}'
    headers = [("Content-Length", str(len(body))), ("Expect", "100-continue")]
    with connected(server) as connection:
        connection.sendall(head(server, "POST /memory/tools/recall/ HTTP/1.1", headers))
        assert connection.recv(65_536).startswith(b"HTTP/1.1 100")
        connection.sendall(body)
        assert read(connection).json()["body"] == "b"
