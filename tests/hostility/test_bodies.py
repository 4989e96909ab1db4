"""Bodies that are too long, too deep, in no charset, of no type, or packed."""

from __future__ import annotations

import functools
import gzip
import json
from typing import Any

import pytest

from tests.api.live.server import Server

from .raw import Answer, ask, assert_refused, chunked, connected, head, post, read

LIMIT = 16_000_000
RECALL = b'{"key":"known"}'
PIECE = 65_536
BODIES_AT = ["tools/remember/", "tools/recall/", "notes/", "apply/", "compose/", "values/"]


def padded(size: int) -> bytes:
    return RECALL + b" " * (size - len(RECALL))


def pieces(body: bytes) -> list[bytes]:
    return [body[start : start + PIECE] for start in range(0, len(body), PIECE)]


def sent(server: Server, how: str, body: bytes) -> Answer:
    """Send it as clients do that read no answer before all is sent."""
    if how == "declared":
        raw = post(server, "tools/recall/", body)
    else:
        raw = chunked(server, "tools/recall/", pieces(body))
    with connected(server) as connection:
        connection.sendall(raw)
        return read(connection)


@pytest.mark.parametrize("how", ["declared", "chunked"])
@pytest.mark.parametrize("size", [LIMIT - 1, LIMIT])
def test_a_body_within_the_limit_is_read(server: Server, how: str, size: int) -> None:
    answer = sent(server, how, padded(size))
    assert answer.status == 200
    assert answer.json()["body"] == "b"


@pytest.mark.parametrize("how", ["declared", "chunked"])
@pytest.mark.parametrize("over", [1, PIECE * 3, LIMIT])
def test_a_body_over_the_limit_is_refused_and_the_client_hears_it(
    server: Server, how: str, over: int
) -> None:
    answer = sent(server, how, padded(LIMIT + over))
    assert_refused(answer, 413)
    document = answer.json()
    assert document["code"] == "too_large"
    assert f"{LIMIT:,}" in document["detail"].replace("_", ",") or str(LIMIT) in document["detail"]


def nested(opening: str, closing: str, depth: int, *, closed: bool) -> bytes:
    deep = opening * depth + "1" + closing * depth * closed
    return f'{{"key":"deep","summary":"s","body":{deep}}}'.encode() if closed else deep.encode()


@pytest.mark.parametrize("address", BODIES_AT)
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("closed", [True, False])
def test_200_000_brackets(
    server: Server, address: str, opening: str, closing: str, closed: bool
) -> None:
    body = nested(opening, closing, 200_000, closed=closed)
    method = "PUT" if address == "values/" else "POST"
    answer = ask(server, post(server, address, body, method=method))
    assert_refused(answer, 400)
    assert answer.ours


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe",
        b'{"key":"\xe9"}',
        b'{"key":"\xed\xa0\x80"}',
        b'{"key":"\xf8\x88\x80\x80\x80"}',
        RECALL.decode().encode("utf-16"),
        RECALL.decode().encode("utf-32"),
        RECALL + b"\x00",
        b"\x00" * 100,
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf\xef\xbb\xbf" + RECALL,
        b'{"key":"\x00"}',
        b'{"key":"\\u0000"}',
        b'{"key":"\\ud800"}',
        b'{"key":"known","\\ud800":1}',
        b'{"key":"known","\\u0000":1}',
        b'{"key":NaN}',
        b'{"key":1e999}',
        b'{"key":' + b"9" * 100_000 + b"}",
        b'{"key":"known"',
        b"<key>known</key>",
        b"key=known",
    ],
    ids=lambda body: ascii(body[:24]),
)
def test_what_is_no_json_in_utf8_is_refused(server: Server, body: bytes) -> None:
    answer = ask(server, post(server, "tools/recall/", body))
    assert_refused(answer, 400)
    assert answer.ours


def test_a_byte_order_mark_is_skipped(server: Server) -> None:
    answer = ask(server, post(server, "tools/recall/", b"\xef\xbb\xbf" + RECALL))
    assert (answer.status, answer.json()["body"]) == (200, "b")


def with_type(server: Server, *kinds: str) -> Answer:
    headers = [("Content-Length", str(len(RECALL))), *(("Content-Type", kind) for kind in kinds)]
    return ask(server, head(server, "POST /memory/tools/recall/ HTTP/1.1", headers) + RECALL)


@pytest.mark.parametrize(
    "kinds",
    [
        ["text/plain"],
        ["application/x-www-form-urlencoded"],
        ["multipart/form-data; boundary=x"],
        ["application/xml"],
        ["application/json; charset=utf-16"],
        ["application/json; charset=latin-1"],
        ['application/json; charset="\\"'],
        ["application/" + "x" * 3_000],
        ["\xff\xfe"],
        ["*/*"],
        ["application/json", "text/plain"],
    ],
    ids=lambda kinds: ascii(kinds[0][:30]),
)
def test_other_types_and_charsets_are_refused(server: Server, kinds: list[str]) -> None:
    answer = with_type(server, *kinds)
    assert_refused(answer, 400, 415)
    # gunicorn takes the header once only.
    assert answer.ours or len(kinds) > 1


@pytest.mark.parametrize(
    "kinds",
    [
        [],
        [";"],
        ["application/json"],
        ["Application/JSON"],
        ["application/json; charset=UTF-8; a=b"],
    ],
    ids=str,
)
def test_json_is_read_with_its_type_or_without_one(server: Server, kinds: list[str]) -> None:
    assert with_type(server, *kinds).json()["body"] == "b"


@functools.cache
def packed() -> bytes:
    return gzip.compress(b" " * 100_000_000)


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate", "br", "gzip, gzip", "nonsense"])
def test_a_packed_body_is_refused_and_not_unpacked(server: Server, coding: str) -> None:
    """100 MB of blanks in 100 kB."""
    bomb, before = packed(), server.megabytes()
    for address in BODIES_AT if coding == "gzip" else BODIES_AT[:1]:
        method = "PUT" if address == "values/" else "POST"
        raw = post(server, address, bomb, [("Content-Encoding", coding)], method=method)
        answer = ask(server, raw)
        assert_refused(answer, 415)
        assert answer.json()["detail"] == (
            "Send the body without a Content-Encoding; it is not unpacked."
        )
    assert server.megabytes() < before + 20


@pytest.mark.parametrize("value", [["\ud800"], {"\udfff": 1}, "\ud83d"])
def test_lone_surrogates_are_refused_or_come_back(server: Server, value: Any) -> None:
    body = json.dumps({"key": "odd", "summary": "s", "body": value}).encode()
    answer = ask(server, post(server, "tools/remember/", body))
    if answer.status == 200:
        assert server.call("recall", key="odd")["body"] == value
    else:
        assert_refused(answer, 400)
