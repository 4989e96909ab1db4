"""The SDK's own tool runners with the memory tool; only the model is scripted."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.tools import ToolError
from asgiref.sync import async_to_sync
from django.db import connections

from django_agent_memory import Memory
from django_agent_memory.adapters.anthropic import AsyncMemoryTool, MemoryTool

from .scripted import ScriptedModel

TURNS: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/user.md", "file_text": "Alice\nlikes tea\n"},
    {"command": "str_replace", "path": "/memories/user.md", "old_str": "tea", "new_str": "coffee"},
    {"command": "insert", "path": "/memories/user.md", "insert_line": 2, "insert_text": "is here"},
    {"command": "rename", "old_path": "/memories/user.md", "new_path": "/memories/u/alice.md"},
    {"command": "view", "path": "/memories/u/alice.md", "view_range": [2, 3]},
    {"command": "delete", "path": "/memories/none"},
    {"command": "shred", "path": "/memories/u"},
]
SAID = [
    "Here're the files and directories up to 2 levels deep in /memories, "
    "excluding hidden items and node_modules:\n0B\t/memories",
    "File created successfully at: /memories/user.md",
    "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
    "     1\tAlice\n     2\tlikes coffee\n     3\t",
    "The file /memories/user.md has been edited.",
    "Successfully renamed /memories/user.md to /memories/u/alice.md",
    "Here's the content of /memories/u/alice.md with line numbers:\n"
    "     2\tlikes coffee\n     3\tis here",
    "The path /memories/none does not exist",
    "There is no command 'shred'; the commands are: "
    "view, create, str_replace, insert, delete, rename.",
]
ASK: dict[str, Any] = {
    "model": "scripted",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Hello"}],
}


def texts(model: ScriptedModel) -> list[str]:
    return [
        result["content"]
        if isinstance(result["content"], str)
        else "".join(block["text"] for block in result["content"])
        for result in model.results
    ]


def check(model: ScriptedModel) -> None:
    assert model.requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert texts(model) == SAID
    assert [bool(result.get("is_error")) for result in model.results] == [False] * 6 + [True] * 2
    assert Memory("core").items() == (("u/alice.md", "Alice\nlikes coffee\nis here\n"),)
    assert Memory("core").index_note() == "[memory index]\n- u/alice.md: Alice"


@pytest.mark.django_db
def test_the_runner_of_the_client() -> None:
    model = ScriptedModel(TURNS)
    client = Anthropic(api_key="none", http_client=httpx2.Client(transport=model))
    tool = MemoryTool(Memory("core", actor="claude"))
    last = client.beta.messages.tool_runner(**ASK, tools=[tool]).until_done()
    assert last.content[0].text == "done"
    check(model)


@pytest.mark.django_db(transaction=True)
def test_the_runner_of_the_async_client() -> None:
    model = ScriptedModel(TURNS)

    async def run() -> str:
        http = httpx2.AsyncClient(transport=model)
        client = AsyncAnthropic(api_key="none", http_client=http)
        tool = AsyncMemoryTool(Memory("core", actor="claude"))
        last = await client.beta.messages.tool_runner(**ASK, tools=[tool]).until_done()
        return str(last.content[0].text)

    assert async_to_sync(run)() == "done"
    check(model)


@pytest.mark.django_db(transaction=True)
def test_the_async_tool_does_the_same_by_its_methods() -> None:
    async def run() -> None:
        tool = AsyncMemoryTool(Memory("core"), cache_control={"type": "ephemeral"})
        assert tool.to_dict()["cache_control"] == {"type": "ephemeral"}
        made = await tool.execute({"command": "create", "path": "/memories/a", "file_text": "x"})
        assert made == "File created successfully at: /memories/a"
        assert (await tool.view({"command": "view", "path": "/memories/a"})).endswith("x")
        with pytest.raises(ToolError):
            await tool.call({"command": "view", "path": "/memories/b"})
        with pytest.raises(ToolError):
            await tool.call(None)
        assert await tool.clear_all_memory() == "All memory cleared"

    async_to_sync(run)()
    assert Memory("core").keys() == ()


@pytest.mark.django_db
def test_what_is_no_sentence_of_the_memory_is_raised_as_it_is() -> None:
    """The runner reports it; the tool must not hide that a database is gone."""
    tool = MemoryTool(Memory("core", using="nowhere"))
    with pytest.raises(connections.exception_class):
        tool.call({"command": "view", "path": "/memories"})
