"""The costs of the index over HTTP: the fields of `Memory.stats`, and who may ask."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_agent_memory.memory import Memory
from django_agent_memory.models import Revision, Workspace
from tests.factories import UserFactory

from .conftest import Agent, assert_problem, stored

pytestmark = pytest.mark.django_db

ADDRESSES = ["stats/", "stats", "stats/core/", "stats/core"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_fields(agent: Agent, address: str) -> None:
    agent.remember("ключ", "две\nстроки", "b")
    agent.remember("user/name", "Name is Alice", "b")
    response = agent.get(address)
    size = len("[memory index]\n- ключ: две строки\n- user/name: Name is Alice")
    assert response.json() == {
        "notes": 2,
        "lines": 2,
        "shown": 2,
        "characters": size,
        "tokens": -(-size // 4),
        "index_budget": None,
        "growth_days": 1.0,
        "lines_per_day": 2.0,
        "characters_per_day": float(size),
        "tokens_per_day": size / 4,
        "workspace_revision": 2,
    }
    assert response["Content-Type"] == "application/json"
    assert response["Workspace-Revision"] == "2"
    assert response["Cache-Control"] == "private, no-cache"


def test_a_budget_that_cuts(agent: Agent) -> None:
    for number in range(20):
        agent.remember(f"k{number:02}", "summary", "b")
    Memory("core").configure(index_budget=100)
    answer = agent.get("stats/").json()
    assert (answer["lines"], answer["shown"], answer["index_budget"]) == (20, 1, 100)
    assert answer["characters"] == len(agent.get("index/").content.decode()) <= 100
    assert answer["lines_per_day"] == 20


def test_head(agent: Agent) -> None:
    agent.remember()
    response = agent.http.head("/memory/stats/")
    assert (response.status_code, response.content) == (200, b"")
    assert response["Workspace-Revision"] == "1"


@pytest.mark.parametrize("terms", [{"access": "read"}, {"tools": []}, {"tools": ["forget"]}])
def test_every_key_may_ask_as_for_the_index(terms: dict[str, Any]) -> None:
    agent = Agent(**terms)
    assert agent.get("index/").status_code == agent.get("stats/").status_code == 200


@pytest.mark.parametrize("address", ADDRESSES)
def test_without_a_key(agent: Agent, address: str) -> None:
    for client in (Client(), Client(headers={"Authorization": "Bearer dam_wrong"})):
        response = client.get(f"/memory/{address}")
        assert_problem(response, 401)
        assert (
            response.content == client.get(f"/memory/{address.replace('stats', 'index')}").content
        )


@pytest.mark.parametrize("path", ["core/sub", "tenant-b", "cor", "CORE", "..", "a b"])
def test_another_workspace_is_refused_as_the_index_refuses_it(agent: Agent, path: str) -> None:
    Memory("core/sub").remember("k", "hidden", "b")
    Memory("tenant-b").remember("k", "hidden", "b")
    before = stored()
    for slash in ("", "/"):
        refused = agent.get(f"stats/{path}{slash}")
        assert_problem(refused, 404, "not_found")
        assert refused.content == agent.get(f"index/{path}{slash}").content
        assert refused.content == agent.get("stats/nowhere/").content
        assert "Workspace-Revision" not in refused
    assert stored() == before


def signed_in(*permissions: str) -> Client:
    client = Client()
    client.force_login(UserFactory(permissions=permissions))
    return client


def test_users_have_to_name_the_workspace_and_need_view_note(agent: Agent) -> None:
    agent.remember()
    assert_problem(signed_in("view_workspace").get("/memory/stats/core/"), 403, "not_allowed")
    client = signed_in("view_note")
    detail = assert_problem(client.get("/memory/stats/"), 400, "refused")["detail"]
    assert "stats/<workspace>/" in detail
    answer = client.get("/memory/stats/core/").json()
    assert answer == asdict(Memory("core").stats()) | {
        name: answer[name] for name in answer if name.endswith("_day")
    }


def test_a_workspace_that_is_not_there_yet() -> None:
    answer = signed_in("view_note").get("/memory/stats/new/")
    assert (answer.status_code, answer["Workspace-Revision"]) == (200, "0")
    assert set(answer.json().values()) == {0, None}
    assert not Workspace.objects.exists()
    assert_problem(signed_in("view_note").get("/memory/stats/a%20b/"), 400)


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_it_only_reads(agent: Agent, method: str) -> None:
    response = agent.send("stats/", {}, method)
    assert_problem(response, 405)
    assert response["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("notes", [1, 60])
def test_statements(agent: Agent, notes: int) -> None:
    for number in range(notes):
        agent.remember(f"k{number}")
    agent.get("index/")
    with CaptureQueriesContext(connection) as queries:
        agent.get("stats/")
    # One finds the key; the text is made, as nothing is cached in a test's transaction.
    assert len(queries) == 1 + 5
    assert Revision.objects.count() == notes


@pytest.mark.parametrize("query", ["x=1", "workspace=core", "format=json", "=1", "x", "days=-1"])
def test_it_takes_no_parameters(agent: Agent, query: str) -> None:
    for address in ADDRESSES:
        assert_problem(agent.get(f"{address}?{query}"), 400, "refused")
    # Of a workspace that one may not know of as well as of one's own: it is not looked at yet.
    assert_problem(agent.get("stats/elsewhere/?x=1"), 400, "refused")
