"""An agent at the HTTP edge, and what must be unchanged after a refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from django_agent_memory.models import AgentKey, IndexEntry, Note, Revision, Workspace
from tests.factories import AgentKeyFactory

from . import wire

MOUNT = "/memory/"


class Agent:
    """A client that carries an agent key and speaks JSON."""

    def __init__(self, key: Any = None, *, mount: str = MOUNT, **terms: Any) -> None:
        self.key = key or AgentKeyFactory(**terms)
        self.mount = mount
        self.http = Client(
            raise_request_exception=False,
            headers={"Authorization": f"Bearer {self.key.secret}"},
        )

    def get(self, address: str, query: dict[str, Any] | None = None, **extra: Any) -> Any:
        return self.http.get(self.mount + address, query, **extra)

    def send(self, address: str, data: Any, method: str = "post", **extra: Any) -> Any:
        body = data if isinstance(data, (bytes, str)) else json.dumps(data)
        extra.setdefault("content_type", "application/json")
        return self.http.generic(method.upper(), self.mount + address, body, **extra)

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.send(f"tools/{tool}/", arguments)

    def remember(self, key: str = "k", summary: str = "s", body: Any = "b") -> Any:
        response = self.call("remember", key=key, summary=summary, body=body)
        assert response.status_code == 200, response.content
        return response.json()


def assert_problem(response: Any, status: int, code: str | None = None) -> dict[str, Any]:
    """Assert that the answer is a problem document as RFC 9457 has it, and return it."""
    assert response.status_code == status, (response.status_code, response.content[:500])
    assert response["Content-Type"] == "application/problem+json"
    document: dict[str, Any] = json.loads(response.content)
    assert {"type", "title", "status", "detail", "code"} <= set(document)
    assert document["status"] == status
    detail = document["detail"]
    assert 0 < len(detail) <= 300
    assert "\n" not in detail
    assert detail.rstrip('"')[-1] in ".?!", detail
    assert "Traceback" not in detail
    assert "<" not in detail or "<workspace>" in detail
    if code is not None:
        assert document["code"] == code, document
    return document


def stored() -> list[Any]:
    """Return everything that is stored of memories."""
    return [
        list(model.objects.order_by("pk").values())
        for model in (Workspace, Note, IndexEntry, Revision)
    ]


@pytest.fixture
def agent(db: None) -> Agent:
    """An agent with a key to all of `core`, used a moment ago."""
    agent = Agent()
    agent.get("tools/")
    assert AgentKey.objects.get().last_used_at is not None
    return agent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, where a server is named, what cannot be asked through it."""
    reasons = wire.NOT_OVER_THE_WIRE.get(wire.name(), {})
    for item in items:
        if reason := reasons.get(item.name):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def _over_the_wire(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clients of a test speak to the server that AGENT_MEMORY_TEST_SERVER names."""
    if (server := wire.chosen()) is not None:
        monkeypatch.setattr("django.test.client.ClientHandler", server)
