"""What is no fit message is answered in the protocol, and nothing is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api.conftest import Agent, stored

from .conftest import META, VERSION, Handshaken, Modern, error

pytestmark = pytest.mark.django_db

SAVE = {"name": "remember", "arguments": {"key": "k", "summary": "s", "body": "b"}}
FIT = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": SAVE}
HEADERS = {
    "MCP-Protocol-Version": VERSION,
    "Mcp-Method": "tools/call",
    "Mcp-Name": "remember",
}


@pytest.fixture(autouse=True)
def _nothing_is_written(agent: Agent) -> Any:
    before = stored()
    yield
    assert stored() == before


@pytest.mark.parametrize("headers", [{}, HEADERS])
@pytest.mark.parametrize(
    ("message", "id_"),
    [
        ([], None),
        ([FIT], None),
        ([FIT, FIT], None),
        ({}, None),
        (None, None),
        (1, None),
        ('"ping"', None),
        (True, None),
        ({**FIT, "jsonrpc": "1.0"}, 1),
        ({**FIT, "jsonrpc": 2.0}, 1),
        ({**FIT, "id": None}, None),
        ({**FIT, "id": True}, None),
        ({**FIT, "id": 1.5}, None),
        ({**FIT, "id": [1]}, None),
        ({**FIT, "id": {"a": 1}}, None),
        ({**FIT, "method": None}, 1),
        ({**FIT, "method": 7}, 1),
        ({**FIT, "method": ["tools/call"]}, 1),
        ({**FIT, "params": [SAVE]}, 1),
        ({**FIT, "params": "x"}, 1),
        ({**FIT, "params": 0}, 1),
        ({"jsonrpc": "2.0", "id": 1}, 1),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, 1),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}}, 1),
    ],
)
def test_what_is_no_request(agent: Agent, message: Any, id_: Any, headers: dict[str, str]) -> None:
    error(agent.send("mcp/", message, headers=headers), 400, -32600, id_=id_)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"nonsense",
        b'{"id": NaN}',
        b'{"id": 1e999}',
        b"\xff\xfe",
        b'{"jsonrpc": "2.0"} {"jsonrpc": "2.0"}',
        b'{"id": ' + b"9" * 5_000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    ],
)
def test_what_is_no_json(agent: Agent, body: bytes) -> None:
    said = error(agent.send("mcp/", body), 400, -32700, id_=None)
    assert said["data"] == {"code": "refused"}


def test_an_empty_body_is_no_request(agent: Agent) -> None:
    error(agent.send("mcp/", b""), 400, -32600, id_=None)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "text/xml"])
def test_what_is_not_sent_as_json(agent: Agent, kind: str) -> None:
    said = error(agent.send("mcp/", FIT, content_type=kind), 415, -32600, id_=None)
    assert said["data"] == {"code": "unsupported_media_type"}


def test_a_body_over_the_limit(agent: Agent, settings: Any) -> None:
    body = json.dumps({**FIT, "params": {"junk": "x" * 5_000_000}})
    settings.AGENT_MEMORY_MAX_REQUEST_BYTES = len(body) - 1
    said = error(agent.send("mcp/", body), 413, -32600, id_=None)
    assert said["data"] == {"code": "too_large"}
    settings.AGENT_MEMORY_MAX_REQUEST_BYTES = len(body)
    error(agent.send("mcp/", body), 200, -32602)


def test_deep_json_in_the_arguments(client: Modern) -> None:
    deep: Any = 1
    for _ in range(101):
        deep = [deep]
    told = client.call("remember", key="k", summary="s", body=deep)
    assert told["isError"]
    assert told["content"][0]["text"] == "The body is JSON nested deeper than 100 levels."


@pytest.mark.parametrize(
    "method",
    [
        "no/such", "", "tools/call ", "Tools/List", "resources/subscribe", "logging/setLevel",
        "sampling/createMessage", "subscriptions/listen", "x" * 5_000, "\x00", "tasks/get",
    ],
)  # fmt: skip
def test_an_unknown_method(agent: Agent, method: str) -> None:
    if method.isprintable():
        header = method if method.strip() == method else method.strip()
        response = Modern(agent).send(method, **{"Mcp-Method": header})
        if header == method:
            error(response, 404, -32601)
    error(Handshaken(agent).send(method), 200, -32601)


def test_each_era_has_methods_that_the_other_has_not(
    modern: Modern, handshaken: Handshaken
) -> None:
    error(modern.send("ping"), 404, -32601)
    error(handshaken.send("server/discover"), 200, -32601)
    discover = {**FIT, "method": "server/discover", "params": {}}
    error(handshaken.agent.send("mcp/", discover), 400, -32602)


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "tools/call", "params": SAVE},
        {"jsonrpc": "2.0", "method": "no/such"},
    ],
)
@pytest.mark.parametrize("headers", [{}, HEADERS, {"MCP-Protocol-Version": "2025-06-18"}])
def test_a_notification_is_taken_and_does_nothing(
    agent: Agent, message: Any, headers: dict[str, str]
) -> None:
    response = agent.send("mcp/", message, headers=headers)
    assert (response.status_code, response.content) == (202, b"")


def test_a_notification_in_a_version_that_is_not_served(agent: Agent) -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    response = agent.send("mcp/", message, headers={"MCP-Protocol-Version": "2031-01-01"})
    said = error(response, 400, -32022, id_=None)
    assert said["data"] == {"supported": [VERSION], "requested": "2031-01-01"}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", {"cursor": "x"}),
        ("tools/list", {"cursor": 5}),
        ("tools/call", {}),
        ("tools/call", {"name": None}),
        ("tools/call", {"name": "no_such", "arguments": {}}),
        ("tools/call", {"name": "x" * 5_000}),
        ("resources/list", {"cursor": "x"}),
        ("resources/templates/list", {"cursor": "x"}),
        ("resources/read", {}),
        ("resources/read", {"uri": "memory://core/notes/%ff"}),
        ("resources/read", {"uri": "memory://core/notes/"}),
        ("resources/read", {"uri": "memory://core/notes/%00"}),
        ("resources/read", {"uri": "memory://core/notes/" + "k" * 513}),
        ("prompts/list", {"cursor": ""}),
        ("prompts/get", {}),
        ("prompts/get", {"name": "no_such"}),
        ("prompts/get", {"name": "memory_index", "arguments": {"a": "b"}}),
        ("completion/complete", {}),
        ("completion/complete", {"ref": 1, "argument": {}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "memory_index"}}),
    ],
)
def test_params_that_do_not_fit(agent: Agent, method: str, params: dict[str, Any]) -> None:
    error(Modern(agent).send(method, params), 400, -32602)
    error(Handshaken(agent).send(method, params), 200, -32602)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": 5, "arguments": {}}),
        ("tools/call", {"name": ["remember"]}),
        ("resources/read", {"uri": 1}),
        ("resources/read", {"uri": {}}),
        ("prompts/get", {"name": False}),
    ],
)
def test_a_name_that_no_header_can_repeat(
    agent: Agent, method: str, params: dict[str, Any]
) -> None:
    error(Modern(agent).send(method, params), 400, -32020)
    error(Handshaken(agent).send(method, params), 200, -32602)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"protocolVersion": 1, "capabilities": {}, "clientInfo": {}},
        {"protocolVersion": "2025-11-25", "clientInfo": {}},
        {"protocolVersion": "2025-11-25", "capabilities": {}},
        {"protocolVersion": "2025-11-25", "capabilities": [], "clientInfo": {}},
    ],
)
def test_a_handshake_that_does_not_fit(agent: Agent, params: dict[str, Any]) -> None:
    error(agent.send("mcp/", {**FIT, "method": "initialize", "params": params}), 200, -32602)


@pytest.mark.parametrize("arguments", [[1], 5, True, "nonsense", "[1]", {"no": 1}, {"key": "k"}])
def test_arguments_that_do_not_fit_are_the_tools_own_failure(
    client: Modern, arguments: Any
) -> None:
    told = client.ask("tools/call", {"name": "remember", "arguments": arguments})
    assert told["isError"] is True
    assert "structuredContent" not in told
    assert told["_meta"]["django-agent-memory/error"] == {"code": "refused"}
    (content,) = told["content"]
    assert content["type"] == "text"
    assert content["text"].endswith(".")


@pytest.mark.parametrize("meta", [5, "x", [], [META]])
def test_meta_that_is_no_object(agent: Agent, meta: Any) -> None:
    error(Modern(agent).send("tools/call", {**SAVE, "_meta": meta}), 400, -32602)
    error(Handshaken(agent).send("tools/call", {**SAVE, "_meta": meta}), 200, -32602)
