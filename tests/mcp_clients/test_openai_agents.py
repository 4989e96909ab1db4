"""OpenAI's agents: its own MCP server class, and a run of an agent with a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from .conftest import Endpoint

pytest.importorskip("agents")

from agents import Agent, Runner, set_tracing_disabled
from agents.items import ModelResponse
from agents.mcp import MCPServerStreamableHttp
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

set_tracing_disabled(True)

# What it says of itself with version 1 of mcp.
pytestmark = pytest.mark.filterwarnings("ignore:Use `streamable_http_client` instead")


@asynccontextmanager
async def server_of(endpoint: Endpoint) -> AsyncIterator[MCPServerStreamableHttp]:
    params: Any = {"url": endpoint.url, "headers": endpoint.headers, "timeout": 30}
    async with MCPServerStreamableHttp(params, client_session_timeout_seconds=30) as server:
        yield server


class Scripted(Model):
    """Answers with what it was given, and keeps what it was told."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.told: list[Any] = []
        self.tools: list[str] = []

    async def get_response(self, **asked: Any) -> Any:
        self.told = [item for item in asked["input"] if isinstance(item, dict)]
        self.tools = [tool.name for tool in asked["tools"]]
        return ModelResponse(output=[self.answers.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def called(name: str, **arguments: Any) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call", call_id=f"call-{name}", name=name, arguments=json.dumps(arguments)
    )


def said(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id="1", type="message", role="assistant", status="completed", content=[content]
    )


def test_the_server_class(endpoint: Endpoint) -> None:
    async def run() -> None:
        async with server_of(endpoint) as server:
            tools = await server.list_tools()
            assert [tool.name for tool in tools][:2] == ["remember", "recall"]
            note = {"key": "openai/tea", "summary": "Green tea", "body": "No sugar."}
            saved = await server.call_tool("remember", note)
            assert saved.content[0].text == 'saved "openai/tea".'
            recalled = await server.call_tool("recall", {"key": "openai/tea"})
            assert recalled.content[0].text == "No sugar."
            prompt = await server.get_prompt("memory_index")
            assert "- openai/tea: Green tea" in prompt.messages[0].content.text

    asyncio.run(run())


def test_an_agent_remembers_and_recalls(endpoint: Endpoint) -> None:
    model = Scripted(
        called("remember", key="openai/cat", summary="Has a cat", body="Called Miso."),
        called("recall", key="openai/cat"),
        said("The cat is called Miso."),
    )

    async def run() -> str:
        async with server_of(endpoint) as server:
            agent = Agent(name="desk", model=model, mcp_servers=[server])
            return str((await Runner.run(agent, "What is my cat called?")).final_output)

    assert asyncio.run(run()) == "The cat is called Miso."
    outputs = [item["output"] for item in model.told if item.get("type") == "function_call_output"]
    assert "Called Miso." in str(outputs[-1])
    assert model.tools == ["remember", "recall", "forget", "list_memories", "search"]
