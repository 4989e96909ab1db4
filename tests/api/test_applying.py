"""`apply/`: several changes, all or nothing, each allowed by itself and named by its number."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_agent_memory.api.applying import MOST_CHANGES
from django_agent_memory.memory import Memory
from django_agent_memory.models import Note, RecordedCall, Revision, Workspace
from tests.factories import AgentKeyFactory, UserFactory

from .conftest import Agent, assert_problem, stored

pytestmark = pytest.mark.django_db

SAVE = {"op": "save", "key": "new", "summary": "s", "body": "b"}
ALL_TOOLS = ["remember", "recall", "forget", "list_memories", "search", "store", "find"]


def apply(agent: Agent, *changes: Any, address: str = "apply/", **fields: Any) -> Any:
    return agent.send(address, {"changes": list(changes), **fields})


def signed_in(*permissions: str) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(UserFactory(username="ann", permissions=permissions))
    return client


@pytest.fixture
def full(db: None) -> Agent:
    """An agent that may use every tool."""
    return Agent(tools=ALL_TOOLS)


@pytest.mark.parametrize("address", ["apply/", "apply", "apply/core/", "apply/core"])
def test_every_kind_of_change_in_order(full: Agent, address: str) -> None:
    full.remember("old", "s", "first")
    full.remember("old", "s", "second")
    full.remember("gone", "s", {"a": [1, None]})
    response = apply(
        full,
        {**SAVE, "kind": "fact", "weight": 2, "context": ["a", "b"], "expected_revision": 0},
        {"op": "store", "body": [1, 2.0, "é"], "slot": "system"},
        {"op": "drop", "key": "gone", "expected_revision": 3},
        {"op": "restore", "key": "old", "revision": 1, "expected_revision": 2},
        {"op": "drop", "key": "never"},
        {"op": "restore", "key": "gone", "revision": 3},
        {"op": "save", "key": "new", "body": "without a summary"},
        address=address,
        reason="moved",
    )
    assert response.status_code == 200, response.content
    made = Note.objects.get(slot="system").key
    assert response.json() == {
        "outcomes": [
            {"key": "new", "outcome": "created", "revision": 4},
            {"key": made, "outcome": "created", "revision": 5},
            {"key": "gone", "outcome": "forgot", "revision": 6},
            {
                "key": "old",
                "outcome": "restored",
                "revision": 7,
                "restored_revision": 1,
                "exists": True,
            },
            {"key": "never", "outcome": "was_absent"},
            {
                "key": "gone",
                "outcome": "restored",
                "revision": 8,
                "restored_revision": 3,
                "exists": True,
            },
            {"key": "new", "outcome": "replaced", "revision": 9},
        ],
        "workspace_revision": 9,
    }
    memory = Memory("core")
    assert memory.recall("gone").body == {"a": [1, None]}  # type: ignore[union-attr]
    assert memory.recall("old").body == "first"  # type: ignore[union-attr]
    assert memory.recall(made).body == [1, 2.0, "é"]  # type: ignore[union-attr]
    new = memory.recall("new")
    assert new is not None
    assert (new.summary, new.kind, new.weight, new.contexts) == (None, "fact", 2.0, ("a", "b"))
    signed = Revision.objects.filter(number__gt=3).values_list("actor", "reason").distinct()
    assert list(signed) == [(full.key.name, "moved")]


@pytest.mark.parametrize(
    ("bad", "status", "said"),
    [
        ({"op": "save", "key": "", "body": "b"}, 400, "The key is empty"),
        ({"op": "save", "key": "k"}, 400, "The field 'body' is missing"),
        ({"op": "save", "key": "k\x00", "body": "b"}, 400, "a NUL character"),
        ({"op": "save", "key": "k", "body": "\ud800"}, 400, "the lone surrogate"),
        ({"op": "save", "key": "k" * 513, "body": "b"}, 413, "513 characters"),
        ({"op": "save", "key": "k", "body": "b", "session": "s"}, 400, "'session' is unknown"),
        ({"op": "save", "key": "k", "body": "b", "persist": False}, 400, "is for the tools"),
        ({"op": "store", "body": "b", "persist": True}, 400, "persist is for the tools"),
        ({"op": "save", "key": "k", "body": "b", "weight": -1}, 400, "weight"),
        ({"op": "save", "key": "k", "body": "b", "expires_at": "2026-11-30"}, 400, "its offset"),
        ({"op": "save", "key": "k", "body": "b", "expected_revision": "1"}, 400, "whole number"),
        ({"op": "store"}, 400, "The field 'body' is missing"),
        ({"op": "store", "body": "b", "key": 7}, 400, "must be a string"),
        ({"op": "drop"}, 400, "The field 'key' is missing"),
        ({"op": "drop", "key": "k", "body": "b"}, 400, "'body' is unknown"),
        ({"op": "restore", "key": "k", "revision": True}, 400, "whole number"),
        ({"op": "restore", "key": "k", "revision": 0}, 400, "There is no revision 0"),
        ({"op": "restore", "key": "k"}, 400, "The field 'revision' is missing"),
        ({"op": "erase", "key": "k"}, 400, "op must be one of: save, store, drop, restore"),
        ({"op": ["save"], "key": "k"}, 400, "op must be one of"),
        ({"key": "k"}, 400, "op must be one of"),
        ("save", 400, "must be a JSON object"),
        (None, 400, "must be a JSON object"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("before_it", [0, 2])
def test_bad_input_names_the_change(
    full: Agent, bad: Any, status: int, said: str, before_it: int
) -> None:
    full.remember("k", "s", "b")
    before = stored()
    good = [{**SAVE, "key": f"good{n}"} for n in range(before_it)]
    response = apply(full, *good, bad, {"op": "drop", "key": "k"})
    detail = assert_problem(response, status)["detail"]
    assert detail.startswith(f"Change {before_it + 1}: ")
    assert said in detail
    assert stored() == before


@pytest.mark.parametrize(
    ("last", "status", "code"),
    [
        ({"op": "save", "key": "k", "body": "x", "expected_revision": 7}, 409, "conflict"),
        ({"op": "drop", "key": "k", "expected_revision": 7}, 409, "conflict"),
        ({"op": "restore", "key": "k", "revision": 1, "expected_revision": 0}, 409, "conflict"),
        ({"op": "restore", "key": "other", "revision": 1}, 400, "refused"),
    ],
)
def test_all_or_nothing(full: Agent, last: dict[str, Any], status: int, code: str) -> None:
    full.remember("k", "s", "b")
    before = stored()
    problem = assert_problem(apply(full, SAVE, {"op": "store", "body": 1}, last), status, code)
    assert f'"{last["key"]}"' in problem["detail"]
    if status == 409:
        assert problem["current_revision"] == 1
    assert stored() == before


@pytest.mark.parametrize("number", [1, MOST_CHANGES - 1, MOST_CHANGES, MOST_CHANGES + 1])
def test_the_number_of_changes(agent: Agent, number: int) -> None:
    response = apply(agent, *({**SAVE, "key": f"k{n}"} for n in range(number)))
    if number > MOST_CHANGES:
        detail = assert_problem(response, 413, "too_large")["detail"]
        assert "1001 changes, the limit is 1000" in detail
        assert not Note.objects.exists()
        return
    assert len(response.json()["outcomes"]) == Note.objects.count() == number


@pytest.mark.parametrize(
    "fields",
    [{}, {"changes": []}, {"changes": None}, {"changes": {}}, {"changes": "[]"}, [], [SAVE],
     {"changes": [SAVE], "x": 1}, {"changes": [SAVE], "reason": 7},
     {"changes": [SAVE], "reason": "\x00"}, {"changes": [SAVE], "expected_revision": 1},
     b'{"changes":[{"op":"drop","op":"save","key":"k","body":"b"}]}', b"{", b"[" * 100_000],
)  # fmt: skip
def test_what_is_no_list_of_changes(agent: Agent, fields: Any) -> None:
    before = stored()
    assert_problem(agent.send("apply/", fields), 400, "refused")
    assert stored() == before


def test_a_precondition_or_a_query_would_be_ignored(agent: Agent) -> None:
    before = stored()
    conditional = agent.send("apply/", {"changes": [SAVE]}, headers={"If-Match": '"0"'})
    assert "expected_revision" in assert_problem(conditional, 400, "refused")["detail"]
    assert_problem(agent.send("apply/?workspace=x", {"changes": [SAVE]}), 400, "refused")
    private = agent.send("apply/", {"changes": [SAVE]}, headers={"Memory-Session": "s"})
    assert_problem(private, 400, "refused")
    assert stored() == before


def test_a_named_apply_is_done_once(full: Agent) -> None:
    full.remember("gone", "s", "b")
    changes = [SAVE, {"op": "store", "body": "b"}, {"op": "drop", "key": "gone"}]
    named = {"headers": {"Idempotency-Key": "n1"}}
    first = full.send("apply/", {"changes": changes}, **named)
    assert "Idempotency-Replayed" not in first.headers
    Memory("core").remember("new", "later", "later")
    before = stored()
    again = full.send("apply/", {"changes": changes}, **named)
    assert (again.content, again["Idempotency-Replayed"]) == (first.content, "true")
    for other in (changes[:-1], [*changes, SAVE], changes[::-1]):
        problem = full.send("apply/", {"changes": other}, **named)
        assert_problem(problem, 422, "replay_mismatch")
    assert_problem(full.send("apply/", {"changes": changes, "reason": "r"}, **named), 422)
    assert stored() == before
    assert RecordedCall.objects.count() == 1


def test_a_conflict_is_not_recorded(agent: Agent) -> None:
    named = {"headers": {"Idempotency-Key": "n1"}}
    changes = [{**SAVE, "expected_revision": 1}]
    assert_problem(agent.send("apply/", {"changes": changes}, **named), 409)
    assert not RecordedCall.objects.exists()
    agent.remember("new", "s", "first")
    assert agent.send("apply/", {"changes": changes}, **named).status_code == 200


# Who may


OPS: dict[str, dict[str, Any]] = {
    "save": SAVE,
    "store": {"op": "store", "body": "x"},
    "drop": {"op": "drop", "key": "k"},
    "restore": {"op": "restore", "key": "k", "revision": 1},
}


@pytest.mark.parametrize(
    ("tools", "allowed"),
    [
        (None, {"save", "drop", "restore"}),
        (["remember"], {"save", "restore"}),
        (["forget"], {"drop"}),
        (["store"], {"store"}),
        (["recall", "search"], set()),
        ([], set()),
    ],
)
def test_a_key_needs_the_tool_of_each_kind(tools: list[str] | None, allowed: set[str]) -> None:
    Memory("core").remember("k", "s", "b")
    workspace = Workspace.objects.get()
    agent = Agent(AgentKeyFactory(workspace=workspace, tools=tools))
    for op, change in OPS.items():
        before = stored()
        response = apply(agent, change)
        assert response.status_code == (200 if op in allowed else 403), (op, response.content)
        if op not in allowed:
            assert_problem(response, 403, "not_allowed")
            assert stored() == before
    before = stored()
    if allowed != set(OPS):
        assert_problem(apply(agent, *OPS.values()), 403, "not_allowed")
    assert stored() == before


def test_a_reading_key(db: None) -> None:
    agent = Agent(access="read")
    for change in OPS.values():
        before = stored()
        assert "read access only" in assert_problem(apply(agent, change), 403)["detail"]
        assert stored() == before


PERMISSIONS = {
    "save": ("add_note", "change_note"),
    "store": ("add_note", "change_note"),
    "drop": ("delete_note",),
    "restore": ("add_note", "change_note", "delete_note"),
}


@pytest.mark.parametrize("op", OPS)
def test_a_user_needs_the_permissions_of_each_kind(op: str) -> None:
    Memory("core").remember("k", "s", "b")
    Memory("core").remember("k", "s", "later")
    body: dict[str, Any] = {"data": {"changes": [OPS[op]]}, "content_type": "application/json"}
    for missing in PERMISSIONS[op]:
        held = {"view_note", "add_note", "change_note", "delete_note"} - {missing}
        client = Client()
        client.force_login(UserFactory(permissions=tuple(held)))
        before = stored()
        detail = assert_problem(client.post("/memory/apply/core/", **body), 403)["detail"]
        assert f"agent_memory.{missing}" in detail
        assert stored() == before
    client = signed_in(*PERMISSIONS[op])
    assert client.post("/memory/apply/core/", **body).status_code == 200
    assert_problem(client.post("/memory/apply/", **body), 400, "refused")
    assert_problem(client.post("/memory/apply/elsewhere/", **body), 403, "not_allowed")
    assert Revision.objects.latest("number").actor == "ann"


def test_another_workspace_is_as_one_that_does_not_exist(agent: Agent) -> None:
    Memory("tenant-b").remember("k", "s", "b")
    before = stored()
    there = apply(agent, SAVE, address="apply/tenant-b/")
    assert_problem(there, 404, "not_found")
    assert there.content == apply(agent, SAVE, address="apply/nowhere/").content
    assert stored() == before


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
def test_it_only_posts(agent: Agent, method: str) -> None:
    for address in ("apply/", "compose/"):
        response = agent.send(address, {}, method)
        assert_problem(response, 405, "method_not_allowed")
        assert response["Allow"] == "POST"


def test_statements_do_not_grow_with_the_changes(agent: Agent) -> None:
    def count(number: int) -> int:
        changes = [{**SAVE, "key": f"{number}/{n}"} for n in range(number)]
        with CaptureQueriesContext(connection) as queries:
            assert apply(agent, *changes).status_code == 200
        return len(queries)

    # SQLite takes only so many values in one statement.
    assert count(20) == count(2)
