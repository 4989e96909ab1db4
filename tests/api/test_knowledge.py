"""Knowledge over HTTP: the tools that have to be asked for, and the notes' other fields."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from django_agent_memory import Memory
from django_agent_memory.models import Note
from tests.factories import UserFactory

from .conftest import Agent, assert_problem

KNOWLEDGE = ["store", "find", "forget_matching"]
SAID = "2023-05-08T13:56:00+00:00"


@pytest.fixture
def agent(db: None) -> Agent:
    return Agent(tools=[*KNOWLEDGE, "remember", "recall", "forget", "list_memories"])


def names(response: Any) -> list[str]:
    return [tool["name"] for tool in response.json()["tools"]]


# The tools


def test_they_are_there_for_who_asks_for_them(db: None) -> None:
    plain = Agent()
    assert not set(names(plain.get("tools/"))) & set(KNOWLEDGE)
    for tool in KNOWLEDGE:
        assert_problem(plain.call(tool, content="c", query="q"), 403)
    assert names(Agent(tools=["find"]).get("tools/")) == ["find"]
    reader = Agent(tools=KNOWLEDGE, access="read")
    assert names(reader.get("tools/")) == ["find"]
    assert_problem(reader.call("store", content="c"), 403)
    assert_problem(reader.call("forget_matching", slot="s"), 403)


def test_store_find_and_forget(agent: Agent) -> None:
    stored = agent.call(
        "store",
        content="Ann plays the cello",
        context=["music", "band/strings"],
        subject="Ann",
        weight=2,
        slot="people",
        kind="fact",
        happened_at="2023-05-08T13:56:00Z",
        summary=None,
    ).json()
    assert stored["outcome"] == "created"
    assert stored["text"] == f'saved "{stored["key"]}".'
    assert stored["workspace_revision"] == 1
    found = agent.call("find", slot="people", context="music").json()
    assert found["text"] == f"- {stored['key']}: (no summary)\n  Ann plays the cello"
    assert (found["shown"], found["workspace_revision"]) == (1, 1)
    (one,) = found["found"]
    assert one["contexts"] == ["band/strings", "music"]
    assert (one["body"], one["summary"], one["subject"]) == ("Ann plays the cello", None, "Ann")
    assert (one["weight"], one["kind"], one["happened_at"]) == (2.0, "fact", SAID)
    assert (one["score"], set(one["parts"])) == (0.0, {"weight", "recency", "specificity"})
    gone = agent.call("forget_matching", subject="Ann").json()
    assert gone == {
        "text": "forgot 1 memory — their revisions are kept.",
        "forgotten": 1,
        "workspace_revision": 2,
    }
    assert agent.call("find", slot="people").json()["text"] == "(no memory is about this.)"
    assert agent.call("forget_matching", subject="Ann").json() == {
        "text": "no memory matches, so nothing was deleted.",
        "forgotten": 0,
        "workspace_revision": 2,
    }


def test_a_query_is_ranked(agent: Agent) -> None:
    agent.call("store", content="Ann plays the cello")
    agent.call("store", content="Bob bakes rye bread")
    (first, *_) = agent.call("find", query="who plays the cello?").json()["found"]
    assert first["body"] == "Ann plays the cello"
    assert first["score"] > 0
    assert first["parts"]


def test_find_by_get(agent: Agent) -> None:
    for number in range(12):
        agent.call("store", content=f"c{number}", slot="s", weight=number)
    assert agent.get("tools/find/", {"slot": "s"}).json()["shown"] == 10
    few = agent.get("tools/find/", {"slot": "s", "limit": "3", "min_weight": "9.5"}).json()
    assert [found["body"] for found in few["found"]] == ["c11", "c10"]
    assert agent.get("tools/find/", {"slot": "s", "limit": "11"}).json()["shown"] == 11
    assert_problem(agent.get("tools/find/", {"slot": "s", "limit": "x"}), 400)
    assert_problem(agent.get("tools/find/", {"slot": "s", "min_weight": "-1"}), 400)
    assert_problem(agent.get("tools/forget_matching/", {"slot": "s"}), 405)


@pytest.mark.parametrize(
    ("tool", "arguments", "detail"),
    [
        ("store", {}, "store needs the argument 'content'."),
        ("store", {"content": "c", "context": 1}, "The argument 'context' must be a string or"),
        ("store", {"content": "c", "context": [1]}, "The context must be a string"),
        ("store", {"content": "c", "context": ""}, "A context is empty"),
        ("store", {"content": "c", "weight": "2"}, "The argument 'weight' must be a number."),
        ("store", {"content": "c", "weight": True}, "The argument 'weight' must be a number."),
        ("store", {"content": "c", "weight": -1}, "The weight must be a finite number"),
        ("store", {"content": "c", "happened_at": "soon"}, "The argument 'happened_at' must be"),
        (
            "store",
            {"content": "c", "happened_at": "2023-05-08T10:00"},
            "The argument 'happened_at'",
        ),
        ("store", {"content": "c", "slot": "s" * 65}, "The slot is too long"),
        ("store", {"content": "c", "session": "s"}, "store takes only content, "),
        ("find", {"query": 1}, "The argument 'query' must be a string."),
        ("find", {"query": "q", "limit": 0}, "The limit must be from 1 to 100."),
        ("find", {"query": "q", "limit": 101}, "The limit must be from 1 to 100."),
        ("find", {"query": "q", "limit": 1.5}, "The argument 'limit' must be a whole number."),
        ("find", {"query": "a\x00"}, "The query contains a NUL character"),
        ("forget_matching", {}, "Say what to forget"),
        ("forget_matching", {"query": " ", "slot": ""}, "Say what to forget"),
    ],
    ids=str,
)
def test_refused(agent: Agent, tool: str, arguments: dict[str, Any], detail: str) -> None:
    document = assert_problem(agent.call(tool, **arguments), 413 if "too long" in detail else 400)
    assert document["detail"].startswith(detail)
    assert not Note.objects.exists()


def test_nothing_asked_is_nothing_found(agent: Agent) -> None:
    agent.call("store", content="c")
    for arguments in ({}, {"query": ""}, {"query": None, "slot": None}, {"context": []}):
        assert agent.call("find", **arguments).json()["found"] == []
    assert agent.call("find", slot="", limit=100).json()["shown"] == 1


def test_a_date_begins_in_the_zone_of_the_site(agent: Agent, settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    agent.call("store", content="c", key="k", happened_at="2023-05-08")
    happened_at = Note.objects.get().happened_at
    assert happened_at == datetime.datetime(2023, 5, 7, 22, tzinfo=datetime.UTC)


def test_a_call_made_again_is_answered_again(agent: Agent) -> None:
    def twice(tool: str, **arguments: Any) -> None:
        calls = [
            agent.send(f"tools/{tool}/", arguments, headers={"Idempotency-Key": tool})
            for _ in range(2)
        ]
        assert calls[0].content == calls[1].content
        assert calls[1]["Idempotency-Replayed"] == "true"

    twice("store", content="c", slot="s")
    assert Note.objects.count() == 1
    agent.call("store", content="d", slot="s")
    twice("find", slot="s")
    twice("forget_matching", slot="s")
    assert not Note.objects.exists()


def test_a_program_may_say_more_with_remember(agent: Agent) -> None:
    agent.call("remember", key="k", summary="s", body="b", context="x", weight=3, source="git")
    note = Note.objects.get()
    assert (note.known.contexts, note.weight, note.source) == (("x",), 3.0, "git")
    (spec,) = [t for t in agent.get("tools/").json()["tools"] if t["name"] == "remember"]
    assert list(spec["parameters"]["properties"]) == ["key", "summary", "body"]


def test_users_need_the_permissions(db: None) -> None:
    client = Client()
    client.force_login(UserFactory(permissions=("view_note", "add_note", "change_note")))
    Memory("core").remember("k", "s", "b", slot="s")

    def call(tool: str, **arguments: Any) -> Any:
        return client.post(
            f"/memory/tools/core/{tool}/", arguments, content_type="application/json"
        )

    assert call("store", content="c").status_code == 200
    assert call("find", slot="s").json()["shown"] == 1
    assert_problem(call("forget_matching", slot="s"), 403)


# The notes


def write(agent: Agent, data: Any, address: str = "notes/", method: str = "post") -> Any:
    response = agent.send(address, data, method)
    assert response.status_code in (200, 201), response.content
    return response.json()


def test_a_note_is_made_and_changed_with_all_that_is_known(agent: Agent) -> None:
    made = write(
        agent,
        {
            "key": "k",
            "body": "b",
            "context": ["b", "a"],
            "weight": 2,
            "kind": "fact",
            "slot": "system",
            "subject": "Ann",
            "source": "chat",
            "happened_at": "2023-05-08T15:56:00+02:00",
            "expires_at": "2999-01-01T00:00:00Z",
        },
    )
    assert (made["contexts"], made["weight"], made["happened_at"]) == (["a", "b"], 2.0, SAID)
    assert (made["kind"], made["slot"], made["subject"], made["source"]) == (
        "fact",
        "system",
        "Ann",
        "chat",
    )
    address = f"notes/{made['id']}/"
    changed = write(agent, {"weight": 0.5, "context": [], "expires_at": None}, address, "patch")
    assert (changed["contexts"], changed["weight"], changed["expires_at"]) == ([], 0.5, None)
    assert (changed["slot"], changed["body"]) == ("system", "b")
    replaced = write(agent, {"body": "c"}, address, "put")
    assert (replaced["weight"], replaced["kind"], replaced["body"]) == (0.5, "fact", "c")


@pytest.mark.parametrize(
    "fields",
    [
        {"weight": -1},
        {"weight": None},
        {"context": ""},
        {"context": None},
        {"kind": None},
        {"kind": "k" * 65},
        {"happened_at": "2023-05-08"},
        {"happened_at": 5},
        {"expires_at": "soon"},
        {"contexts": ["a"]},
    ],
    ids=str,
)
def test_a_bad_field_is_refused(agent: Agent, fields: dict[str, Any]) -> None:
    status = 413 if len(str(fields.get("kind") or "")) > 64 else 400
    assert_problem(agent.send("notes/", {"key": "k", "body": "b", **fields}), status)
    assert not Note.objects.exists()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"kind": "fact"}, ["a/one", "two"]),
        ({"kind": "fac"}, []),
        ({"slot": "sys_em"}, ["two"]),
        ({"slot": "s%"}, []),
        ({"subject": "Ann"}, ["a/one"]),
        ({"source": "git"}, ["two"]),
        ({"context": "a"}, ["a/one", "three"]),
        ({"context": "%"}, []),
        ({"context": "a", "kind": "fact"}, ["a/one"]),
    ],
    ids=str,
)
def test_filters(agent: Agent, query: dict[str, str], expected: list[str]) -> None:
    memory = Memory("core")
    memory.remember("a/one", "s", "b", kind="fact", subject="Ann")
    memory.remember("three", "s", "b", context=["a", "b"])
    memory.remember("two", "s", "b", kind="fact", slot="sys_em", source="git")
    found = agent.get("notes/", query).json()["results"]
    assert [note["key"] for note in found] == expected


def test_a_filter_over_its_limit_is_refused(agent: Agent) -> None:
    assert_problem(agent.get("notes/", {"kind": "k" * 65}), 413)
    assert_problem(agent.get("notes/", {"source": "k" * 256}), 413)
    assert_problem(agent.get("notes/", {"context": "k" * 513}), 413)
    assert_problem(agent.get("notes/", {"context": ""}), 400)


def test_what_has_expired_is_not_listed(agent: Agent) -> None:
    memory = Memory("core")
    memory.remember("gone", "s", "b", expires_at=timezone.now() - datetime.timedelta(seconds=1))
    memory.remember("k", "s", "b")
    assert [note["key"] for note in agent.get("notes/").json()["results"]] == ["k"]
    assert [entry["key"] for entry in agent.get("index-entries/").json()["results"]] == ["k"]
    gone = Note.objects.get(key="gone")
    assert_problem(agent.get(f"notes/{gone.pk}/"), 404)
