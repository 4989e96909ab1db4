"""langchain-mcp-adapters: the tools as LangChain has them, the index as a message and a blob."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from .conftest import Endpoint

pytest.importorskip("langchain_mcp_adapters")

from langchain_mcp_adapters.client import MultiServerMCPClient


def client_of(endpoint: Endpoint) -> MultiServerMCPClient:
    connection: Any = {
        "transport": "streamable_http",
        "url": endpoint.url,
        "headers": endpoint.headers,
    }
    return MultiServerMCPClient({"memory": connection})


def test_tools_resources_and_prompt(endpoint: Endpoint) -> None:
    async def run() -> None:
        client = client_of(endpoint)
        tools = {tool.name: tool for tool in await client.get_tools()}
        assert list(tools) == ["remember", "recall", "forget", "list_memories", "search"]
        note = {"key": "langchain/tea", "summary": "Green tea", "body": "No sugar."}
        assert "saved" in str(await tools["remember"].ainvoke(note))
        assert "No sugar." in str(await tools["recall"].ainvoke({"key": "langchain/tea"}))
        (index,) = await client.get_resources("memory")
        assert "- langchain/tea: Green tea" in index.as_string()
        (message,) = await client.get_prompt("memory", "memory_index")
        assert "- langchain/tea: Green tea" in str(message.content)

    asyncio.run(run())


def test_what_is_refused_is_one_sentence(endpoint: Endpoint) -> None:
    async def run() -> None:
        tools = {tool.name: tool for tool in await client_of(endpoint).get_tools()}
        refused = await tools["recall"].ainvoke({"key": ""})
        assert "The key is empty; give it 1 or more characters." in str(refused)

    asyncio.run(run())
