"""Who may call, from where: credentials, workspaces, origins, how often."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import resolve

from django_agent_memory import Memory
from django_agent_memory.mcp.view import MCPView
from django_agent_memory.models import Grant, Revision, Workspace
from tests.api.conftest import Agent, stored
from tests.factories import UserFactory

from .conftest import Handshaken, Modern, error, result

pytestmark = pytest.mark.django_db

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def save(key: str = "k") -> dict[str, Any]:
    arguments = {"key": key, "summary": "s", "body": "b"}
    params = {"name": "remember", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@pytest.mark.parametrize("address", ["mcp", "mcp/", "mcp/core", "mcp/core/"])
def test_the_addresses(agent: Agent, address: str) -> None:
    assert result(agent.send(address, PING)) == {}
    assert result(Modern(agent, address).send("tools/list"))["tools"]
    assert resolve(f"/memory/{address}").func.cls is MCPView  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", ["get", "head", "put", "patch", "delete", "options"])
def test_only_post(agent: Agent, method: str) -> None:
    response = agent.send("mcp/", PING, method)
    assert response.status_code == 405
    assert response["Allow"] == "POST"
    if method != "head":
        error(response, 405, -32600, id_=None)


def test_without_a_key(agent: Agent) -> None:
    response = Client().post("/memory/mcp/", PING, content_type="application/json")
    assert error(response, 401, -32600, id_=None)["data"] == {"code": "not_authenticated"}
    assert response["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("path", ["tenant-b", "nowhere", "core/below", "Core", "%", "*"])
def test_another_workspace_is_as_one_that_is_not_there(agent: Agent, path: str) -> None:
    Memory("tenant-b").remember("k", "hidden", "hidden")
    before = stored()
    said = error(agent.send(f"mcp/{path}/", save()), 404, -32600, id_=None)
    assert said["message"] == "There is no such workspace."
    assert said["data"] == {"code": "not_found"}
    assert stored() == before


@pytest.mark.parametrize("accept", ["application/json, text/event-stream", "*/*", "text/plain"])
def test_whatever_is_accepted_json_comes(agent: Agent, accept: str) -> None:
    response = agent.send("mcp/", PING, headers={"Accept": accept})
    assert response["Content-Type"] == "application/json"
    assert response["Cache-Control"] == "private, no-cache"


def signed_in(user: Any) -> Agent:
    """Return a browser of the user's that speaks JSON."""
    agent = Agent.__new__(Agent)
    agent.mount = "/memory/"
    agent.http = Client(raise_request_exception=False)
    agent.http.force_login(user)
    return agent


def test_a_user_names_the_workspace(db: None) -> None:
    user = UserFactory()
    Grant.objects.give(workspace="core", user=user, access="read-write")
    agent = signed_in(user)
    said = error(agent.send("mcp/", PING), 400, -32600, id_=None)
    assert said["message"] == "A user has to name the workspace: mcp/<workspace>/."
    assert result(agent.send("mcp/core/", save()))["isError"] is False
    assert Revision.objects.get().actor == user.username


def test_what_a_user_may_not_do_is_the_tools_own_failure(db: None) -> None:
    user = UserFactory()
    Memory("core").remember("k", "s", "b")
    Grant.objects.give(workspace="core", user=user, access="read")
    client = Handshaken(signed_in(user), "mcp/core/")
    names = [tool["name"] for tool in client.ask("tools/list")["tools"]]
    assert names == ["recall", "list_memories", "search"]
    told = client.call("remember", key="k", summary="s", body="other")
    assert told["isError"] is True
    assert told["content"][0]["text"] == "You lack the permission agent_memory.add_note."


def test_a_workspace_is_made_only_by_whoever_may(db: None) -> None:
    user = UserFactory(permissions=("read_notes", "write_notes"))
    client = Handshaken(signed_in(user), "mcp/new/")
    told = client.call("remember", key="k", summary="s", body="b")
    assert told["content"][0]["text"].startswith("There is no such workspace yet")
    assert not Workspace.objects.exists()


