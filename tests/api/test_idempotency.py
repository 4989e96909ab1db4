"""`Idempotency-Key`: the same call is answered again, byte for byte, and done once."""

from __future__ import annotations

from typing import Any

import pytest

from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey, RecordedCall, Workspace
from tests.factories import AgentKeyFactory

from .conftest import Agent, assert_problem, stored

pytestmark = pytest.mark.django_db


def call(agent: Agent, tool: str, name: str = "n1", **arguments: Any) -> Any:
    return agent.send(f"tools/{tool}/", arguments, headers={"Idempotency-Key": name})


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("remember", {"key": "new", "summary": "s", "body": {"a": [1, 2.0, "é"]}}),
    ("remember", {"key": "k", "summary": "s", "body": "other"}),
    ("remember", {"key": "k", "summary": "s", "body": "b"}),
    ("forget", {"key": "k"}),
    ("forget", {"key": "kk"}),
    ("recall", {"key": "k"}),
    ("recall", {"key": "kk"}),
    ("list_memories", {}),
    ("search", {"pattern": "B"}),
    ("search", {"pattern": "nothing"}),
]


@pytest.mark.parametrize(("tool", "arguments"), CALLS, ids=range(len(CALLS)))
def test_a_replay_is_byte_identical_and_changes_nothing(
    agent: Agent, tool: str, arguments: dict[str, Any]
) -> None:
    agent.remember("k", "s", "b")
    first = call(agent, tool, **arguments)
    assert first.status_code == 200
    assert "Idempotency-Replayed" not in first.headers
    Memory("core", actor="other").remember("k", "later", "later b")
    before = stored()
    for name in ("n1", '"n1"', " n1 "):
        again = call(agent, tool, name, **arguments)
        assert again.headers["Idempotency-Replayed"] == "true"
        assert again.content == first.content
    assert stored() == before


def test_other_arguments_under_the_same_name_are_422(agent: Agent) -> None:
    call(agent, "remember", key="k", summary="s", body="b")
    before = stored()
    assert_problem(call(agent, "remember", key="k", summary="s", body="c"), 422, "replay_mismatch")
    assert_problem(call(agent, "recall", key="k"), 422, "replay_mismatch")
    assert stored() == before


def test_names_belong_to_the_key_and_the_workspace(agent: Agent) -> None:
    call(agent, "remember", key="k", summary="s", body="mine")
    second = Agent(AgentKeyFactory(workspace=Workspace.objects.get(), name="other"))
    answer = call(second, "remember", key="k", summary="s", body="theirs")
    assert answer.json()["outcome"] == "replaced"
    elsewhere = Agent(AgentKeyFactory(workspace=Workspace.objects.create(path="elsewhere")))
    assert call(elsewhere, "recall", key="k").json()["found"] is False


def test_only_executed_calls_are_kept(agent: Agent) -> None:
    assert_problem(call(agent, "remember", key="", summary="s", body="b"), 400)
    assert_problem(call(agent, "remember", key="k", summary="s", body="b", x=1), 400)
    refused = {"key": "k", "summary": "s", "body": "b", "expected_revision": 4}
    assert_problem(call(agent, "remember", **refused), 409)
    assert not RecordedCall.objects.exists()
    assert call(agent, "remember", key="k", summary="s", body="b").status_code == 200
    AgentKey.objects.get().revoke()
    assert_problem(call(agent, "remember", key="k", summary="s", body="b"), 401)


@pytest.mark.parametrize("name", ["", '""', "x" * 244, "a,b", "a, a", '"a","b"', '"a",b"'])
def test_a_bad_name_is_refused_and_nothing_is_done(agent: Agent, name: str) -> None:
    before = stored()
    response = call(agent, "remember", name, key="k", summary="s", body="b")
    assert response.status_code in (400, 413)
    assert_problem(response, response.status_code)
    assert stored() == before


def test_a_quoted_name_may_hold_a_comma(agent: Agent) -> None:
    arguments = {"key": "k", "summary": "s", "body": "b"}
    first, again = (call(agent, "remember", '"a,b"', **arguments) for _ in range(2))
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"


def test_a_get_may_be_named_too(agent: Agent) -> None:
    agent.remember("k", "s", "then")
    first = agent.get("tools/recall/", {"key": "k"}, headers={"Idempotency-Key": "g"})
    agent.remember("k", "s", "now")
    again = agent.get("tools/recall/", {"key": "k"}, headers={"Idempotency-Key": "g"})
    assert again.content == first.content
    assert again.headers["Idempotency-Replayed"] == "true"


def test_a_restore_may_be_named_too(agent: Agent) -> None:
    agent.remember("k", "s", "A")
    agent.remember("k", "s", "B")
    named = {"headers": {"Idempotency-Key": "r"}}
    first = agent.send("restore/", {"key": "k", "revision": 1}, **named)
    agent.remember("k", "s", "C")
    again = agent.send("restore/", {"key": "k", "revision": 1}, **named)
    assert again.content == first.content
    assert agent.call("recall", key="k").json()["body"] == "C"


def test_a_replay_costs_one_read_more_than_the_credential(
    agent: Agent, django_assert_num_queries: Any
) -> None:
    for n, (tool, arguments) in enumerate(CALLS):
        call(agent, tool, f"n{n}", **arguments)
    for n, (tool, arguments) in enumerate(CALLS):
        with django_assert_num_queries(2):
            call(agent, tool, f"n{n}", **arguments)
