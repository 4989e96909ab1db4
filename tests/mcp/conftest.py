"""A client of each era, and what every answer has to be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from django_agent_memory.mcp.wire import CLIENT_CAPABILITIES, NAMED_BY, PROTOCOL_VERSION
from tests.api.conftest import Agent

VERSION = "2026-07-28"
META = {PROTOCOL_VERSION: VERSION, CLIENT_CAPABILITIES: {}}


class Modern:
    """Says its version in every request, in the body and in the headers."""

    def __init__(self, agent: Agent, address: str = "mcp/") -> None:
        self.agent, self.address = agent, address

    def send(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> Any:
        """Return the response to a fit request; `headers` are sent beside or instead."""
        params = {"_meta": META, **(params or {})}
        said = {"MCP-Protocol-Version": VERSION, "Mcp-Method": method}
        if method in NAMED_BY and isinstance(params.get(NAMED_BY[method]), str):
            said["Mcp-Name"] = params[NAMED_BY[method]]
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.agent.send(self.address, message, headers={**said, **headers})

    def ask(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> Any:
        """Return the result."""
        return result(self.send(method, params, **headers))

    def call(self, tool: str, **arguments: Any) -> Any:
        """Return the result of a tool."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})


class Handshaken(Modern):
    """Shook hands once, and says the version in a header."""

    def send(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        said = {"MCP-Protocol-Version": "2025-11-25", **headers}
        return self.agent.send(self.address, message, headers=said)


def result(response: Any) -> Any:
    """Return the result in the response, which has to be one."""
    assert response.status_code == 200, response.content
    answer = json.loads(response.content)
    assert answer.keys() == {"jsonrpc", "id", "result"}, answer
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 1)
    return answer["result"]


def error(response: Any, status: int, code: int, *, id_: Any = 1) -> Any:
    """Return the error in the response, once it is as JSON-RPC has it and says one sentence."""
    assert response.status_code == status, (response.status_code, response.content[:500])
    assert response["Content-Type"] == "application/json"
    answer = json.loads(response.content)
    assert answer.keys() == {"jsonrpc", "id", "error"}, answer
    assert answer["jsonrpc"] == "2.0"
    assert (answer["id"], answer["error"]["code"]) == (id_, code), answer
    message = answer["error"]["message"]
    assert 0 < len(message) <= 300
    assert message.endswith((".", "?", ".)")), message
    assert "Traceback" not in message
    return answer["error"]


@pytest.fixture
def modern(agent: Agent) -> Modern:
    return Modern(agent)


@pytest.fixture
def handshaken(agent: Agent) -> Handshaken:
    return Handshaken(agent)


@pytest.fixture(params=[Modern, Handshaken])
def client(request: pytest.FixtureRequest, agent: Agent) -> Modern:
    """A client of either era."""
    made: Modern = request.param(agent)
    return made


@pytest.fixture
def agent(db: None) -> Agent:
    """An agent with a key to all of `core`, used a moment ago."""
    agent = Agent()
    agent.get("tools/")
    return agent