def test_a_session_needs_its_csrf_token_and_a_key_none(agent: Agent) -> None:
    agent.http.handler.enforce_csrf_checks = True
    agent.http.force_login(UserFactory(is_superuser=True))
    assert result(agent.send("mcp/", PING)) == {}
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(UserFactory(is_superuser=True))
    response = browser.post("/memory/mcp/core/", PING, content_type="application/json")
    assert error(response, 403, -32600, id_=None)["data"] == {"code": "csrf_failed"}


@pytest.mark.parametrize(
    ("origin", "trusted", "is_good"),
    [
        ("http://testserver", [], True),
        ("https://testserver", [], False),
        ("http://testserver:8000", [], False),
        ("http://testserver.evil.example", [], False),
        ("https://app.example.org", [], False),
        ("https://app.example.org", ["https://app.example.org"], True),
        ("https://app.example.org", ["https://*.example.org"], True),
        ("http://app.example.org", ["https://app.example.org"], False),
        ("https://evil.example", ["https://app.example.org"], False),
        ("null", [], False),
        ("", [], False),
        ("http://[", [], False),
        ("*", ["https://*.example.org"], False),
    ],
)
def test_origins(
    agent: Agent, settings: Any, origin: str, trusted: list[str], is_good: bool
) -> None:
    settings.CSRF_TRUSTED_ORIGINS = trusted
    assert settings.ALLOWED_HOSTS == ["*", "testserver"]
    before = stored()
    response = agent.send("mcp/", save(), headers={"Origin": origin})
    if is_good:
        assert result(response)["isError"] is False
        return
    said = error(response, 403, -32600, id_=None)
    assert said["data"] == {"code": "not_allowed"}
    assert stored() == before


@pytest.mark.parametrize(
    ("allowed", "host", "is_good"),
    [
        (["*"], "evil.example", False),
        (["*"], "testserver", False),
        (["*"], "127.0.0.1:8000", True),
        (["*"], "localhost", True),
        (["*", ".example.org"], "memory.example.org", True),
        (["memory.example.org"], "memory.example.org:8000", True),
    ],
)
def test_a_host_is_the_sites_own_only_by_name(
    agent: Agent, settings: Any, allowed: list[str], host: str, is_good: bool
) -> None:
    settings.ALLOWED_HOSTS = allowed
    headers = {"Host": host, "Origin": f"http://{host}"}
    response = agent.send("mcp/", PING, headers=headers)
    if is_good:
        assert result(response) == {}
    else:
        error(response, 403, -32600, id_=None)
    assert result(agent.send("mcp/", PING, headers={"Host": host})) == {}


def test_a_foreign_origin_is_refused_before_the_key_is_looked_at(db: None) -> None:
    headers = {"Origin": "https://evil.example"}
    response = Client().post("/memory/mcp/", PING, content_type="application/json", headers=headers)
    error(response, 403, -32600, id_=None)


def test_a_host_that_is_not_allowed(agent: Agent, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["memory.example.org"]
    settings.MIDDLEWARE = []  # some of Django's would ask for the host first
    error(Agent(agent.key).send("mcp/", PING), 400, -32600, id_=None)


def test_requests_are_counted(agent: Agent, settings: Any) -> None:
    settings.AGENT_MEMORY_THROTTLE = "2/min"
    for _ in range(2):
        result(agent.send("mcp/", PING))
    response = agent.send("mcp/", PING)
    assert error(response, 429, -32600, id_=None)["data"] == {"code": "throttled"}
    assert int(response["Retry-After"]) >= 1


@pytest.mark.parametrize("name", ["", "a b", "x" * 201, "é"])
def test_a_bad_session(agent: Agent, name: str) -> None:
    response = agent.send("mcp/", PING, headers={"Memory-Session": name})
    assert error(response, 400, -32600, id_=None)["data"] == {"code": "refused"}


def test_the_answer_is_json_to_the_byte(agent: Agent) -> None:
    Memory("core").remember("k", "s", "é \ufeff")
    told = Modern(agent).send("tools/call", {"name": "recall", "arguments": {"key": "k"}})
    assert "é".encode() in told.content
    assert json.loads(told.content)["result"]["structuredContent"]["body"] == "é \ufeff"
