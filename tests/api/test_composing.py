"""`compose/`: a prompt with what is known in front; who may ask; that it only reads."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from django_agent_memory.memory import Memory
from django_agent_memory.models import Workspace
from tests.factories import AgentKeyFactory, UserFactory

from .conftest import Agent, assert_problem, stored

pytestmark = pytest.mark.django_db

KNOWN = "Known information from memory:\n- user/tea: Green tea, no sugar\n\n"


@pytest.fixture
def agent(db: None) -> Agent:
    """An agent of a memory that knows of tea and of trains."""
    memory = Memory("core")
    memory.store("Green tea,\nno sugar", key="user/tea", slot="taste", kind="fact", weight=2)
    memory.store("The night train leaves at nine.", key="trip/train", context="trip")
    return Agent(workspace=Workspace.objects.get())


@pytest.mark.parametrize("address", ["compose/", "compose", "compose/core/", "compose/core"])
def test_what_is_known_stands_in_front(agent: Agent, address: str) -> None:
    before = stored()
    response = agent.send(address, {"prompt": "Which tea?\n"})
    assert response.json() == {"text": f"{KNOWN}Which tea?\n", "workspace_revision": 2}
    nothing = agent.send(address, {"prompt": " quantum chromodynamics \n"})
    assert nothing.json()["text"] == " quantum chromodynamics \n"
    assert agent.send(address, {"prompt": ""}).json()["text"] == ""
    assert stored() == before


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"slot": "taste"}, ["user/tea"]),
        ({"kind": "fact", "min_weight": 1.5}, ["user/tea"]),
        ({"context": ["trip"]}, ["trip/train"]),
        ({"context": "trip", "slot": "taste"}, []),
        ({"key_prefix": "user/"}, ["user/tea"]),
        ({"source": "", "subject": ""}, ["user/tea", "trip/train"]),
        ({"source": "", "limit": 1}, ["user/tea"]),
        ({"source": "", "limit": None, "slot": None}, ["user/tea", "trip/train"]),
    ],
)
def test_the_filters_are_those_of_find(
    agent: Agent, filters: dict[str, Any], found: list[str]
) -> None:
    text = agent.send("compose/", {"prompt": "", **filters}).json()["text"]
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert [line[2:].partition(":")[0] for line in lines] == found


@pytest.mark.parametrize(
    "fields",
    [{}, {"prompt": None}, {"prompt": 7}, {"prompt": ["x"]}, {"prompt": "a\x00"}, [], "x",
     {"prompt": "\ud800"}, {"prompt": "p", "limit": 0}, {"prompt": "p", "limit": 101},
     {"prompt": "p", "limit": True}, {"prompt": "p", "limit": "5"}, {"prompt": "p", "limit": 1.5},
     {"prompt": "p", "slot": 7}, {"prompt": "p", "min_weight": -1}, {"prompt": "p", "query": "q"},
     {"prompt": "p", "context": [""]}, {"prompt": "p", "workspace": "core"},
     {"prompt": "p", "min_weight": 10**400}],
)  # fmt: skip
def test_what_is_refused(agent: Agent, fields: Any) -> None:
    assert_problem(agent.send("compose/", fields), 400, "refused")


@pytest.mark.parametrize("limit", [1, 99, 100])
def test_the_edges_of_the_limit(agent: Agent, limit: int) -> None:
    assert agent.send("compose/", {"prompt": "tea", "limit": limit}).status_code == 200


@pytest.mark.parametrize("length", [9, 10, 11])
def test_the_length_of_a_prompt_is_that_of_a_body(agent: Agent, settings: Any, length: int) -> None:
    settings.AGENT_MEMORY_MAX_BODY_LENGTH = 10
    response = agent.send("compose/", {"prompt": "é" * length})
    if length <= 10:
        assert response.json()["text"] == "é" * length
    else:
        assert "11 characters" in assert_problem(response, 413, "too_large")["detail"]


def test_headers_and_queries_that_would_be_ignored(agent: Agent) -> None:
    named = agent.send("compose/", {"prompt": "p"}, headers={"Idempotency-Key": "n"})
    assert_problem(named, 400, "refused")
    assert_problem(agent.send("compose/?slot=taste", {"prompt": "p"}), 400, "refused")


def test_a_session_sees_its_own(agent: Agent) -> None:
    within = {"headers": {"Memory-Session": "s1"}}
    private = {"key": "p", "summary": "s", "body": "The ferry is late", "persist": False}
    assert agent.send("tools/remember/", private, **within).status_code == 200
    asked = {"prompt": "Is the ferry late?"}
    assert "- p: The ferry is late" in agent.send("compose/", asked, **within).json()["text"]
    assert agent.send("compose/", asked).json()["text"] == asked["prompt"]


@pytest.mark.parametrize(
    ("tools", "access", "status"),
    [
        (None, "read", 200), (["find"], "read", 200), (["search", "recall"], "read-write", 200),
        (["search"], "read", 403), (["recall"], "read", 403), ([], "read", 403),
        (["remember", "forget", "store"], "read-write", 403),
    ],
)  # fmt: skip
def test_a_key_needs_find_or_what_shows_no_less(
    agent: Agent, tools: list[str] | None, access: str, status: int
) -> None:
    key = AgentKeyFactory(workspace=agent.key.workspace, tools=tools, access=access)
    response = Agent(key).send("compose/", {"prompt": "Which tea?"})
    assert response.status_code == status
    if status == 403:
        assert_problem(response, 403, "not_allowed")
        assert b"Green" not in response.content


def test_users_and_foreign_workspaces(agent: Agent) -> None:
    Memory("tenant-b").store("Black tea", key="b")
    there = agent.send("compose/tenant-b/", {"prompt": "tea"})
    assert_problem(there, 404, "not_found")
    assert there.content == agent.send("compose/nowhere/", {"prompt": "tea"}).content
    client, kind = Client(), {"content_type": "application/json"}
    client.force_login(UserFactory(permissions=("view_workspace",)))
    assert_problem(client.post("/memory/compose/core/", {"prompt": "tea"}, **kind), 403)
    client.force_login(UserFactory(permissions=("view_note",)))
    answer = client.post("/memory/compose/core/", {"prompt": "Which tea?"}, **kind)
    assert answer.json()["text"] == f"{KNOWN}Which tea?"
    assert_problem(client.post("/memory/compose/", {"prompt": "tea"}, **kind), 400)
