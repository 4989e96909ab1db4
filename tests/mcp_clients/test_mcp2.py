"""The `mcp` package from version 2 on: finding out the era, shaking hands, pinned to one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from .conftest import MCP, Endpoint

if MCP < 2:
    pytest.skip("this environment has the client of version 1", allow_module_level=True)

import mcp_types as types
from mcp import MCPError, StdioServerParameters
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

MODES = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
CORE = ["remember", "recall", "forget", "list_memories", "search"]

pytestmark = pytest.mark.parametrize("mode", MODES)


@asynccontextmanager
async def over_http(endpoint: Endpoint, mode: str) -> AsyncIterator[Client]:
    async with create_mcp_http_client(headers=endpoint.headers) as http:
        transport = streamable_http_client(endpoint.url, http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


def with_client(endpoint: Endpoint, mode: str, use: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        async with over_http(endpoint, mode) as client:
            await use(client)

    asyncio.run(run())


async def use_everything(client: Client, key: str) -> None:
    """Use all that there is, and end with nothing saved."""
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == CORE
    assert tools[1].annotations is not None
    assert tools[1].annotations.read_only_hint is True

    note = {"key": key, "summary": "Zoë likes tea", "body": {"sugar": None}}
    saved = await client.call_tool("remember", note)
    assert saved.structured_content["outcome"] == "created"
    again = await client.call_tool("remember", note)
    assert again.structured_content["outcome"] == "unchanged"

    recalled = await client.call_tool("recall", {"key": key})
    assert recalled.content == [types.TextContent(text='{"sugar":null}')]
    assert recalled.structured_content["body"] == {"sugar": None}
    for name, arguments in [
        ("recall", {"key": "nowhere"}),
        ("search", {"pattern": "TEA"}),
        ("list_memories", {}),
    ]:
        told = await client.call_tool(name, arguments)
        assert told.is_error is False
    refused = await client.call_tool("remember", {"key": key})
    assert refused.is_error is True
    assert refused.content == [types.TextContent(text="remember needs the argument 'summary'.")]
    with pytest.raises(MCPError, match="There is no tool 'erase'; yours are: remember, "):
        await client.call_tool("erase", {})

    (index,) = (await client.list_resources()).resources
    assert index.uri == "memory://core/index"
    assert index.annotations == types.Annotations(audience=["assistant"], priority=1.0)
    (text,) = (await client.read_resource(index.uri)).contents
    assert f"- {key}: Zoë likes tea" in text.text
    (template,) = (await client.list_resource_templates()).resource_templates
    reference = types.ResourceTemplateReference(uri=template.uri_template)
    completed = await client.complete(reference, {"name": "key", "value": key[:4]})
    assert key in completed.completion.values
    (body,) = (await client.read_resource(f"memory://core/notes/{key}")).contents
    assert (body.mime_type, body.text) == ("application/json", '{"sugar":null}')
    with pytest.raises(MCPError, match="no memory is saved under"):
        await client.read_resource("memory://core/notes/nowhere")

    (prompt,) = (await client.list_prompts()).prompts
    told = await client.get_prompt(prompt.name)
    assert "Zoë likes tea" in told.messages[0].content.text

    forgot = await client.call_tool("forget", {"key": key})
    assert forgot.structured_content["outcome"] == "forgot"


def test_everything(endpoint: Endpoint, mode: str) -> None:
    async def use(client: Client) -> None:
        assert client.protocol_version == MODES[mode]
        if mode != "2026-07-28":  # a pinned client asks for nothing first
            assert client.instructions.startswith("This is a memory that outlasts")
            assert client.server_info.name == "django-agent-memory"
        await use_everything(client, f"clients/{mode}/Zoë")

    with_client(endpoint, mode, use)


def test_twenty_calls_at_once(endpoint: Endpoint, mode: str) -> None:
    async def use(client: Client) -> None:
        notes = [{"key": f"{mode}/{n}", "summary": "s", "body": str(n)} for n in range(20)]
        saved = await asyncio.gather(*(client.call_tool("remember", note) for note in notes))
        assert [told.structured_content["outcome"] for told in saved] == ["created"] * 20
        keys = [{"key": note["key"]} for note in notes]
        read = await asyncio.gather(*(client.call_tool("recall", key) for key in keys))
        assert [told.content[0].text for told in read] == [str(n) for n in range(20)]
        await asyncio.gather(*(client.call_tool("forget", key) for key in keys))

    with_client(endpoint, mode, use)


def test_a_wrong_key_is_an_error_of_the_client(endpoint: Endpoint, mode: str) -> None:
    async def run() -> None:
        async with create_mcp_http_client(headers={"Authorization": "Bearer dam_no"}) as http:
            transport = streamable_http_client(endpoint.url, http_client=http)
            async with Client(transport, mode=mode) as client:
                await client.list_tools()

    with pytest.raises(ExceptionGroup) as raised:
        asyncio.run(run())
    error: BaseException = raised.value
    while isinstance(error, BaseExceptionGroup):
        (error,) = error.exceptions
    assert isinstance(error, MCPError)
    assert error.error.message == "This agent key is unknown."


def test_stdio(endpoint: Endpoint, mode: str) -> None:
    if endpoint.server.kind == "uvicorn":
        pytest.skip("no server takes part")
    command = StdioServerParameters(
        command=sys.executable,
        args=["manage.py", "memory_mcp", "core", "scribe"],
        env=endpoint.server.environment,
    )

    async def run() -> None:
        async with Client(command, mode=mode) as client:
            assert client.protocol_version == MODES[mode]
            await use_everything(client, f"stdio/{mode}/Zoë")

    asyncio.run(run())


def test_idempotency(endpoint: Endpoint, mode: str) -> None:
    meta: Any = {"django-agent-memory/idempotency-key": f"{endpoint.server.kind}-{mode}"}

    async def use(client: Client) -> None:
        for replayed in (None, True):
            told = await client.call_tool(
                "remember", {"key": f"once/{mode}", "summary": "s", "body": "b"}, meta=meta
            )
            assert told.structured_content["outcome"] == "created"
            found = (told.meta or {}).get("django-agent-memory/idempotency-replayed")
            assert found is replayed

    with_client(endpoint, mode, use)
