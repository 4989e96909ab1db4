"""The index over HTTP: the text to the character, ETag and 304, the JSON form, statements."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_agent_memory.memory import Memory
from django_agent_memory.models import IndexEntry, Workspace
from tests.factories import UserFactory

from .conftest import Agent, assert_problem

pytestmark = pytest.mark.django_db

JSON = {"headers": {"Accept": "application/json"}}


def test_the_text_itself(agent: Agent) -> None:
    agent.remember("ключ", "две\nстроки", "b")
    agent.remember("user/name", "Name is Alice", "b")
    for address in ("index/", "index", "index/core/", "index/core"):
        response = agent.get(address)
        assert response.content.decode() == Memory("core").index_note()
        assert response["Content-Type"] == "text/plain; charset=utf-8"
        assert response["Workspace-Revision"] == "2"
        assert response["Cache-Control"] == "private, no-cache"
    assert response.content.decode().splitlines()[1] == "- user/name: Name is Alice"


def test_an_empty_index_is_an_empty_text(agent: Agent) -> None:
    response = agent.get("index/")
    assert (response.status_code, response.content) == (200, b"")
    answer = agent.get("index/", **JSON).json()
    assert answer["text"] == ""
    assert answer["lines"] == answer["characters"] == answer["estimated_tokens"] == 0


def test_the_json_form(agent: Agent) -> None:
    agent.remember("k", "é" * 10, "b")
    answer = agent.get("index/", **JSON).json()
    text = "[memory index]\n- k: éééééééééé"
    assert answer == {
        "text": text,
        "lines": 1,
        "characters": len(text),
        "estimated_tokens": 8,
        "workspace_revision": 1,
    }


@pytest.mark.parametrize(
    "accept",
    [
        "application/json; charset=utf-8", "application/json;charset=UTF-8;q=0.9",
        "application/json; q=0.5", "Application/JSON", "application/*", "application/json, */*",
        "text/html, application/json;version=1, text/plain;q=0.8", "application/json;charset*=x",
        "text/plain;q=0.1, application/json; charset=utf-8; q=0.2", "application/json, text/plain",
    ],
)  # fmt: skip
def test_json_whatever_its_parameters(agent: Agent, accept: str) -> None:
    agent.remember()
    response = agent.get("index/", headers={"Accept": accept})
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")
    headers = {"Accept": accept, "If-None-Match": response["ETag"]}
    assert agent.get("index/", headers=headers).status_code == 304


@pytest.mark.parametrize(
    "accept",
    [
        None, "", "*/*", "text/plain", "text/html", "text/*", "image/png", "garbage",
        "text/plain; charset=utf-8", "application/json;q=0", "application/json;q=0.5, */*",
        "text/plain, application/json", "application/json;q=0.1, text/plain;q=0.2",
    ],
)  # fmt: skip
def test_every_other_accept_is_text(agent: Agent, accept: str | None) -> None:
    headers = {} if accept is None else {"Accept": accept}
    response = agent.get("index/", headers=headers)
    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize("form", [{}, JSON])
def test_an_unchanged_index_is_304(agent: Agent, form: dict[str, Any]) -> None:
    agent.remember()
    first = agent.get("index/", **form)
    etag = first["ETag"]
    assert etag[0] == etag[-1] == '"'
    for known in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        headers = {**form.get("headers", {}), "If-None-Match": known}
        again = agent.get("index/", headers=headers)
        assert (again.status_code, again.content) == (304, b"")
        assert again["ETag"] == etag
        assert again["Workspace-Revision"] == "1"
    agent.remember("k2", "s2", "b")
    changed = agent.get("index/", headers={**form.get("headers", {}), "If-None-Match": etag})
    assert changed.status_code == 200
    assert changed["ETag"] != etag


def test_the_tag_follows_the_text_and_nothing_else(agent: Agent) -> None:
    agent.remember("k", "s", "b")
    etag = agent.get("index/")["ETag"]
    agent.remember("k", "s", "another body")
    assert agent.get("index/")["ETag"] == etag
    agent.call("recall", key="k")
    agent.call("forget", key="unknown")
    assert agent.get("index/")["ETag"] == etag
    # The JSON says the revision, so a strong tag of it must differ.
    json_tag = agent.get("index/", **JSON)["ETag"]
    agent.remember("k", "s", "a third body")
    assert agent.get("index/", **JSON)["ETag"] != json_tag != etag


@pytest.mark.parametrize("header", ["", "x", '"', '"x"', 'W/"', "\xff", "," * 1000])
def test_other_tags_are_answered_in_full(agent: Agent, header: str) -> None:
    agent.remember()
    response = agent.get("index/", headers={"If-None-Match": header})
    assert response.status_code == 200
    assert response.content.startswith(b"[memory index]")


def test_a_workspace_that_is_not_there_yet() -> None:
    client = Client()
    client.force_login(UserFactory(permissions=("view_note",)))
    response = client.get("/memory/index/new/")
    assert (response.status_code, response.content) == (200, b"")
    again = client.get("/memory/index/new/", headers={"If-None-Match": response["ETag"]})
    assert again.status_code == 304
    Memory("new").remember("k", "s", "b")
    again = client.get("/memory/index/new/", headers={"If-None-Match": response["ETag"]})
    assert again.status_code == 200


def test_head(agent: Agent) -> None:
    agent.remember()
    response = agent.http.head("/memory/index/")
    assert (response.status_code, response.content) == (200, b"")
    assert response["ETag"] == agent.get("index/")["ETag"]


def test_a_budget_is_another_text(agent: Agent) -> None:
    for number in range(20):
        agent.remember(f"k{number:02}", "summary", "b")
    etag = agent.get("index/")["ETag"]
    Memory("core").configure(index_budget=60)
    response = agent.get("index/", headers={"If-None-Match": etag})
    assert "of 20 memories" in response.content.decode()


@pytest.mark.parametrize(("entries", "form"), [(1, {}), (60, {}), (60, JSON)])
def test_statements(agent: Agent, entries: int, form: dict[str, Any]) -> None:
    for number in range(entries):
        agent.remember(f"k{number}")

    def statements(**headers: str) -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            agent.get("index/", headers={**form.get("headers", {}), **headers})
        return [query["sql"] for query in queries]

    etag = agent.get("index/", **form)["ETag"]
    assert len(statements()) == 3
    unchanged = statements(**{"If-None-Match": etag})
    assert len(unchanged) == 2
    assert not any("indexentry" in sql for sql in unchanged)


def test_no_foreign_index(agent: Agent) -> None:
    Memory("core/sub").remember("k", "hidden", "b")
    assert_problem(agent.get("index/core/sub/"), 404)
    assert agent.get("index/core/sub/").content == agent.get("index/nowhere/").content


def test_an_unchanged_index_of_100_000_lines_is_one_statement_of_the_index(agent: Agent) -> None:
    workspace = Workspace.objects.get(path="core")
    rows = (IndexEntry(workspace=workspace, key=f"k{n:06}", summary="s") for n in range(100_000))
    IndexEntry.objects.bulk_create(rows, batch_size=5_000)
    etag = f'"{workspace.index_version}"'
    with CaptureQueriesContext(connection) as queries:
        response = agent.get("index/", headers={"If-None-Match": etag})
    assert (response.status_code, response["ETag"]) == (304, etag)
    # The other one finds the agent key.
    assert len(queries) == 2
    assert not any("indexentry" in query["sql"] for query in queries)
