"""One memory for all: what one framework writes, every other way in sees."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.tools import ToolError
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client
from django.urls import reverse
from langgraph.func import entrypoint
from langgraph.store.base import BaseStore

from django_agent_memory import Memory
from django_agent_memory.adapters.anthropic import MemoryTool
from django_agent_memory.adapters.langgraph import AgentMemoryStore
from django_agent_memory.adapters.pydantic_ai import NoteStore
from django_agent_memory.admin import links
from django_agent_memory.models import Note
from tests.admin.browser import fields_of
from tests.api.conftest import Agent

pytestmark = pytest.mark.django_db(transaction=True)


def test_written_by_one_edited_by_another_searched_over_http_restored_in_the_admin() -> None:
    store = NoteStore(Memory("core", actor="pydantic"))
    tool = MemoryTool(Memory("core", actor="claude"))
    browser = Client()
    browser.force_login(User.objects.create_superuser("ada", "", "pw"))

    async_to_sync(store.write)("main/MEMORY.md", "likes tea\n", expected_version=None)
    edit = {"command": "str_replace", "path": "/memories/main/MEMORY.md"}
    tool.call({**edit, "old_str": "tea", "new_str": "coffee"})

    found = Agent().call("search", pattern="coffee").json()
    assert [match["key"] for match in found["matches"]] == ["main/MEMORY.md"]
    seen = async_to_sync(store.read)("main/MEMORY.md", max_chars=99)
    assert (seen.content, seen.version) == ("likes coffee\n", "2")

    note = Note.objects.get(key="main/MEMORY.md")
    page = browser.get(reverse("admin:agent_memory_note_change", args=[note.pk]))
    assert "likes coffee" in page.content.decode()
    restore(browser, "main/MEMORY.md", 1)

    assert tool.call({"command": "view", "path": "/memories/main/MEMORY.md"}).splitlines()[1:] == [
        "     1\tlikes tea",
        "     2\t",
    ]
    with pytest.raises(ToolError, match="did not appear verbatim"):
        tool.call({**edit, "old_str": "coffee", "new_str": "x"})
    actors = [line.actor for line in Memory("core").history("main/MEMORY.md")]
    assert actors[:2] == ["pydantic", "claude"]
    assert "ada" in actors[2]


def test_a_graph_writes_the_tool_edits_mcp_reads_http_searches_the_admin_restores() -> None:
    @entrypoint(store=AgentMemoryStore("team", actor="graph"))
    def graph(fact: str, *, store: BaseStore) -> None:
        store.put(("ann",), "drinks", {"content": fact})
        connections.close_all()  # those of the graph's own thread

    tool = MemoryTool(Memory("team/ann", actor="claude"))
    browser = Client()
    browser.force_login(User.objects.create_superuser("ada", "", "pw"))
    agent = Agent(workspace="team/ann", name="reader")

    graph.invoke("Ann drinks tea.")
    edit = {"command": "str_replace", "path": "/memories/drinks"}
    tool.call({**edit, "old_str": "tea", "new_str": "coffee"})
    assert by_mcp(agent, "recall", key="drinks")["content"][0]["text"] == "Ann drinks coffee."
    found = agent.call("search", pattern="COFFEE").json()
    assert [match["key"] for match in found["matches"]] == ["drinks"]
    restore(browser, "drinks", 1, path="team/ann")

    assert by_mcp(agent, "recall", key="drinks")["structuredContent"]["body"] == "Ann drinks tea."
    kept = AgentMemoryStore("team").get(("ann",), "drinks")
    assert kept is not None
    assert kept.value == {"content": "Ann drinks tea."}
    actors = [line.actor for line in Memory("team/ann").history("drinks")]
    assert actors[:2] == ["graph", "claude"]
    assert "ada" in actors[2]


def by_mcp(agent: Agent, tool: str, **arguments: Any) -> Any:
    params = {"name": tool, "arguments": arguments}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return agent.send("mcp/", call).json()["result"]


def restore(browser: Client, key: str, number: int, *, path: str = "core") -> Any:
    at = links.to_past("admin", "restore", path, key, revision=number)
    done = browser.post(at, fields_of(browser.get(at)), follow=True)
    assert done.status_code == 200
    return done
