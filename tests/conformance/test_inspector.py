"""The inspector's command line, as clients of either era and over both transports."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.api.live.mcp import Endpoint

from .conftest import Node

CORE = ["remember", "recall", "forget", "list_memories", "search"]
VERSIONS = {"modern": "2026-07-28", "legacy": "2025-11-25", "auto": "2026-07-28"}

Inspect = Callable[..., Any]

# What the engine answers is the same under every server; the conformance suite asks both kinds.
pytestmark = pytest.mark.parametrize("endpoint", ["sync"], indirect=True)


@pytest.fixture(params=["http", "stdio"])
def target(request: pytest.FixtureRequest, endpoint: Endpoint) -> list[str]:
    """What names the server. A bare word after an address is refused as its argument."""
    if request.param == "http":
        authorization = f"Authorization: {endpoint.headers['Authorization']}"
        return [endpoint.url, "--transport", "http", "--header", authorization]
    names = ("DJANGO_SETTINGS_MODULE", "AGENT_MEMORY_LIVE_DB", "AGENT_MEMORY_TEST_DB")
    environment = endpoint.server.environment
    settings = [f"{name}={environment[name]}" for name in names if name in environment]
    served = [sys.executable, "manage.py", "memory_mcp", "core", "scribe"]
    return [part for setting in settings for part in ("-e", setting)] + served


@pytest.fixture(params=["modern", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def inspect(node: Node, target: list[str], era: str) -> Inspect:
    def run(method: str, *options: str) -> Any:
        done = inspected(node, target, era, "--method", method, *options)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)["result"]

    return run


def inspected(node: Node, target: list[str], era: str, *options: str) -> Any:
    script = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    era_options = ("--protocol-era", era, "--format", "json")
    return node.run(script, "--cli", *target, *era_options, *options)


def called(inspect: Inspect, name: str, **arguments: Any) -> Any:
    options = ("--tool-name", name, "--tool-args-json", json.dumps(arguments))
    return inspect("tools/call", *options)


@pytest.mark.parametrize("era", VERSIONS, indirect=True)
def test_strict_finds_nothing_in_the_schemas(node: Node, target: list[str], era: str) -> None:
    done = inspected(node, target, era, "--method", "tools/list", "--strict")
    assert (done.returncode, done.stderr) == (0, "")
    assert [tool["name"] for tool in json.loads(done.stdout)["result"]["tools"]] == CORE


@pytest.mark.parametrize("era", VERSIONS, indirect=True)
def test_the_era_is_the_one_asked_for(inspect: Inspect, era: str) -> None:
    said = inspect("initialize")
    assert said["protocolVersion"] == VERSIONS[era]
    assert said["serverInfo"]["name"] == "django-agent-memory"
    assert said["instructions"].startswith("This is a memory that outlasts")


def test_a_note_is_saved_read_and_forgotten(inspect: Inspect, era: str) -> None:
    key = f"inspector/{era}"
    saved = called(inspect, "remember", key=key, summary="Zoë likes tea", body={"sugar": None})
    assert saved["structuredContent"]["outcome"] == "created"
    recalled = called(inspect, "recall", key=key)
    assert recalled["content"] == [{"type": "text", "text": '{"sugar":null}'}]
    assert recalled["structuredContent"]["body"] == {"sugar": None}
    (index,) = inspect("resources/read", "--uri", "memory://core/index")["contents"]
    assert f"- {key}: Zoë likes tea" in index["text"]
    (note,) = inspect("resources/read", "--uri", f"memory://core/notes/{key}")["contents"]
    assert (note["mimeType"], note["text"]) == ("application/json", '{"sugar":null}')
    (message,) = inspect("prompts/get", "--prompt-name", "memory_index")["messages"]
    assert f"- {key}: Zoë likes tea" in message["content"]["text"]
    forgot = called(inspect, "forget", key=key)
    assert forgot["structuredContent"]["outcome"] == "forgot"


@pytest.mark.parametrize("target", ["http"], indirect=True)
def test_what_there_is_is_listed(inspect: Inspect) -> None:
    (resource,) = inspect("resources/list")["resources"]
    assert resource["uri"] == "memory://core/index"
    (template,) = inspect("resources/templates/list")["resourceTemplates"]
    assert template["uriTemplate"] == "memory://core/notes/{+key}"
    (prompt,) = inspect("prompts/list")["prompts"]
    assert prompt["name"] == "memory_index"


def test_what_a_tool_refuses_is_a_result_that_says_so(
    node: Node, target: list[str], era: str
) -> None:
    call = ("--method", "tools/call", "--tool-name", "remember", "--tool-arg", "key=k")
    done = inspected(node, target, era, *call)
    result = json.loads(done.stdout)["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"] == "remember needs the argument 'summary'."
    assert (done.returncode, json.loads(done.stderr)["error"]["code"]) == (5, "tool_is_error")
