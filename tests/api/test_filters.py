"""The filters of the lists beside key, size and time: who, where, what about, and what is gone."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory import Save, usage
from django_agent_memory.memory import Memory
from django_agent_memory.models import Note, NoteUsage
from tests.factories import AgentKeyFactory, UserFactory

from .conftest import Agent, assert_problem

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def keys(caller: Any, address: str = "notes/", **query: Any) -> list[str]:
    client = caller.http if isinstance(caller, Agent) else caller
    response = client.get(f"/memory/{address}", query)
    assert response.status_code == 200, response.content
    return [row.get("key", row.get("path")) for row in response.json()["results"]]


@pytest.fixture
def admin(db: None) -> Client:
    """A superuser's session."""
    client = Client(raise_request_exception=False)
    client.force_login(UserFactory(is_superuser=True))
    return client


def days(number: float) -> str:
    return (NOW + datetime.timedelta(days=number)).isoformat()


PATHS = ["a", "a/b", "a/b/c", "a-b", "a.b/c", "a0", "A/b", "a_", "ab/c"]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a", ["a", "a/b", "a/b/c"]),
        ("a/b", ["a/b", "a/b/c"]),
        ("a/b/c", ["a/b/c"]),
        ("A", ["A/b"]),
        ("a.b", ["a.b/c"]),
        ("nowhere", []),
    ],
)
def test_a_path_and_all_below_it(admin: Client, path: str, found: list[str]) -> None:
    for workspace in PATHS:
        Memory(workspace).remember(workspace, "s", "b")
    assert sorted(keys(admin, "workspaces/", path_within=path)) == sorted(found)
    for address in ("notes/", "index-entries/", "revisions/"):
        assert sorted(keys(admin, address, workspace_within=path)) == sorted(found)
        exact = [path] if path in PATHS else []
        assert keys(admin, address, workspace=path, workspace_within=path) == exact


def test_a_key_sees_its_own_workspace_of_them_only() -> None:
    for workspace in PATHS:
        Memory(workspace).remember(workspace, "s", "b")
    agent = Agent(workspace="a/b")
    assert keys(agent, workspace_within="a") == keys(agent, workspace_within="a/b") == ["a/b"]
    assert keys(agent, "workspaces/", path_within="a") == ["a/b"]
    assert keys(agent, workspace_within="ab") == []


def test_what_is_known_of_a_note(agent: Agent) -> None:
    known: dict[str, Any] = {"kind": "fact", "slot": "sys", "subject": "Ann", "source": "mail"}
    memory = Memory("core")
    memory.apply(
        [
            Save(key="all", body="b", context=("x", "y/z"), happened_at=NOW, **known),
            Save(key="none", body="b"),
            Save(key="near", body="b", context="X", **{n: f"{v} " for n, v in known.items()}),
            Save(key="y/z", body="b"),
        ]
    )
    for name, value in known.items():
        assert keys(agent, **{name: value}) == ["all"], name
        assert keys(agent, **{name: f"{value} "}) == ["near"], name
        assert keys(agent, **{name: value.upper()}) == [], name
    assert keys(agent, context="x") == ["all"]
    assert keys(agent, context="y/z") == ["all"]
    assert keys(agent, context="y") == ["y/z"]
    assert keys(agent, happened_after=days(-1), happened_before=days(1)) == ["all"]
    assert keys(agent, happened_after=NOW.isoformat()) == ["all"]
    assert keys(agent, happened_before=NOW.isoformat()) == []
    assert keys(agent, happened_after=days(1)) == []
    assert keys(agent, **known, context="x", happened_before=days(1), size_max=1) == ["all"]


def test_the_actor_is_who_wrote_what_it_says_now(agent: Agent) -> None:
    Memory("core", actor="ann").remember("a", "s", "b")
    Memory("core", actor="ann").remember("b", "s", "b")
    Memory("core", actor="Ann").remember("b", "s", "later")
    Memory("other", actor="bo").apply([Save(key=f"o{n}", body="b") for n in range(3)])
    assert keys(agent, actor="ann") == ["a"]
    assert keys(agent, actor="Ann") == ["b"]
    # Another workspace has revisions of the same numbers.
    assert keys(agent, actor="bo") == []
    assert keys(agent, "revisions/", actor="ann") == ["b", "a"]


def test_who_wrote_is_for_those_who_may_see_the_history(agent: Agent) -> None:
    agent.remember()
    lister = Agent(AgentKeyFactory(workspace=agent.key.workspace, tools=["list_memories"]))
    assert_problem(lister.get("notes/", {"actor": agent.key.name}), 403, "not_allowed")
    client = Client()
    client.force_login(UserFactory(permissions=("view_note",)))
    refused = client.get("/memory/notes/", {"actor": agent.key.name})
    assert "view_revision" in assert_problem(refused, 403, "not_allowed")["detail"]
    client.force_login(UserFactory(permissions=("view_note", "view_revision")))
    assert keys(client, actor=agent.key.name) == ["k"]


