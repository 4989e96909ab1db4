"""Agents of LangGraph and the tools of LangMem on the store, with scripted models."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from django_agent_memory import Memory
from django_agent_memory.adapters.langgraph import AgentMemoryStore

from .langmem_tools import create_manage_memory_tool, create_search_memory_tool

pytestmark = pytest.mark.django_db(transaction=True)
NAMESPACE = ("users", "{user}")
CONFIG: Any = {"configurable": {"user": "ann"}}


class Scripted(GenericFakeChatModel):
    """A model that says what it is told to, whatever tools it is given."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


def scripted(*messages: AIMessage) -> Scripted:
    return Scripted(messages=iter(messages))


def calls(tool: str, **arguments: Any) -> AIMessage:
    """Return what a model says that calls a tool."""
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": "call-1"}])


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run it, and close the connections of the thread that its statements ran in."""

    async def whole() -> Any:
        try:
            return await work
        finally:
            await sync_to_async(connections.close_all)()

    return asyncio.run(whole())


@pytest.fixture
def store() -> AgentMemoryStore:
    return AgentMemoryStore("agents", actor="planner")


def test_a_graph_reads_and_writes_the_memory(store: AgentMemoryStore) -> None:
    model = scripted(AIMessage("Hello Ann, tea as always?"))

    async def answer(state: MessagesState, runtime: Runtime) -> Any:
        known = await runtime.store.asearch(("users", "ann"), query="What does she drink?")
        said = await model.ainvoke([item.value["content"] for item in known])
        await runtime.store.aput(("users", "ann"), "last", {"content": said.content})
        return {"messages": [said]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    graph = builder.compile(store=store)
    Memory("agents/users/ann").remember("drinks", "What she drinks", "Ann drinks tea.")

    result = run(graph.ainvoke({"messages": [("user", "Hi")]}))

    assert result["messages"][-1].content == "Hello Ann, tea as always?"
    (revision,) = Memory("agents/users/ann").history("last")
    assert (revision.body, revision.actor) == ("Hello Ann, tea as always?", "planner")


def agent(store: AgentMemoryStore, *messages: AIMessage) -> Any:
    tools = [create_manage_memory_tool(NAMESPACE), create_search_memory_tool(NAMESPACE)]
    return create_agent(scripted(*messages), tools=tools, store=store)


def ask(runs: Any) -> Any:
    """Return what the tool answered."""
    asked = {"messages": [{"role": "user", "content": "go on"}]}
    return run(runs.ainvoke(asked, CONFIG))["messages"][-2].content


def test_an_agent_uses_the_tools_of_langmem(store: AgentMemoryStore) -> None:
    done = AIMessage("Done.")
    created = ask(agent(store, calls("manage_memory", content="Ann likes green tea."), done))
    assert created.startswith("created memory ")
    ident = created.split()[-1]
    memory = Memory("agents/users/ann")
    assert memory.recall(ident).body == "Ann likes green tea."

    found = ask(agent(store, calls("search_memory", query="which tea"), done))
    assert [(hit["key"], hit["value"]) for hit in json.loads(found)] == [
        (ident, {"content": "Ann likes green tea."})
    ]

    change = calls("manage_memory", action="update", id=ident, content="Ann likes oolong.")
    assert ask(agent(store, change, done)) == f"updated memory {ident}"
    assert memory.recall(ident).body == "Ann likes oolong."

    gone = calls("manage_memory", action="delete", id=ident)
    assert ask(agent(store, gone, done)) == f"Deleted memory {ident}"
    assert memory.recall(ident) is None
    assert [one.operation for one in memory.history(ident)] == ["remember", "remember", "forget"]

    memory.restore(ident, 1)
    assert store.get(("users", "ann"), ident).value == {"content": "Ann likes green tea."}


def test_the_tools_of_langmem_run_without_a_graph(store: AgentMemoryStore) -> None:
    manage = create_manage_memory_tool(("users", "bob"), store=store)
    search = create_search_memory_tool(("users",), store=store)
    manage.invoke({"content": "Bob plays chess."})
    facts = create_manage_memory_tool(("users", "bob"), store=store, schema=dict)
    facts.invoke({"content": {"team": "red", "since": 2024}})
    assert [hit["value"] for hit in json.loads(search.invoke({"query": "chess"}))] == [
        {"content": "Bob plays chess."}
    ]
    asked = {"query": "", "filter": {"content": {"since": {"$gt": 2023}}}}
    assert [hit["value"] for hit in json.loads(search.invoke(asked))] == [
        {"content": {"team": "red", "since": 2024}}
    ]


def test_every_verb_of_a_store_can_be_awaited(store: AgentMemoryStore) -> None:
    async def use() -> None:
        await asyncio.gather(*(store.aput(("n",), f"k{i}", {"i": i}) for i in range(10)))
        assert (await store.aget(("n",), "k3")).value == {"i": 3}
        await store.adelete(("n",), "k3")
        assert await store.aget(("n",), "k3") is None
        assert len(await store.asearch(("n",))) == 9
        assert await store.alist_namespaces(prefix=("n",)) == [("n",)]

    run(use())
    assert Memory("agents/n").revision() == 11
