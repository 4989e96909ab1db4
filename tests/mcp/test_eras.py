"""The two eras: who says its version where, and what becomes of one that is not served."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from django_agent_memory import __version__
from django_agent_memory.mcp.discovery import INSTRUCTIONS
from django_agent_memory.mcp.wire import CLIENT_CAPABILITIES, PROTOCOL_VERSION, SERVER_INFO
from tests.api.conftest import Agent, stored

from .conftest import META, VERSION, Handshaken, Modern, error, result

pytestmark = pytest.mark.django_db

INFO = {"name": "django-agent-memory", "title": "Agent memory", "version": __version__}
CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}


def encoded(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def initialize(agent: Agent, version: str, **headers: str) -> Any:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    return agent.send("mcp/", message, headers=headers)


def test_discover(modern: Modern) -> None:
    assert modern.ask("server/discover") == {
        "supportedVersions": [VERSION],
        "capabilities": CAPABILITIES,
        "instructions": INSTRUCTIONS,
        "resultType": "complete",
        "ttlMs": 3_600_000,
        "cacheScope": "private",
        "_meta": {SERVER_INFO: INFO},
    }


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("next year", "2025-11-25"),
    ],
)
def test_the_handshake(agent: Agent, asked: str, given: str) -> None:
    response = initialize(agent, asked)
    assert result(response) == {
        "protocolVersion": given,
        "serverInfo": INFO,
        "capabilities": CAPABILITIES,
        "instructions": INSTRUCTIONS,
    }
    assert "Mcp-Session-Id" not in response.headers


def test_who_needs_no_handshake_cannot_shake_hands(modern: Modern) -> None:
    error(modern.send("initialize", {"protocolVersion": "2025-11-25"}), 404, -32601)


@pytest.mark.parametrize("version", [VERSION, "2025-11-25", "2024-11-05", "2031-01-01"])
def test_a_handshake_settles_the_version_whatever_the_header(agent: Agent, version: str) -> None:
    response = initialize(agent, "2025-06-18", **{"MCP-Protocol-Version": version})
    assert result(response)["protocolVersion"] == "2025-06-18"


def test_ping(handshaken: Handshaken) -> None:
    assert handshaken.ask("ping") == {}


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", None])
def test_after_a_handshake_results_are_plain(agent: Agent, version: str | None) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {} if version is None else {"MCP-Protocol-Version": version}
    assert result(agent.send("mcp/", message, headers=headers)).keys() == {"tools"}


@pytest.mark.parametrize(
    ("method", "params", "cached_for"),
    [
        ("tools/list", {}, 60_000),
        ("tools/call", {"name": "list_memories"}, None),
        ("resources/list", {}, 60_000),
        ("resources/templates/list", {}, 60_000),
        ("resources/read", {"uri": "memory://core/index"}, 0),
        ("prompts/list", {}, 60_000),
        ("prompts/get", {"name": "memory_index"}, None),
    ],
)
def test_modern_results_say_how_they_end_and_how_long_they_hold(
    modern: Modern, method: str, params: dict[str, Any], cached_for: int | None
) -> None:
    found = modern.ask(method, params)
    assert found["resultType"] == "complete"
    assert found["_meta"] == {SERVER_INFO: INFO}
    assert found.get("ttlMs") == cached_for
    assert found.get("cacheScope") == (None if cached_for is None else "private")


@pytest.mark.parametrize("id_", [0, -1, 10**30, "", "é\ud800", "x" * 1_000])
def test_the_id_comes_back_as_it_was(agent: Agent, id_: Any) -> None:
    response = agent.send("mcp/", {"jsonrpc": "2.0", "id": id_, "method": "ping"})
    assert response.json() == {"jsonrpc": "2.0", "id": id_, "result": {}}


@pytest.mark.parametrize("missing", [PROTOCOL_VERSION, CLIENT_CAPABILITIES, None])
def test_a_modern_request_says_version_and_capabilities(
    modern: Modern, missing: str | None
) -> None:
    meta = {name: value for name, value in META.items() if missing not in (None, name)}
    error(modern.send("tools/list", {"_meta": meta}), 400, -32602)


@pytest.mark.parametrize("capabilities", [None, [], "x", 1])
def test_capabilities_are_an_object(modern: Modern, capabilities: Any) -> None:
    meta = {**META, CLIENT_CAPABILITIES: capabilities}
    error(modern.send("tools/list", {"_meta": meta}), 400, -32602)


@pytest.mark.parametrize("version", ["2031-01-01", "2025-11-25", "", "x" * 500])
def test_a_version_that_is_not_served(modern: Modern, version: str) -> None:
    params = {"_meta": {**META, PROTOCOL_VERSION: version}}
    response = modern.send("tools/list", params, **{"MCP-Protocol-Version": version})
    said = error(response, 400, -32022)
    assert said["data"] == {"supported": [VERSION], "requested": version[:32]}


@pytest.mark.parametrize("version", ["2024-11-05", "2031-01-01"])
def test_a_header_alone_with_a_version_that_is_not_served(agent: Agent, version: str) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    response = agent.send("mcp/", message, headers={"MCP-Protocol-Version": version})
    assert error(response, 400, -32022)["data"]["supported"] == [VERSION]


def test_a_modern_header_without_what_the_body_has_to_say(agent: Agent) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    error(agent.send("mcp/", message, headers={"MCP-Protocol-Version": VERSION}), 400, -32602)


@pytest.mark.parametrize(
    "headers",
    [
        {"MCP-Protocol-Version": "2025-11-25"},
        {"MCP-Protocol-Version": "2031-01-01"},
        {"MCP-Protocol-Version": f"{VERSION},{VERSION}"},
        {"Mcp-Method": "tools/list"},
        {"Mcp-Method": "tools/Call"},
        {"Mcp-Method": ""},
        {"Mcp-Name": "recall"},
        {"Mcp-Name": ""},
        {"Mcp-Name": encoded("recall")},
        {"Mcp-Name": "=?base64?!?="},
        {"Mcp-Name": "=?base64?/w==?="},
        {"Mcp-Name": encoded("remember").replace("?=", "=?=")},
    ],
)
def test_headers_that_say_something_else(modern: Modern, headers: dict[str, str]) -> None:
    before = stored()
    arguments = {"key": "k", "summary": "s", "body": "b"}
    params = {"name": "remember", "arguments": arguments}
    error(modern.send("tools/call", params, **headers), 400, -32020)
    assert stored() == before


@pytest.mark.parametrize("missing", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
def test_headers_that_are_missing(agent: Agent, missing: str) -> None:
    params = {"_meta": META, "name": "recall", "arguments": {"key": "k"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "recall",
    }
    result(agent.send("mcp/", message, headers=headers))
    del headers[missing]
    error(agent.send("mcp/", message, headers=headers), 400, -32020)


def test_a_name_may_come_in_base64(modern: Modern) -> None:
    modern.call("remember", key="Zoë/日本", summary="s", body="b")
    uri = "memory://core/notes/Zoë/日本"
    found = modern.ask("resources/read", {"uri": uri}, **{"Mcp-Name": encoded(uri)})
    assert found["contents"] == [{"uri": uri, "mimeType": "text/plain", "text": "b"}]
    plain = {"name": "recall", "arguments": {"key": "k"}}
    modern.ask("tools/call", plain, **{"Mcp-Name": encoded("recall")})