def test_never_recalled(agent: Agent) -> None:
    usage._PENDING.take()
    Memory("core").apply([Save(key=key, body="b") for key in "abc"])
    Memory("other").apply([Save(key=key, body="b") for key in "abc"])
    for key, count in (("b", 1), ("c", 7)):
        note = Note.objects.get(workspace__path="core", key=key)
        NoteUsage.objects.create(
            workspace=note.workspace, position=note.position, recalled_at=NOW, recall_count=count
        )
    assert keys(agent, never_recalled="true") == ["a"]
    assert keys(agent, never_recalled="false") == ["b", "c"]
    assert keys(agent) == ["a", "b", "c"]
    assert keys(agent, never_recalled="false", key="c") == ["c"]


def test_expired_notes_are_there_only_if_asked_for(agent: Agent) -> None:
    Memory("core").apply(
        [
            Save(key="for ever", summary="s", body="b"),
            Save(key="soon", summary="s", body="b", expires_at=NOW + datetime.timedelta(days=1)),
            Save(key="gone", summary="s", body="b", expires_at=NOW - datetime.timedelta(days=1)),
        ]
    )
    pk = Note.objects.get(key="gone").pk
    assert keys(agent) == keys(agent, expired="false") == ["for ever", "soon"]
    assert keys(agent, expired="true") == ["gone"]
    assert keys(agent, expired="true", search="b") == ["gone"]
    assert keys(agent, search="b") == ["for ever", "soon"]
    assert keys(agent, key="gone") == keys(agent, expired="true", key="soon") == []
    assert keys(agent, "index-entries/") == ["for ever", "soon"]
    assert_problem(agent.get(f"notes/{pk}/"), 404, "not_found")
    Note.objects.filter(key="soon").update(expires_at=NOW - datetime.timedelta(hours=1))
    assert keys(agent, expired="true", ordering="-key") == ["soon", "gone"]


@pytest.mark.parametrize("expired", [None, "true", "false"])
def test_what_a_session_has_to_itself_is_never_there(
    agent: Agent, admin: Client, expired: str | None
) -> None:
    memory = Memory("core", session="s1")
    memory.remember("mine", "s", "b", persist=False)
    memory.remember("late", "s", "b", persist=False)
    Note.objects.filter(key="late").update(expires_at=NOW - datetime.timedelta(days=1))
    query = {} if expired is None else {"expired": expired}
    for caller in (agent, admin):
        assert keys(caller, **query) == []
        assert keys(caller, search="b", has_summary="true", **query) == []


def test_one_row_takes_no_parameters(agent: Agent) -> None:
    agent.remember()
    pk = Note.objects.get().pk
    assert_problem(agent.get(f"notes/{pk}/", {"expired": "true"}), 400, "refused")
    assert_problem(agent.get(f"notes/{pk}/", {"format": "json"}), 400, "refused")


EVERY = {
    "notes/": {
        "workspace": "core", "workspace_within": "core", "key_prefix": "k", "kind": "fact",
        "slot": "sys", "subject": "Ann", "source": "mail", "context": "x", "actor": "ann",
        "has_summary": "true", "never_recalled": "true", "expired": "false", "size_min": "1",
        "size_max": "9", "created_after": days(-1), "created_before": days(1),
        "updated_after": days(-1), "updated_before": days(1), "happened_after": days(-1),
        "happened_before": days(1), "ordering": "-updated_at",
    },
    "index-entries/": {"workspace": "core", "workspace_within": "core", "key_prefix": "k"},
    "revisions/": {
        "workspace": "core", "workspace_within": "core", "key_prefix": "k", "actor": "ann",
        "operation": "remember", "created_after": days(-1), "created_before": days(1),
    },
    "workspaces/": {
        "path": "core", "path_within": "core", "created_after": days(-1),
        "created_before": days(1), "updated_after": days(-1), "updated_before": days(1),
    },
}  # fmt: skip


@pytest.mark.parametrize("address", EVERY)
def test_all_filters_together_are_one_statement_whatever_the_page(
    agent: Agent, address: str
) -> None:
    known: dict[str, Any] = {"kind": "fact", "slot": "sys", "subject": "Ann", "source": "mail"}
    counts = set()
    for size in (1, 60):
        Memory("core", actor="ann").apply(
            [
                Save(key=f"k{n}", summary="s", body="b", context="x", happened_at=NOW, **known)
                for n in range(size)
            ]
        )
        with CaptureQueriesContext(connection) as queries:
            found = keys(agent, address, page_size=200, **EVERY[address])
        assert len(found) == (1 if address == "workspaces/" else size)
        counts.add(len(queries))
    assert counts == {2}
