"""Models that say what a test tells them to, in place of those behind a network."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import httpx2


class ScriptedModel(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Anthropic's API as far as a tool runner needs it: one answer after another.

    Each of `inputs` is a call of the memory tool; after the last one the model says "done".
    `results` are the results of tools that were sent to it.
    """

    def __init__(self, inputs: Iterable[dict[str, Any]]) -> None:
        self._inputs = list(inputs)
        self.requests: list[dict[str, Any]] = []

    @property
    def results(self) -> list[dict[str, Any]]:
        return [
            block
            for request in self.requests[1:]
            for block in request["messages"][-1]["content"]
            if block["type"] == "tool_result"
        ]

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(request.read()))
        return self._answer()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(await request.aread()))
        return self._answer()

    def _answer(self) -> httpx2.Response:
        number = len(self.requests) - 1
        content: dict[str, Any] = {"type": "text", "text": "done"}
        if number < len(self._inputs):
            content = {
                "type": "tool_use",
                "id": f"call-{number}",
                "name": "memory",
                "input": self._inputs[number],
            }
        return httpx2.Response(
            200,
            json={
                "id": f"message-{number}",
                "type": "message",
                "role": "assistant",
                "model": "scripted",
                "content": [content],
                "stop_reason": "end_turn" if content["type"] == "text" else "tool_use",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        )
