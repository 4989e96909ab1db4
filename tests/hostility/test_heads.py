"""Request lines and headers: given twice, giant, of no method, of another version."""

from __future__ import annotations

import contextlib
import re
import socket

import pytest

from tests.api.live.server import Server

from .raw import Answer, Headers, ask, assert_refused, connected, head, post, read

REMEMBER = b'{"key":"twice","summary":"s","body":"b"}'
FRAMING = ("Content-Length", "Transfer-Encoding")
POST = "POST /memory/tools/remember/ HTTP/1.1"
GET = "GET /memory/tools/recall/?key=known HTTP/1.1"


def remember(server: Server, headers: Headers, *, bearer: bool = True) -> Answer:
    """Send the request and, for the servers that wait for more of it, hang up."""
    said = [("Content-Type", "application/json"), *headers]
    with connected(server) as connection:
        connection.sendall(head(server, POST, said, bearer=bearer) + REMEMBER)
        if [kind for kind in headers if kind[0] in FRAMING] != [LENGTH]:
            connection.shutdown(socket.SHUT_WR)
        return read(connection)


LENGTH = ("Content-Length", str(len(REMEMBER)))


@pytest.mark.parametrize(
    "headers",
    [
        [LENGTH, ("Content-Length", "1")],
        [("Content-Length", "1"), LENGTH],
        [LENGTH, ("Transfer-Encoding", "chunked")],
        [("Content-Length", "-1")],
        [("Content-Length", "0x28")],
        [("Content-Length", "40, 41")],
        [LENGTH, ("Idempotency-Key", "a"), ("Idempotency-Key", "b")],
        [LENGTH, ("Idempotency-Key", '"a"'), ("Idempotency-Key", '"b"')],
        [LENGTH, ("Idempotency-Key", "a"), ("Idempotency-Key", "a")],
        [LENGTH, ("Memory-Session", "a"), ("Memory-Session", "b")],
        [LENGTH, ("If-Match", '"0"'), ("If-Match", '"0"')],
        [LENGTH, ("If-Match", '"0"'), ("If-Match", '"1"')],
    ],
    ids=str,
)
def test_what_counts_once_is_refused_twice_and_nothing_is_written(
    server: Server, headers: list[tuple[str, str]]
) -> None:
    with contextlib.suppress(ConnectionError):
        assert_refused(remember(server, headers), 400)
    assert server.call("recall", key="twice")["found"] is False


@pytest.mark.parametrize("length", [64_000_001, 10**12, 10**18])
def test_a_length_far_over_the_limit_is_refused_without_waiting(
    server: Server, length: int
) -> None:
    """uvicorn hands over a body when all of it is there."""
    if server.kind == "uvicorn":
        with connected(server) as connection:
            connection.sendall(head(server, POST, [("Content-Length", str(length))]) + REMEMBER)
        return
    answer = ask(server, head(server, POST, [("Content-Length", str(length))]) + REMEMBER)
    assert_refused(answer, 413)
    assert answer.json()["code"] == "too_large"


def test_two_keys_are_no_key(server: Server) -> None:
    other = ("Authorization", f"Bearer {server.secret}")
    unknown = ("Authorization", "Bearer dam_x")
    for pair in ([other, other], [other, unknown], [unknown, other]):
        answer = remember(server, [LENGTH, *pair], bearer=False)
        assert_refused(answer, 400, 401)
    assert server.call("recall", key="twice")["found"] is False


@pytest.mark.parametrize(
    "method", ["BREW", "PROPFIND", "TRACE", "OPTIONS", "LINK", "get", "X" * 20, "M-SEARCH"]
)
@pytest.mark.parametrize("address", ["tools/recall/", "notes/", "index/", "nosuch/"])
def test_other_methods_are_refused(server: Server, method: str, address: str) -> None:
    answer = ask(server, head(server, f"{method} /memory/{address} HTTP/1.1"), method=method)
    if method == "get":
        assert answer.status in (200, 400, 404)
    else:
        assert_refused(answer, 400, 404, 405, 501)


@pytest.mark.parametrize("length", [3_000, 100_000, 1_000_000])
@pytest.mark.parametrize("place", ["query", "path", "header", "key"])
def test_giant_addresses_and_headers(server: Server, place: str, length: int) -> None:
    line, headers, long = GET, [], "x" * length
    if place == "query":
        line = f"GET /memory/tools/recall/?key={long} HTTP/1.1"
    elif place == "path":
        line = f"GET /memory/notes/{'a/' * (length // 2)} HTTP/1.1"
    elif place == "header":
        headers = [("Memory-Session", long)]
    else:
        headers = [("Authorization", f"Bearer {long}")]
    raw = head(server, line, headers, bearer=place != "key")
    try:
        answer = ask(server, raw, method="GET")
    except ConnectionError:
        assert length > 3_000
        return
    assert_refused(answer, 400, 401, 404, 413, 414, 431)
    assert answer.ours or length > 3_000


