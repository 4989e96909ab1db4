"""The `mcp` package of version 1, which shakes hands."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from .conftest import MCP, Endpoint

if MCP > 1:
    pytest.skip("this environment has a later client", allow_module_level=True)

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.types import PromptReference, ResourceTemplateReference, TextContent
from pydantic import AnyUrl

CORE = ["remember", "recall", "forget", "list_memories", "search"]


@asynccontextmanager
async def over_http(endpoint: Endpoint) -> AsyncIterator[ClientSession]:
    async with (
        create_mcp_http_client(headers=endpoint.headers) as http,
        streamable_http_client(endpoint.url, http_client=http) as (read, write, session_id),
        ClientSession(read, write) as session,
    ):
        initialized = await session.initialize()
        assert initialized.protocolVersion == "2025-11-25"
        assert initialized.serverInfo.name == "django-agent-memory"
        assert session_id() is None
        yield session


async def use_everything(session: ClientSession, key: str) -> None:
    """Use all that there is, and end with nothing saved."""
    await session.send_ping()
    tools = (await session.list_tools()).tools
    assert [tool.name for tool in tools] == CORE
    note = {"key": key, "summary": "Zoë likes tea", "body": {"sugar": None}}
    saved = await session.call_tool("remember", note)
    assert saved.structuredContent is not None
    assert saved.structuredContent["outcome"] == "created"
    recalled = await session.call_tool("recall", {"key": key})
    assert recalled.content == [TextContent(type="text", text='{"sugar":null}')]
    for name, arguments in [
        ("recall", {"key": "nowhere"}),
        ("search", {"pattern": "TEA"}),
        ("list_memories", {}),
    ]:
        told = await session.call_tool(name, arguments)
        assert told.isError is False
    refused = await session.call_tool("remember", {"key": key})
    assert refused.isError is True
    with pytest.raises(McpError, match="There is no tool 'erase'; yours are: remember, "):
        await session.call_tool("erase", {})

    (index,) = (await session.list_resources()).resources
    (text,) = (await session.read_resource(index.uri)).contents
    assert f"- {key}: Zoë likes tea" in text.text
    (body,) = (await session.read_resource(AnyUrl(f"memory://core/notes/{key}"))).contents
    assert (body.mimeType, body.text) == ("application/json", '{"sugar":null}')
    with pytest.raises(McpError, match="no memory is saved under"):
        await session.read_resource(AnyUrl("memory://core/notes/nowhere"))
    (template,) = (await session.list_resource_templates()).resourceTemplates
    reference = ResourceTemplateReference(type="ref/resource", uri=template.uriTemplate)
    completed = await session.complete(reference, {"name": "key", "value": key[:4]})
    assert key in completed.completion.values
    prompt_reference = PromptReference(type="ref/prompt", name="memory_index")
    with pytest.raises(McpError, match="Nothing but the key of a note"):
        await session.complete(prompt_reference, {"name": "key", "value": ""})

    (prompt,) = (await session.list_prompts()).prompts
    told = await session.get_prompt(prompt.name)
    assert isinstance(told.messages[0].content, TextContent)
    assert "Zoë likes tea" in told.messages[0].content.text
    forgot = await session.call_tool("forget", {"key": key})
    assert forgot.structuredContent is not None
    assert forgot.structuredContent["outcome"] == "forgot"


def test_everything(endpoint: Endpoint) -> None:
    async def run() -> None:
        async with over_http(endpoint) as session:
            await use_everything(session, "clients/Zoë")

    asyncio.run(run())


def test_twenty_calls_at_once(endpoint: Endpoint) -> None:
    async def run() -> None:
        async with over_http(endpoint) as session:
            notes = [{"key": f"many/{n}", "summary": "s", "body": str(n)} for n in range(20)]
            saved = await asyncio.gather(*(session.call_tool("remember", n) for n in notes))
            assert [told.isError for told in saved] == [False] * 20
            keys = [{"key": note["key"]} for note in notes]
            read = await asyncio.gather(*(session.call_tool("recall", key) for key in keys))
            assert [told.content[0].text for told in read] == [str(n) for n in range(20)]

    asyncio.run(run())


def test_stdio(endpoint: Endpoint) -> None:
    if endpoint.server.kind == "uvicorn":
        pytest.skip("no server takes part")
    command = StdioServerParameters(
        command=sys.executable,
        args=["manage.py", "memory_mcp", "core", "scribe"],
        env=endpoint.server.environment,
    )

    async def run() -> None:
        async with stdio_client(command) as streams, ClientSession(*streams) as session:
            await session.initialize()
            await use_everything(session, "stdio/Zoë")

    asyncio.run(run())
