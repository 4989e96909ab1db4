"""Agents of pydantic-ai with the harness's memory over a NoteStore; the models are scripted."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai_harness import Memory as Notebook

from django_agent_memory import Memory
from django_agent_memory.adapters.pydantic_ai import NoteStore

pytestmark = pytest.mark.django_db(transaction=True)


def notebook() -> Notebook[Any]:
    return Notebook(
        NoteStore(Memory("core", actor="agent")), namespace="acme", injection_errors="raise"
    )


def scripted(*calls: tuple[str, dict[str, Any]]) -> FunctionModel:
    """Return a model that makes the calls one after another."""

    def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        done = sum(isinstance(message, ModelResponse) for message in messages)
        if done >= len(calls):
            return ModelResponse(parts=[TextPart("done")])
        name, arguments = calls[done]
        return ModelResponse(parts=[ToolCallPart(name, arguments, tool_call_id=f"call-{done}")])

    return FunctionModel(answer)


def run(model: Any, prompt: str = "Hello") -> list[ModelMessage]:
    agent = Agent(model, capabilities=[notebook()])
    result = async_to_sync(agent.run)(prompt)
    return list(result.all_messages())


def returned(messages: list[ModelMessage]) -> list[Any]:
    parts = (part for message in messages for part in message.parts)
    return [part.content for part in parts if isinstance(part, ToolReturnPart)]


def test_an_agent_writes_corrects_searches_reads_and_deletes() -> None:
    messages = run(
        scripted(
            ("write_memory", {"content": "- likes tea"}),
            ("write_memory", {"content": "coffee", "old_text": "tea"}),
            ("write_memory", {"content": "use pg_dump", "file": "backup"}),
            ("search_memory", {"query": "PG_DUMP"}),
            ("read_memory", {"file": "backup.md"}),
            ("delete_memory", {"file": "backup.md"}),
        )
    )
    created, updated, other, found, read, deleted = returned(messages)
    assert [part["status"] for part in (created, updated, other)] == [
        "created",
        "updated",
        "created",
    ]
    assert [part["version"] for part in (created, updated, other)] == ["1", "2", "3"]
    assert [match["file"] for match in found["matches"]] == ["backup.md"]
    assert read == "use pg_dump\n"
    assert deleted["status"] == "deleted"
    assert Memory("core").items() == (("acme/main/MEMORY.md", "- likes coffee\n"),)
    assert [line.actor for line in Memory("core").history("acme/main/backup.md")] == ["agent"] * 2


def test_the_next_run_is_told_what_the_last_one_wrote() -> None:
    run(scripted(("write_memory", {"content": "- likes tea"})))
    assert "likes tea" in str(run(TestModel(call_tools=[])))


def test_what_people_wrote_is_told_as_well() -> None:
    Memory("core").remember("acme/main/MEMORY.md", "By hand", "- is called Ada\n")
    assert "is called Ada" in str(run(TestModel(call_tools=[])))


def test_every_tool_can_be_called_with_what_its_schema_allows() -> None:
    Memory("core").remember("acme/main/a.md", None, "a")
    run(TestModel(call_tools=["write_memory", "search_memory"]))
    assert Memory("core").recall("acme/main/MEMORY.md").body == "a\n"