def test_ten_thousand_headers(server: Server) -> None:
    with contextlib.suppress(ConnectionError):
        many = [(f"X-{number}", "x") for number in range(10_000)]
        answer = ask(server, head(server, GET, many), method="GET")
        assert answer.status in (200, 400, 431)


@pytest.mark.parametrize(
    "target",
    [
        "/memory/tools/recall/?key=%00",
        "/memory/tools/recall/?key=%ff",
        "/memory/tools/recall/?key=%ed%a0%80",
        "/memory/tools/recall/?key=%",
        "/memory/tools/recall/?key=a&key=b",
        "/memory/tools/recall/?" + "&".join(f"a{number}=" for number in range(101)),
        "/memory/notes/?page_size=%00",
        "/memory/notes/?cursor=%ff",
        "/memory/notes/%00/",
        "/memory/notes/%ff/",
        "/memory/notes/%ed%a0%80/",
        "/memory/tools/%00/recall/?key=known",
        "/memory/tools/%ff/recall/?key=known",
        "/memory/tools/core%2F..%2Fcore/recall/?key=known",
        "/memory/tools/core/../../admin/recall/?key=known",
        "/memory/tools/" + "a/" * 1_000 + "recall/?key=known",
        "/memory//tools//recall/?key=known",
        "/memory/%2e%2e/%2e%2e/etc/passwd",
        "//memory/tools/recall/?key=known",
    ],
    ids=lambda target: ascii(target[:60]),
)
def test_addresses_that_name_nothing(server: Server, target: str) -> None:
    assert_refused(ask(server, head(server, f"GET {target} HTTP/1.1"), method="GET"), 400, 404, 413)


@pytest.mark.parametrize(
    "line",
    [
        "GET /memory/tools/recall/?key=a b HTTP/1.1",
        "GET /memory/tools/recall/?key=\xe9 HTTP/1.1",
        "GET /memory/tools/recall/?key=\x00 HTTP/1.1",
        "GET /memory/\xff\xfe/ HTTP/1.1",
        "GET  HTTP/1.1",
        "GET * HTTP/1.1",
        "GET http://localhost/memory/tools/recall/?key=nosuch HTTP/1.1",
        "GET /memory/tools/recall/?key=known HTTP/9.9",
        "GET /memory/tools/recall/?key=known",
        "PRI * HTTP/2.0",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "\x00" * 50,
    ],
    ids=lambda line: ascii(line[:50]),
)
def test_lines_that_are_no_request(server: Server, line: str) -> None:
    """The server refuses them or hangs up; what it lets through is refused or answered."""
    with contextlib.suppress(ConnectionError, TimeoutError):
        answer = ask(server, head(server, line), method="GET")
        assert answer.status == 200 or 400 <= answer.status < 500 or answer.status == 505


def test_http_1_0(server: Server) -> None:
    raw = f"GET /memory/tools/recall/?key=known HTTP/1.0\r\nAuthorization: Bearer {server.secret}"
    answer = ask(server, f"{raw}\r\n\r\n".encode(), method="GET")
    assert (answer.status, answer.json()["body"]) == (200, "b")


def test_requests_in_one_go_are_answered_in_order(server: Server) -> None:
    """gunicorn's sync worker answers the first, says that it hangs up, and does."""
    known = post(server, "tools/recall/", b'{"key":"known"}')
    last = post(server, "tools/recall/", b'{"key":"known"}', [("Connection", "close")])
    said = b""
    with connected(server) as connection:
        connection.sendall(known + head(server, "GET /memory/nosuch HTTP/1.1") + last)
        with contextlib.suppress(ConnectionError):
            while piece := connection.recv(65_536):
                said += piece
    statuses = re.findall(rb"HTTP/1\.1 (\d+)", said)
    assert statuses == ([b"200"] if server.kind == "sync" else [b"200", b"404", b"200"])


def test_a_request_within_a_body_is_not_one(server: Server) -> None:
    inner = post(server, "tools/remember/", REMEMBER)
    with connected(server) as connection:
        connection.sendall(post(server, "tools/recall/", inner))
        assert_refused(read(connection), 400)
    assert server.call("recall", key="twice")["found"] is False
