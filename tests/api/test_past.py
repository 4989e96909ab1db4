"""The past over HTTP: history, the memory at a moment, restore and rollback."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from django_agent_memory.memory import Memory
from django_agent_memory.models import Revision, Workspace
from django_agent_memory.writing import prune_revisions
from tests.factories import UserFactory

from .conftest import MOUNT, Agent, assert_problem, stored

HOUR = datetime.timedelta(hours=1)

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(agent: Agent) -> Agent:
    """An agent whose key `k` said A, then B, then was forgotten."""
    memory = Memory("core", actor="scribe")
    memory.remember("k", "one", {"a": [1]})
    memory.remember("k", "two", "B", reason="newer")
    memory.forget("k")
    return agent


@pytest.mark.parametrize("address", ["history/", "history", "history/core/", "history/core"])
def test_history(agent: Agent, address: str) -> None:
    answer = agent.get(address, {"key": "k"}).json()
    assert [r["number"] for r in answer["revisions"]] == [1, 2, 3]
    assert [r["operation"] for r in answer["revisions"]] == ["remember", "remember", "forget"]
    assert [r["body"] for r in answer["revisions"]] == [{"a": [1]}, "B", None]
    assert [r["exists"] for r in answer["revisions"]] == [True, True, False]
    assert answer["revisions"][1]["reason"] == "newer"
    assert answer["text"].splitlines()[1].startswith("[v2] remember 'k' = B (")
    assert answer["workspace_revision"] == 3


def test_history_of_nothing_is_empty(agent: Agent) -> None:
    answer = agent.get("history/", {"key": "never"}).json()
    assert (answer["revisions"], answer["text"]) == ([], "")


@pytest.mark.parametrize(
    ("number", "body"), [(0, None), (1, {"a": [1]}), (2, "B"), (3, None), (10**17, None)]
)
def test_as_of_a_revision(agent: Agent, number: int, body: Any) -> None:
    answer = agent.get("as-of/", {"key": "k", "revision": number}).json()
    assert answer["found"] is (body is not None)
    assert answer.get("body") == body
    assert answer["workspace_revision"] == 3


def test_as_of_a_time(agent: Agent) -> None:
    now = timezone.now().isoformat()
    assert agent.get("as-of/", {"key": "k", "at": now}).json()["found"] is False
    second = agent.get("history/", {"key": "k"}).json()["revisions"][1]["created_at"]
    assert agent.get("as-of/", {"key": "k", "at": second}).json()["number"] == 2
    long_ago = "2001-01-01T00:00:00Z"
    assert agent.get("as-of/", {"key": "k", "at": long_ago}).json()["found"] is False


@pytest.mark.parametrize(("number", "found"), [(4, True), (5, True), (6, False), (9999, False)])
def test_what_had_expired_was_not_there(agent: Agent, number: int, found: bool) -> None:
    memory = Memory("core")
    memory.remember("exp", "s", "B", expires_at=timezone.now() + HOUR)
    memory.remember("other", "s", "B")
    Revision.objects.filter(key="exp").update(expires_at=timezone.now())
    answer = agent.get("as-of/", {"key": "exp", "revision": number}).json()
    assert answer["found"] is found
    assert ("exp" in agent.get("as-of/", {"revision": number}).json()["keys"]) is found
    now = timezone.now().isoformat()
    assert agent.get("as-of/", {"key": "exp", "at": now}).json()["found"] is False
    assert len(agent.get("history/", {"key": "exp"}).json()["revisions"]) == 1


def test_the_whole_memory_at_a_revision(agent: Agent) -> None:
    answer = agent.get("as-of/core/", {"revision": 2}).json()
    assert answer["text"] == "[memory index]\n- k: two"
    assert (answer["keys"], answer["revision"], answer["workspace_revision"]) == (["k"], 2, 3)
    assert agent.get("as-of/", {"revision": 3}).json()["text"] == ""


@pytest.mark.parametrize(
    ("address", "query"),
    [
        ("history/", {}),
        ("history/", {"key": ""}),
        ("history/", {"key": "k", "limit": "1"}),
        ("history/", {"key": "a\x00"}),
        ("as-of/", {"key": "k"}),
        ("as-of/", {"key": "k", "revision": "1", "at": "2026-01-01T00:00:00Z"}),
        ("as-of/", {"key": "k", "revision": "-1"}),
        ("as-of/", {"key": "k", "revision": "1.0"}),
        ("as-of/", {"key": "k", "revision": "true"}),
        ("as-of/", {"key": "k", "revision": "9" * 30}),
        ("as-of/", {"key": "k", "at": "yesterday"}),
        ("as-of/", {"key": "k", "at": "2026-11-30T04:08:56"}),
        ("as-of/", {"key": "k", "at": "2026-11-30"}),
        ("as-of/", {"at": "9999-12-31T23:59:59-12:00"}),
        ("as-of/", {"at": "0001-01-01T00:00:00+12:00"}),
        ("as-of/", {"key": "", "revision": "1"}),
    ],
)
def test_bad_questions_about_the_past(agent: Agent, address: str, query: dict[str, str]) -> None:
    assert_problem(agent.get(address, query), 400)


def test_the_pruned_past_is_gone(agent: Agent) -> None:
    prune_revisions("core", older_than=timezone.timedelta(0), keep=1, dry_run=False)
    assert_problem(agent.get("as-of/", {"key": "k", "revision": 1}), 410, "pruned")
    assert_problem(agent.get("as-of/", {"revision": 1}), 410, "pruned")


def test_restore(agent: Agent) -> None:
    answer = agent.send("restore/", {"key": "k", "revision": 1, "reason": "back"}).json()
    assert answer == {
        "key": "k", "outcome": "restored", "exists": True, "revision": 4,
        "restored_revision": 1, "workspace_revision": 4,
    }  # fmt: skip
    assert agent.call("recall", key="k").json()["body"] == {"a": [1]}
    again = agent.send("restore/core/", {"key": "k", "revision": 1}).json()
    assert (again["outcome"], again["workspace_revision"]) == ("unchanged", 4)
    assert agent.send("restore", {"key": "k", "revision": 3}).json()["exists"] is False


def test_restore_checks_what_the_caller_saw(agent: Agent) -> None:
    before = stored()
    stale = {"key": "k", "revision": 1, "expected_revision": 2}
    assert assert_problem(agent.send("restore/", stale), 409, "conflict")["current_revision"] == 0
    header = {"headers": {"If-Match": '"2"'}}
    assert_problem(agent.send("restore/", {"key": "k", "revision": 1}, **header), 409)
    assert stored() == before
    fresh = {"headers": {"If-Match": '"0"'}}
    assert agent.send("restore/", {"key": "k", "revision": 1}, **fresh).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"key": "k"},
        {"key": "k", "revision": "1"},
        {"key": "k", "revision": True},
        {"key": "k", "revision": 0},
        {"key": "k", "revision": -1},
        {"key": "other", "revision": 1},
        {"key": "k", "revision": 1, "workspace": "x"},
        {"key": 5, "revision": 1},
        {"key": "k", "revision": 1, "reason": 5},
        {"key": "k", "revision": 1, "reason": "r" * 1001},
        [],
    ],
)
def test_a_bad_restore_writes_nothing(agent: Agent, body: Any) -> None:
    before = stored()
    response = agent.send("restore/", body)
    assert response.status_code in (400, 413)
    assert_problem(response, response.status_code)
    assert stored() == before


@pytest.mark.parametrize("address", ["history/", "as-of/", "restore/"])
def test_the_past_of_another_workspace_is_not_there(agent: Agent, address: str) -> None:
    Memory("other").remember("k", "s", "b")
    query = {"key": "k", "revision": 1} if address != "history/" else {"key": "k"}
    answers = []
    for path in ("other/", "missing/"):
        if address == "restore/":
            answers.append(agent.send(address + path, query))
        else:
            answers.append(agent.get(address + path, query))
    for answer in answers:
        assert_problem(answer, 404, "not_found")
    assert answers[0].content == answers[1].content


def test_what_a_key_may_do_with_the_past(agent: Agent) -> None:
    reader = Agent(access="read", workspace=Workspace.objects.get())
    assert reader.get("history/", {"key": "k"}).status_code == 200
    assert_problem(reader.send("restore/", {"key": "k", "revision": 1}), 403)
    searcher = Agent(tools=["search"], workspace=Workspace.objects.get())
    assert_problem(searcher.get("history/", {"key": "k"}), 403)
    assert_problem(searcher.get("as-of/", {"key": "k", "revision": 1}), 403)
    assert_problem(searcher.send("restore/", {"key": "k", "revision": 1}), 403)
    assert_problem(agent.send("rollback/", {"actor": "scribe", "since": 1}), 403)


def operator(*permissions: str) -> Client:
    user = UserFactory()
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def test_rollback_is_for_users_who_may_write(agent: Agent) -> None:
    Memory("core", actor="bad").remember("k", "s", "poison")
    Memory("core", actor="bad").remember("new", "s", "poison")
    Memory("core", actor="good").remember("new", "s", "fixed")
    address = f"{MOUNT}rollback/core/"
    undo = {"actor": "bad", "since": 4}
    weak = operator("view_note", "add_note", "change_note")
    assert_problem(weak.post(address, undo, content_type="application/json"), 403)
    client = operator("add_note", "change_note", "delete_note")
    done = client.post(address, undo, content_type="application/json").json()
    assert (done["restored"], done["left_alone"]) == (["k"], ["new"])
    assert Memory("core").recall("k") is None
    bad: list[dict[str, Any]] = [
        {"actor": "bad"}, {"actor": 5, "since": 1}, {"actor": "bad", "since": True},
        {"actor": "bad", "since": 1.5}, {"actor": "bad", "since": "soon"},
        {"actor": "bad", "since": None}, {"actor": "bad", "since": "0001-01-01T00:00:00+23:59"},
        {"actor": "bad", "since": "9999-12-31T23:59:59-23:59"}, {"actor": "\x00", "since": 1},
        {"actor": "bad", "since": "2026-01-01T00:00:00"}, {"actor": "bad", "since": -1},
        {"actor": "bad", "since": -(10**30)},
    ]  # fmt: skip
    before = stored()
    for body in bad:
        assert_problem(client.post(address, body, content_type="application/json"), 400)
    lone = '{"actor": "\\ud800", "since": 1}'
    assert_problem(client.post(address, lone, content_type="application/json"), 400)
    named = {"headers": {"Idempotency-Key": "n"}}
    response = client.post(address, undo, content_type="application/json", **named)
    assert "Idempotency-Key" in assert_problem(response, 400)["detail"]
    later = {"actor": "bad", "since": "2090-01-01T00:00:00Z"}
    for since in (later, {"actor": "bad", "since": 10**30}):
        none = client.post(address, since, content_type="application/json").json()
        assert none["restored"] == []
    assert stored() == before
