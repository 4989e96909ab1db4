"""Sessions over HTTP: named by a header, private to the credential, ended by one call."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from django_agent_memory.memory import Memory
from django_agent_memory.models import Note
from tests.factories import AgentKeyFactory, UserFactory

from .conftest import Agent, assert_problem

pytestmark = pytest.mark.django_db


def within(name: str, **headers: str) -> dict[str, Any]:
    return {"headers": {"Memory-Session": name, **headers}}


def save(agent: Agent, name: str = "s1", **terms: Any) -> Any:
    arguments = {"key": "plan", "summary": "Mine", "body": "zebra", "persist": False, **terms}
    return agent.send("tools/remember/", arguments, **within(name))


@pytest.fixture
def colleague(agent: Agent) -> Agent:
    """Another key of the same workspace."""
    return Agent(AgentKeyFactory(workspace=agent.key.workspace, name="colleague"))


def test_a_private_note_is_there_under_its_session_and_key_only(
    agent: Agent, colleague: Agent
) -> None:
    agent.remember("fact", "Shared", "zebra")
    assert save(agent).json()["outcome"] == "created"
    mine = [(agent, within("s1"))]
    others = [(agent, {}), (agent, within("s2")), (colleague, within("s1")), (colleague, {})]
    for reader, headers in mine + others:
        sees = (reader, headers) in mine
        assert reader.get("tools/recall/", {"key": "plan"}, **headers).json()["found"] is sees
        assert reader.get("tools/search/", {"pattern": "zebra"}, **headers).json()["total"] == (
            1 + sees
        )
        assert ("plan" in reader.get("tools/list_memories/", **headers).json()["text"]) is sees
        assert (b"plan" in reader.get("index/", **headers).content) is sees
        assert reader.get("stats/", **headers).json()["notes"] == 1 + sees
        assert bool(reader.get("history/", {"key": "plan"}, **headers).json()["revisions"]) is sees
        past = reader.get("as-of/", {"revision": 2}, **headers).json()
        assert ("plan" in past["keys"]) is sees
        near = reader.get("tools/recall/", {"key": "pla"}, **headers).json()["suggestions"]
        assert near == (["plan"] if sees else [])


def test_rows_are_those_that_all_share(agent: Agent) -> None:
    agent.remember("fact", "Shared", "zebra")
    save(agent)
    for address in ("notes/", "index-entries/", "revisions/"):
        rows = agent.get(address).json()["results"]
        assert [row["key"] for row in rows] == ["fact"]
    (pk,) = Note.objects.private().values_list("pk", flat=True)
    assert agent.get(f"notes/{pk}/").status_code == 404


def test_the_etag_is_that_of_what_one_sees(agent: Agent) -> None:
    agent.remember("fact", "Shared", "zebra")
    shared = agent.get("index/")
    assert agent.get("index/", **within("s1"))["ETag"] == shared["ETag"]
    save(agent)
    known = {"If-None-Match": shared["ETag"]}
    assert agent.get("index/", headers=known).status_code == 304
    assert agent.get("index/", **within("s2", **known)).status_code == 304
    private = agent.get("index/", **within("s1", **known))
    assert private.status_code == 200
    assert "Memory-Session" in private["Vary"]
    known = {"If-None-Match": private["ETag"]}
    assert agent.get("index/", **within("s1", **known)).status_code == 304
    assert agent.get("index/", headers=known).status_code == 200


def test_the_end_of_a_session(agent: Agent, colleague: Agent) -> None:
    save(agent)
    save(agent, "s2", key="other")
    assert colleague.send("end-session/", b"", **within("s1")).json()["ended"] == 0
    once = within("s1", **{"Idempotency-Key": "end"})
    answer = agent.send("end-session/", b"", **once)
    assert answer.json() == {"ended": 1, "workspace_revision": 3}
    again = agent.send("end-session", b"", **once)
    assert (again.content, again["Idempotency-Replayed"]) == (answer.content, "true")
    assert agent.send("end-session/core/", b"", **within("s1")).json()["ended"] == 0
    assert list(Note.objects.values_list("key", flat=True)) == ["other"]
    assert_problem(agent.send("end-session/", b""), 400)
    reader = Agent(AgentKeyFactory(workspace=agent.key.workspace, access="read"))
    assert_problem(reader.send("end-session/", b"", **within("s1")), 403)
    assert_problem(agent.send("end-session/foreign/", b"", **within("s1")), 404)


def test_who_may_store_may_end_the_session(agent: Agent) -> None:
    workspace = agent.key.workspace
    storing = Agent(AgentKeyFactory(workspace=workspace, name="storing", tools=["store"]))
    stored = storing.send("tools/store/", {"content": "zebra", "persist": False}, **within("s1"))
    assert stored.json()["outcome"] == "created"
    assert storing.send("end-session/", b"", **within("s1")).json()["ended"] == 1
    assert not Note.objects.exists()
    for terms in (
        {"tools": ["store", "remember"], "access": "read"},
        {"tools": ["store"], "access": "read"},
        {"tools": ["recall", "forget", "find"]},
        {"tools": []},
    ):
        other = Agent(AgentKeyFactory(workspace=workspace, **terms))
        problem = assert_problem(other.send("end-session/", b"", **within("s1")), 403)
        assert "remember" in problem["detail"]


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("[", "JSON"),
        ("[]", "The request body must be a JSON object."),
        ("null", "The request body must be a JSON object."),
        (b"\xff", "The request body is not UTF-8 (byte 0)."),
        ('{"junk": 1}', "The field 'junk' is unknown; the fields are: none."),
        ('{"session": "s1"}', "The field 'session' is unknown; the fields are: none."),
    ],
)
def test_a_body_that_says_something_ends_nothing(agent: Agent, body: Any, detail: str) -> None:
    save(agent)
    problem = assert_problem(agent.send("end-session/", body, **within("s1")), 400, "refused")
    assert detail in problem["detail"]
    assert Note.objects.count() == 1
    assert agent.send("end-session/", b"{}", **within("s1")).json()["ended"] == 1


@pytest.mark.parametrize("name", ["", " ", "a b", "ü", "x" * 201, "a\tb", "a,b"])
def test_a_malformed_name_is_refused(agent: Agent, name: str) -> None:
    for address in ("index/", "tools/list_memories/", "tools/", "stats/"):
        problem = assert_problem(agent.get(address, **within(name)), 400, "refused")
        assert problem["detail"].startswith("Memory-Session must be")


@pytest.mark.parametrize("length", [1, 199, 200])
def test_names_of_up_to_200_characters(agent: Agent, length: int) -> None:
    assert save(agent, "~" * length).status_code == 200


@pytest.mark.parametrize("address", ["notes/", "revisions/", "index-entries/", "workspaces/"])
def test_where_it_would_be_ignored_it_is_refused(agent: Agent, address: str) -> None:
    problem = assert_problem(agent.get(address, **within("s1")), 400, "refused")
    assert "not for this address" in problem["detail"]


def test_persist_needs_a_session_and_a_boolean(agent: Agent) -> None:
    arguments = {"key": "k", "summary": "s", "body": "b"}
    assert_problem(agent.call("remember", **arguments, persist=False), 400, "refused")
    for wrong in ("false", 0):
        problem = assert_problem(agent.call("remember", **arguments, persist=wrong), 400)
        assert problem["detail"] == "The argument 'persist' must be true or false."
    assert not Note.objects.exists()


def test_conflicts_are_409_with_no_more_than_needed(agent: Agent, colleague: Agent) -> None:
    save(agent)
    problem = assert_problem(save(colleague), 409, "conflict")
    assert problem["current_revision"] == 0
    shared = colleague.remember("plan", "For all", "b")
    assert shared["outcome"] == "created"


def test_a_recorded_call_is_not_answered_in_another_session(agent: Agent) -> None:
    save(agent)
    headers = {"Idempotency-Key": "one"}
    query = {"key": "plan"}
    assert agent.get("tools/recall/", query, **within("s1", **headers)).json()["found"]
    assert_problem(agent.get("tools/recall/", query, headers=headers), 422, "replay_mismatch")


def test_a_users_session_is_the_users(agent: Agent) -> None:
    user = UserFactory()
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="agent_memory"))
    browser = Client()
    browser.force_login(user)
    save(agent)
    read = "/memory/tools/core/recall/?key=plan"
    assert browser.get(read, headers={"Memory-Session": "s1"}).json()["found"] is False
    Memory("core", session=f"user:{user.pk}:s1").remember("mine", None, "x", persist=False)
    read = "/memory/tools/core/recall/?key=mine"
    assert browser.get(read, headers={"Memory-Session": "s1"}).json()["found"] is True
