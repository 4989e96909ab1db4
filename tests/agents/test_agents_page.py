"""docs/agents.md: its blocks run, and what they define works with scripted models."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from agents import Model, ModelResponse, Runner, Usage, set_tracing_disabled
from anthropic import Anthropic
from asgiref.sync import async_to_sync
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from pydantic_ai.models.test import TestModel

from django_agent_memory import Memory
from tests.pages import executed, section

from .scripted import ScriptedModel

pytestmark = pytest.mark.django_db(transaction=True)


def defined(heading: str) -> dict[str, Any]:
    """Run the blocks of one section; return what they define."""
    return executed(section("agents.md", heading), least_shown=0)


def test_anthropic() -> None:
    ask = defined("Anthropic's memory tool")["ask"]
    model = ScriptedModel([{"command": "view", "path": "/memories/user.md"}])
    client = Anthropic(api_key="none", http_client=httpx2.Client(transport=model))
    assert ask(client, "Who am I?") == "done"
    assert "likes coffee" in str(model.results)


def test_pydantic_ai() -> None:
    agent = defined("Pydantic AI")["note_taker"](TestModel(call_tools=["write_memory"]))
    async_to_sync(agent.run)("Hello")
    assert Memory("core").keys() == ("acme/main/MEMORY.md",)


class Scripted(Model):
    """A model of the OpenAI Agents SDK that calls tools one after another."""

    def __init__(self, *calls: tuple[str, str]) -> None:
        self._calls = list(calls)
        self.seen: list[Any] = []

    async def get_response(self, *args: Any, **given: Any) -> ModelResponse:
        self.seen.append((args, given))
        output: Any = ResponseOutputMessage(
            id="m",
            type="message",
            role="assistant",
            status="completed",
            content=[ResponseOutputText(text="done", type="output_text", annotations=[])],
        )
        if self._calls:
            name, arguments = self._calls.pop(0)
            output = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"call-{len(self.seen)}",
                name=name,
                arguments=arguments,
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **given: Any) -> Any:
        raise NotImplementedError


def test_openai_agents() -> None:
    set_tracing_disabled(True)
    make = defined("OpenAI Agents")["rememberer"]
    Memory("core").remember("old", "Known", "x")
    model = Scripted(
        ("remember", '{"key": "user", "summary": "Alice", "body": "likes tea"}'),
        ("recall", '{"key": "user"}'),
        ("recall", '{"key": 5}'),
    )
    agent = make(model)
    assert {tool.name for tool in agent.tools} == set(Memory("core").tools().names)
    assert "- old: Known" in agent.instructions
    result = async_to_sync(Runner.run)(agent, "Hello")
    assert result.final_output == "done"
    outputs = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert "likes tea" in outputs[1]
    assert outputs[2].startswith("error: ")
    assert Memory("core").history("user")[0].actor == "rememberer"
