"""Values over HTTP: exact, guarded, and refused as everything else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from django_agent_memory.memory import Memory
from django_agent_memory.models import RecordedCall, Workspace
from tests.factories import UserFactory
from tests.test_values import VALUES, exact

from .conftest import MOUNT, Agent, assert_problem, stored

pytestmark = pytest.mark.django_db

ADDRESSES = ["values/", "values", "values/core/", "values/core"]


def put(agent: Agent, key: Any = "k", value: Any = 1, method: str = "put", **fields: Any) -> Any:
    return agent.send("values/", {"key": key, "value": value, **fields}, method)


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("method", ["put", "post"])
def test_set_get_list_delete(agent: Agent, address: str, method: str) -> None:
    response = agent.send(address, {"key": "user/theme", "value": "dark"}, method)
    assert response.json() == {
        "key": "user/theme", "outcome": "created", "revision": 1, "workspace_revision": 1,
    }  # fmt: skip
    assert response["Workspace-Revision"] == "1"
    assert response["Cache-Control"] == "private, no-cache"
    one = agent.get(address, {"key": "user/theme"})
    assert {**one.json(), "created_at": 0, "updated_at": 0} == {
        "key": "user/theme", "value": "dark", "revision": 1, "created_at": 0, "updated_at": 0,
        "workspace_revision": 1,
    }  # fmt: skip
    assert one["Workspace-Revision"] == "1"
    listed = agent.get(address)
    assert listed.json() == {
        "values": [{"key": "user/theme", "value": "dark"}],
        "workspace_revision": 1,
    }
    gone = agent.http.delete(f"{MOUNT}{address}?key=user/theme")
    assert gone.json() == {
        "key": "user/theme", "deleted": True, "revision": 2, "workspace_revision": 2,
    }  # fmt: skip
    again = agent.send(address, {"key": "user/theme"}, "delete")
    assert again.json() == {
        "key": "user/theme", "deleted": False, "revision": None, "workspace_revision": 2,
    }  # fmt: skip
    assert_problem(agent.get(address, {"key": "user/theme"}), 404, "not_found")


def test_a_head_is_a_get_without_its_body(agent: Agent) -> None:
    put(agent)
    response = agent.http.head(f"{MOUNT}values/")
    assert (response.status_code, response.content) == (200, b"")


@pytest.mark.parametrize("value", VALUES, ids=ascii)
def test_a_value_comes_back_as_it_was(agent: Agent, value: Any) -> None:
    assert put(agent, "k", value).status_code == 200
    assert exact(agent.get("values/", {"key": "k"}).json()["value"]) == exact(value)
    assert exact(agent.get("values/").json()["values"][0]["value"]) == exact(value)
    assert exact(Memory("core").values["k"]) == exact(value)
    assert put(agent, "k", value).json()["outcome"] == "unchanged"


def test_a_prefix(agent: Agent) -> None:
    Memory("core").values.update({"a/x": 1, "A/x": 2, "a%": 3, "a_": 4, "é": 5})
    for prefix, keys in {"a": ["a%", "a/x", "a_"], "a_": ["a_"], "A": ["A/x"], "e": []}.items():
        listed = agent.get("values/", {"prefix": prefix}).json()["values"]
        assert [row["key"] for row in listed] == keys


def test_a_summary_stays_and_a_reason_is_kept(agent: Agent) -> None:
    agent.remember("k", "A line", "old")
    put(agent, "k", [1], reason="why")
    recalled = agent.call("recall", key="k").json()
    assert (recalled["summary"], recalled["body"]) == ("A line", [1])
    last = Memory("core").history("k")[-1]
    assert (last.reason, last.actor) == ("why", agent.key.name)


def test_what_the_caller_saw_is_checked(agent: Agent) -> None:
    put(agent, "k", 1)
    put(agent, "k", 2)
    before = stored()
    stale: list[Any] = [
        put(agent, "k", 3, expected_revision=1),
        put(agent, "k", 3, expected_revision=0),
        agent.send("values/", {"key": "k", "value": 3}, "put", headers={"If-Match": '"1"'}),
        agent.send("values/", {"key": "k", "expected_revision": 1}, "delete"),
        agent.http.delete(f"{MOUNT}values/?key=k&expected_revision=1"),
        agent.http.delete(f"{MOUNT}values/?key=k", headers={"If-Match": '"1"'}),
    ]
    for response in stale:
        assert assert_problem(response, 409, "conflict")["current_revision"] == 2
    assert stored() == before
    assert put(agent, "k", 3, expected_revision=2).json()["revision"] == 3
    fresh = agent.http.delete(f"{MOUNT}values/?key=k", headers={"If-Match": '"3"'})
    assert fresh.json()["deleted"] is True


# Clear


def test_clear_repeats_the_path(agent: Agent) -> None:
    agent.remember("note", "s", "b")
    put(agent)
    response = agent.send("values/", {"clear": "core", "reason": "done"}, "delete")
    assert response.json() == {"cleared": 2, "workspace_revision": 4}
    assert Memory("core").history("note")[-1].reason == "done"
    assert Workspace.objects.filter(path="core").exists()
    again = agent.http.delete(f"{MOUNT}values/core/?clear=core")
    assert again.json() == {"cleared": 0, "workspace_revision": 4}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"clear": ""},
        {"clear": "Core"},
        {"clear": "core/"},
        {"clear": True},
        {"clear": None},
        {"clear": "other"},
        {"clear": "core", "key": "k"},
        {"clear": "core", "expected_revision": 1},
        {"clear": "core", "reason": 5},
        {"clear": "core", "prefix": ""},
    ],
)
def test_nothing_less_clears(agent: Agent, fields: dict[str, Any]) -> None:
    put(agent)
    before = stored()
    assert_problem(agent.send("values/", fields, "delete"), 400)
    assert stored() == before


def test_a_clear_takes_no_precondition(agent: Agent) -> None:
    put(agent)
    response = agent.http.delete(f"{MOUNT}values/?clear=core", headers={"If-Match": '"1"'})
    assert_problem(response, 400, "refused")


# Refusals


@pytest.mark.parametrize("value", ["null", "NaN", "[Infinity]", "-Infinity", "1e400", '"\\u0000"',
    '"\\ud800"', '{"a":1,"a":2}', '[{"b":{"a":1,"\\u0061":1}}]', "9" * 5000, "[" * 101 + "]" * 101,
    "{", ""])  # fmt: skip
def test_a_value_that_cannot_be_stored(agent: Agent, value: str) -> None:
    put(agent)
    before = stored()
    for method in ("put", "post"):
        response = agent.send("values/", f'{{"key":"k","value":{value}}}', method)
        assert_problem(response, 400)
    assert stored() == before


def test_a_name_that_stands_twice_is_named(agent: Agent) -> None:
    for body in ('{"key":"a","key":"b","value":1}', '{"key":"a","value":{"key":1,"key":1}}'):
        problem = assert_problem(agent.send("values/", body, "put"), 400, "refused")
        assert problem["detail"] == "The JSON has the name 'key' twice in one object."
    assert_problem(agent.send("values/", '{"key":"a","key":"b"}', "delete"), 400, "refused")
    assert not Memory("core").values


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        "text",
        {"key": "k"},
        {"value": 1},
        {"key": "", "value": 1},
        {"key": 5, "value": 1},
        {"key": None, "value": 1},
        {"key": "\x00", "value": 1},
        {"key": "k", "value": 1, "summary": "s"},
        {"key": "k", "value": 1, "workspace": "core"},
        {"key": "k", "value": 1, "expected_revision": "1"},
        {"key": "k", "value": 1, "expected_revision": -1},
        {"key": "k", "value": 1, "expected_revision": True},
        {"key": "k", "value": 1, "reason": 5},
    ],
)
def test_a_bad_set_writes_nothing(agent: Agent, body: Any) -> None:
    before = stored()
    assert_problem(agent.send("values/", body, "put"), 400)
    assert stored() == before


@pytest.mark.parametrize(
    "query",
    [
        "key=",
        "key=%00",
        "prefix=%00",
        "key=a&prefix=a",
        "key=a&key=b",
        "limit=1",
        "key=%zz",
        "key=a&reason=x",
    ],
)
def test_a_bad_question(agent: Agent, query: str) -> None:
    assert_problem(agent.http.get(f"{MOUNT}values/?{query}"), 400)


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("key=", None),
        ("reason=x", None),
        ("expected_revision=1", None),
        ("key=k&expected_revision=x", None),
        ("key=k&expected_revision=-1", None),
        ("key=k&prefix=k", None),
        ("key=k", {"key": "k"}),
        ("key=k", []),
        ("", {"reason": "x"}),
        ("", {"key": None}),
        ("", {"key": "k", "expected_revision": "1"}),
        ("", [1]),
    ],
)
def test_a_bad_delete_deletes_nothing(agent: Agent, query: str, body: Any) -> None:
    put(agent)
    before = stored()
    data = "" if body is None else json.dumps(body)
    assert_problem(agent.send(f"values/?{query}", data, "delete"), 400)
    assert stored() == before


def test_sizes(agent: Agent, settings: Any) -> None:
    settings.AGENT_MEMORY_MAX_BODY_LENGTH = 10
    assert put(agent, "k", "x" * 10).status_code == 200
    assert put(agent, "k", ["x" * 6]).status_code == 200
    for value in ("x" * 11, ["x" * 7]):
        assert_problem(put(agent, "k", value), 413, "too_large")
    assert_problem(put(agent, "k" * 513, 1), 413, "too_large")


def test_other_methods(agent: Agent) -> None:
    response = agent.send("values/", {"key": "k", "value": 1}, "patch")
    assert_problem(response, 405)
    assert response["Allow"] == "DELETE, GET, HEAD, POST, PUT"


# Who may


def requests_by(send: Any) -> dict[str, int]:
    """Return the status of each kind of request; `send(method, address, data)` sends one."""
    return {
        "get": send("GET", "values/core/?key=k", None).status_code,
        "list": send("GET", "values/core/", None).status_code,
        "set": send("PUT", "values/core/", {"key": "k", "value": 2}).status_code,
        "delete": send("DELETE", "values/core/", {"key": "none"}).status_code,
        "clear": send("DELETE", "values/core/", {"clear": "core"}).status_code,
    }


def sender(client: Client) -> Any:
    def send(method: str, address: str, data: Any) -> Any:
        body = "" if data is None else json.dumps(data)
        return client.generic(method, MOUNT + address, body, content_type="application/json")

    return send


@pytest.mark.parametrize(
    ("terms", "allowed"),
    [
        ({}, {"get", "list", "set", "delete", "clear"}),
        ({"access": "read"}, {"get", "list"}),
        ({"tools": ["recall"]}, {"get"}),
        ({"tools": ["recall", "list_memories"]}, {"get", "list"}),
        ({"tools": ["list_memories", "search"]}, set()),
        ({"tools": ["remember"]}, {"set"}),
        ({"tools": ["forget"]}, {"delete", "clear"}),
        ({"tools": ["forget", "remember"], "access": "read"}, set()),
    ],
)
def test_a_key_needs_the_tool_that_does_the_same(
    db: None, terms: dict[str, Any], allowed: set[str]
) -> None:
    Memory("core").values["k"] = 1
    statuses = requests_by(sender(Agent(**terms).http))
    assert {kind for kind, status in statuses.items() if status == 200} == allowed
    assert set(statuses.values()) <= {200, 403}


@pytest.mark.parametrize(
    ("permissions", "allowed"),
    [
        ([], set()),
        (["view_note"], {"get", "list"}),
        (["add_note"], set()),
        (["add_note", "change_note"], {"set"}),
        (["delete_note"], {"delete", "clear"}),
    ],
)
def test_a_user_needs_the_permissions(db: None, permissions: list[str], allowed: set[str]) -> None:
    Memory("core").values["k"] = 1
    client = Client()
    client.force_login(UserFactory(permissions=permissions))
    statuses = requests_by(sender(client))
    assert {kind for kind, status in statuses.items() if status == 200} == allowed
    # Who has no right to any memory may not know which there are.
    assert set(statuses.values()) <= {200, 403 if permissions else 404}


def test_no_one_without_a_credential(db: None) -> None:
    assert set(requests_by(sender(Client())).values()) == {401}


def test_another_workspace_is_as_none(agent: Agent) -> None:
    Memory("other").values["k"] = "hidden"
    before = stored()
    for path in ("other", "nowhere", "core/sub", "CORE"):
        for method, data in [
            ("get", ""),
            ("put", {"key": "k", "value": 1}),
            ("delete", {"key": "k"}),
            ("delete", {"clear": path}),
        ]:
            assert_problem(agent.send(f"values/{path}/", data, method), 404, "not_found")
    assert stored() == before


def test_a_user_names_the_workspace_and_may_make_it_or_not(db: None) -> None:
    client = Client()
    client.force_login(UserFactory(permissions=["add_note", "change_note", "view_note"]))
    send = sender(client)
    assert_problem(send("GET", "values/", None), 400)
    assert_problem(send("PUT", "values/new/", {"key": "k", "value": 1}), 403)
    assert send("GET", "values/new/", None).json() == {"values": [], "workspace_revision": 0}
    assert not Workspace.objects.exists()


# A call made again


def test_writes_may_be_named(agent: Agent) -> None:
    calls: list[tuple[str, Any]] = [
        ("put", {"key": "k", "value": {"a": [1, 1.0]}}),
        ("put", {"key": "k", "value": 2, "reason": "r"}),
        ("delete", {"key": "k"}),
        ("delete", {"key": "k"}),
        ("delete", {"clear": "core"}),
    ]
    first = [
        agent.send("values/", data, method, headers={"Idempotency-Key": f"n{n}"})
        for n, (method, data) in enumerate(calls)
    ]
    assert [response.status_code for response in first] == [200] * 5
    Memory("core").values["k"] = "later"
    before = stored()
    for n, (method, data) in enumerate(calls):
        again = agent.send("values/", data, method, headers={"Idempotency-Key": f"n{n}"})
        assert again["Idempotency-Replayed"] == "true"
        assert again.content == first[n].content
        assert again["Workspace-Revision"] == first[n]["Workspace-Revision"]
    assert stored() == before
    assert RecordedCall.objects.count() == 5
    other = {"key": "k", "value": 3}
    response = agent.send("values/", other, "put", headers={"Idempotency-Key": "n0"})
    assert_problem(response, 422, "replay_mismatch")


def test_a_set_and_a_remember_are_different_calls(agent: Agent) -> None:
    named = {"headers": {"Idempotency-Key": "n"}}
    agent.send("values/", {"key": "k", "value": 1}, "put", **named)
    response = agent.send("tools/remember/", {"key": "k", "summary": "s", "body": 1}, **named)
    assert_problem(response, 422, "replay_mismatch")


def test_statements(agent: Agent, django_assert_num_queries: Any) -> None:
    put(agent)
    with django_assert_num_queries(2):
        agent.get("values/", {"key": "k"})
    with django_assert_num_queries(3):
        agent.get("values/")
    # SAVEPOINT and RELEASE stand for BEGIN and COMMIT inside the test's transaction.
    with django_assert_num_queries(1 + 7 + 2):
        put(agent, "k", 2)
