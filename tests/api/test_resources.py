"""The resources: rows, filters, search, order, pages, writes through the channel, statements."""

from __future__ import annotations

import base64
import datetime
import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory import Save
from django_agent_memory.memory import Memory
from django_agent_memory.models import IndexEntry, Note, Revision, Workspace
from tests.factories import NoteFactory, UserFactory

from .conftest import Agent, assert_problem, stored

pytestmark = pytest.mark.django_db


def keys(agent: Agent, address: str = "notes/", **query: Any) -> list[str]:
    response = agent.get(address, query)
    assert response.status_code == 200, response.content
    return [row["key"] for row in response.json()["results"]]


@pytest.fixture
def admin(db: None) -> Client:
    """A superuser's session."""
    client = Client(raise_request_exception=False)
    client.force_login(UserFactory(is_superuser=True))
    return client


# Rows


def test_a_note_in_a_list_and_alone(agent: Agent) -> None:
    agent.remember("k", "s", {"a": [1, None]})
    (line,) = agent.get("notes/").json()["results"]
    note = Note.objects.get()
    assert line == {
        "id": note.pk,
        "workspace": "core",
        "workspace_revision": 1,
        "key": "k",
        "summary": "s",
        "size": 14,
        "kind": "",
        "slot": "",
        "subject": "",
        "weight": 1.0,
        "contexts": [],
        "source": "",
        "happened_at": None,
        "expires_at": None,
        "revision": 1,
        "created_at": note.created_at.isoformat(),
        "updated_at": note.updated_at.isoformat(),
    }
    assert agent.get(f"notes/{note.pk}").json() == {**line, "body": {"a": [1, None]}}


def test_index_entries_and_revisions(agent: Agent) -> None:
    agent.remember("k", "two\nlines", "b")
    agent.call("forget", key="k")
    agent.remember("k", "two\nlines", None)
    (entry,) = agent.get("index-entries/").json()["results"]
    assert (entry["summary"], entry["line"]) == ("two\nlines", "- k: two lines")
    assert agent.get(f"index-entries/{entry['id']}/").json() == entry
    revisions = agent.get("revisions/").json()["results"]
    assert [row["number"] for row in revisions] == [3, 2, 1]
    assert [row["operation"] for row in revisions] == ["remember", "forget", "remember"]
    assert "body" not in revisions[0]
    whole = [agent.get(f"revisions/{row['id']}/").json() for row in revisions]
    assert [(row["has_body"], row["body"]) for row in whole] == [
        (True, None),
        (False, None),
        (True, "b"),
    ]


def test_a_row_damaged_by_sql_is_shown(agent: Agent) -> None:
    agent.remember("k", "s", [1])
    for text in ("[1,", "NaN", "[1e999]", "b" * 1_000_001):
        Note.objects.update(body=text)
        pk = Note.objects.get().pk
        assert agent.get(f"notes/{pk}/").json()["body"] == text
        assert agent.call("recall", key="k").json()["body"] == text
        assert agent.get("notes/").json()["results"][0]["size"] == len(text)
    IndexEntry.objects.all().delete()
    assert agent.get(f"notes/{pk}/").json()["summary"] is None


# Filters


def test_filters_by_key(agent: Agent) -> None:
    for key in ("a", "a/b", "ab", "A", " a", "b_c", "bxc", "b%c"):
        agent.remember(key)
    for address in ("notes/", "index-entries/", "revisions/"):
        assert keys(agent, address, key="a") == ["a"]
        assert keys(agent, address, key=" a") == [" a"]
        assert sorted(keys(agent, address, key_prefix="a")) == ["a", "a/b", "ab"]
        assert keys(agent, address, key_prefix="a/") == ["a/b"]
        assert keys(agent, address, key_prefix="b_") == ["b_c"]
        assert keys(agent, address, key_prefix="b%") == ["b%c"]
        assert len(keys(agent, address, key_prefix="")) == 8
        assert keys(agent, address, workspace="core", key="zz") == []


def test_filters_by_summary_and_size(agent: Agent) -> None:
    Memory("core").apply([Save(key="value", body="x" * 50), Save(key="note", summary="", body="")])
    assert keys(agent, has_summary="true") == ["note"]
    assert keys(agent, has_summary="false") == ["value"]
    assert keys(agent, size_min="1") == ["value"]
    assert keys(agent, size_min="0", size_max="0") == ["note"]


def test_filters_by_time(agent: Agent) -> None:
    now = timezone.now()
    for key, days in (("old", 10), ("new", 1)):
        agent.remember(key)
        then = now - datetime.timedelta(days=days)
        Note.objects.filter(key=key).update(created_at=then, updated_at=then)
        Revision.objects.filter(key=key).update(created_at=then)
    border = (now - datetime.timedelta(days=5)).isoformat()
    for address in ("notes/", "revisions/"):
        assert keys(agent, address, created_after=border) == ["new"]
        assert keys(agent, address, created_before=border) == ["old"]
    assert keys(agent, updated_after=border, updated_before="2100-01-01T00:00:00Z") == ["new"]
    (exact,) = agent.get("notes/", {"key": "old"}).json()["results"]
    assert keys(agent, created_after=exact["created_at"], ordering="created_at")[0] == "old"


def test_filters_by_actor_and_operation(agent: Agent) -> None:
    Memory("core", actor="scribe").remember("a", "s", "b")
    Memory("core", actor="Scribe").forget("a")
    Memory("core", actor="scribe ").remember("c", "s", "b")
    assert keys(agent, "revisions/", actor="scribe") == ["a"]
    assert keys(agent, "revisions/", operation="forget", actor="Scribe") == ["a"]
    assert keys(agent, "revisions/", actor="nobody") == []


def test_search_is_the_tools_search(agent: Agent) -> None:
    agent.remember("a", "s", "100% Straße")
    agent.remember("b", "s", "100 STRASSEN")
    agent.remember("c", "привет", "x")
    assert keys(agent, search="strasse") == ["a", "b"]
    assert keys(agent, search="0%") == ["a"]
    assert keys(agent, search="ПРИВЕТ") == ["c"]
    assert keys(agent, search=" ") == ["a", "b"]
    assert keys(agent, search="") == ["a", "b", "c"]
    assert keys(agent, search="\x00") == []
    assert keys(agent, search="s", key_prefix="b", ordering="-key") == ["b"]


def test_search_takes_the_tool(db: None) -> None:
    agent = Agent(tools=["list_memories"])
    assert agent.get("notes/").status_code == 200
    assert_problem(agent.get("notes/", {"search": "x"}), 403, "not_allowed")


@pytest.mark.parametrize(
    ("address", "query"),
    [
        ("notes", "nosuch=1"), ("notes", "key="), ("notes", "workspace="), ("notes", "key=a&key=b"),
        ("notes", "workspace=*"), ("notes", "workspace=%25"), ("notes", "workspace=a//b"),
        ("notes", "key=%00"), ("notes", "key_prefix=%00"), ("notes", "has_summary=yes"),
        ("notes", "size_min=-1"), ("notes", "size_min=1.5"), ("notes", "size_min=" + "9" * 30),
        ("notes", "created_after=yesterday"), ("notes", "created_after=2026-13-01"),
        ("notes", "created_after=2026-11-30T08:00:00+05:30"), ("notes", "created_after=%00"),
        ("notes", "created_after=0001-01-01T00:00:00%2B14:00x"), ("notes", "ordering=body"),
        ("notes", "ordering=haystack"), ("notes", "ordering=workspace__path"),
        ("notes", "ordering=--key"), ("notes", "ordering=key,size"), ("notes", "ordering="),
        ("notes", "page_size=0"), ("notes", "page_size=-1"), ("notes", "page_size=x"),
        ("notes", "page_size="), ("notes", "cursor="),
        ("notes", "cursor=x"), ("notes", "cursor=%00"), ("notes", "cursor=W10"),
        ("notes", "cursor=WyJrZXkiLDEsMl0"), ("notes", "cursor=é"), ("notes", "search=%ff"),
        ("notes", "operation=x"), ("notes", "actor="), ("notes", "actor=%00"),
        ("notes", "actor=" + "x" * 256), ("notes", "never_recalled=1"), ("notes", "expired=yes"),
        ("notes", "expired="), ("notes", "workspace_within=a//b"), ("notes", "workspace_within="),
        ("notes", "workspace_within=core/"), ("notes", "happened_after=2026-11-30"),
        ("notes", "created_after=2026-11-30T08:00:00"), ("notes", "updated_before=2026-11-30"),
        ("workspaces", "created_after=2026-11-30T08:00:00"), ("workspaces", "path_within=%25"),
        ("revisions", "created_before=2026-11-30"), ("index-entries", "expired=true"),
        ("revisions", "kind=x"), ("notes", "size_max=" + "9" * 19), ("notes", "size_max=%2B1"),
        ("notes", "size_min=%D9%A3"), ("revisions", "search=x"), ("revisions", "operation=x"),
        ("revisions", "actor=%00"), ("revisions", "ordering=key"), ("revisions", "actor="),
        ("index-entries", "ordering=summary"), ("workspaces", "path=a//b"),
        ("workspaces", "key=x"), ("workspaces", "updated_after=x"),
    ],
)  # fmt: skip
def test_refused_queries(agent: Agent, address: str, query: str) -> None:
    agent.remember()
    response = agent.http.get(f"/memory/{address}/?{query}")
    assert_problem(response, 413 if "x" * 256 in query else 400)


EDGES_OF_TIME = [
    "0001-01-01T00:00:00+23:59", "0001-01-01", "0001-01-01T00:00:00", "0999-12-31T00:00:00Z",
    "1899-12-31T23:59:59Z", "1900-01-01T00:00:00+00:01", "9998-12-31T23:59:59-00:01", "9999-01-01Z",
    "9999-12-31", "9999-12-31T23:59:59", "9999-12-31T12:00:00-12:01", "9999-12-31T23:59:59-23:59",
    "9999-12-31T23:59:59+23:59",
]  # fmt: skip


@pytest.mark.parametrize("use_tz", [True, False])
@pytest.mark.parametrize("moment", EDGES_OF_TIME)
def test_times_that_not_every_database_holds(
    agent: Agent, settings: Any, moment: str, use_tz: bool
) -> None:
    agent.remember()
    settings.USE_TZ = use_tz
    settings.TIME_ZONE = "Pacific/Auckland"
    for address in ("notes/", "revisions/"):
        for name in ("created_after", "created_before"):
            detail = assert_problem(agent.get(address, {name: moment}), 400, "refused")["detail"]
            assert detail.startswith("A time for created_at must be ")
        position = json.dumps(["created_at", moment, 1]).encode()
        cursor = base64.urlsafe_b64encode(position).decode()
        query = {"ordering": "created_at", "cursor": cursor}
        assert "cursor" in assert_problem(agent.get(address, query), 400, "refused")["detail"]
    assert_problem(agent.get("workspaces/", {"updated_after": moment}), 400, "refused")
    past = agent.get("as-of/", {"key": "k", "at": moment})
    assert assert_problem(past, 400, "refused")["detail"].startswith("at must be ")


@pytest.mark.parametrize("use_tz", [True, False])
@pytest.mark.parametrize(
    ("early", "late"),
    [
        ("1900-01-01T00:00:00Z", "9998-12-31T23:59:59Z"),
        ("1900-01-01T23:59:00+23:59", "9999-01-01T23:58:59+23:59"),
    ],
)
def test_the_first_and_the_last_times(
    agent: Agent, settings: Any, early: str, late: str, use_tz: bool
) -> None:
    agent.remember()
    settings.USE_TZ = use_tz
    assert keys(agent, created_after=early, updated_before=late) == ["k"]
    assert keys(agent, created_after=late) == keys(agent, updated_before=early) == []
    for moment, found in ((early, False), (late, True)):
        response = agent.get("as-of/", {"key": "k", "at": moment})
        assert response.json()["found"] is found


def test_there_is_one_format(agent: Agent) -> None:
    for name in ("api", "json", "html"):
        document = assert_problem(agent.get("notes/", {"format": name}), 400, "refused")
        assert "'format' is unknown; there are: workspace, " in document["detail"]


# Order and pages


@pytest.mark.parametrize(
    "ordering", ["key", "-key", "created_at", "-updated_at", "size", "-size", "revision"]
)
def test_pages_cover_every_row_once(agent: Agent, ordering: str) -> None:
    # One apply: all times are equal, most sizes too.
    Memory("core").apply(
        [Save(key=f"k{n:02}é", summary="s", body="b" * (n % 3)) for n in range(23)]
    )
    whole = keys(agent, ordering=ordering, page_size=200)
    assert len(set(whole)) == 23
    seen: list[str] = []
    address = f"/memory/notes/?ordering={ordering}&page_size=5&key_prefix=k"
    pages = 0
    while address:
        answer = agent.http.get(address).json()
        seen += [row["key"] for row in answer["results"]]
        address = answer["next"]
        pages += 1
        assert answer["workspace_revision"] == 23
    assert (seen, pages) == (whole, 5)


def test_pages_stand_still_while_others_write(agent: Agent) -> None:
    for key in "bdfh":
        agent.remember(key)
    first = agent.get("notes/", {"page_size": 2}).json()
    agent.remember("a")
    agent.call("forget", key="d")
    agent.remember("e")
    assert [row["key"] for row in agent.http.get(first["next"]).json()["results"]] == ["e", "f"]


def test_page_sizes(agent: Agent) -> None:
    Memory("core").apply([Save(key=f"k{n:03}", summary="s", body="b") for n in range(201)])
    assert len(keys(agent)) == 50
    assert len(keys(agent, page_size=1)) == 1
    assert len(keys(agent, page_size=200)) == len(keys(agent, page_size=10**9)) == 200
    for digits in ("9" * 19, "9" * 5000, "0" * 5000 + "200"):
        assert len(keys(agent, page_size=digits)) == 200
    assert len(keys(agent, page_size="0" * 20 + "1")) == 1


@pytest.mark.parametrize("digits", ["-1", str(2**63), "1.5"])
def test_a_number_out_of_range_is_told_the_range(agent: Agent, digits: str) -> None:
    detail = assert_problem(agent.get("notes/", {"size_min": digits}), 400)["detail"]
    assert detail == "A size must be a whole number from 0 to 999999999999999999."
    assert agent.get("notes/", {"size_min": "9" * 18}).json()["results"] == []
    assert "from 0 to" in assert_problem(agent.get("as-of/", {"revision": digits}), 400)["detail"]


def test_a_cursor_of_another_order_or_tenant(agent: Agent) -> None:
    for key in "abc":
        agent.remember(key)
    following = agent.get("notes/", {"page_size": 1}).json()["next"]
    cursor = following.partition("cursor=")[2]
    assert_problem(agent.get("notes/", {"cursor": cursor, "ordering": "-key"}), 400)
    other = Agent(workspace="tenant-b")
    assert keys(other, cursor=cursor) == []


def test_orders_of_keys_are_code_points(agent: Agent) -> None:
    names = ["B", "a", "Ä", "_", "~", "é", "z", "😀", "\uffff"]
    for name in names:
        agent.remember(name)
    assert keys(agent) == sorted(names)
    assert keys(agent, ordering="-key") == sorted(names, reverse=True)


# Writes


def test_a_note_is_created_once(agent: Agent) -> None:
    response = agent.send("notes/", {"key": "k", "summary": "s", "body": 7, "reason": "asked"})
    assert response.status_code == 201
    assert (response.json()["body"], response.json()["workspace_revision"]) == (7, 1)
    revision = Revision.objects.get()
    assert (revision.actor, revision.reason) == (agent.key.name, "asked")
    before = stored()
    again = agent.send("notes/", {"key": "k", "summary": "s", "body": 8})
    taken = assert_problem(again, 409, "conflict")
    pk = Note.objects.get().pk
    assert taken["current_revision"] == 1
    assert taken["detail"] == (
        f"The key exists already; change the note with PATCH or PUT notes/{pk}/."
    )
    known = agent.send("notes/", {"key": "k", "body": 8, "expected_revision": 0})
    assert "is at revision 1, not at 0" in assert_problem(known, 409, "conflict")["detail"]
    assert stored() == before
    replaced = agent.send("notes/", {"key": "k", "body": 8, "expected_revision": 1})
    assert (replaced.status_code, replaced.json()["summary"]) == (200, None)


def test_a_note_is_replaced_and_patched(agent: Agent) -> None:
    agent.remember("k", "s", [1])
    pk = Note.objects.get().pk
    patched = agent.send(f"notes/{pk}/", {"summary": "s2"}, "patch").json()
    assert (patched["id"], patched["summary"], patched["body"]) == (pk, "s2", [1])
    patched = agent.send(f"notes/{pk}/", {"body": " x "}, "patch").json()
    assert (patched["summary"], patched["body"], patched["revision"]) == ("s2", " x ", 3)
    put = agent.send(f"notes/{pk}", {"body": None}, "put").json()
    assert (put["summary"], put["body"], put["workspace_revision"]) == (None, None, 4)
    assert not IndexEntry.objects.exists()
    kept = agent.send(f"notes/{pk}/", {"summary": None}, "patch").json()
    assert kept["revision"] == 4


@pytest.mark.parametrize("fields", [{}, {"reason": "why"}, {"expected_revision": 1}])
def test_a_patch_of_nothing(agent: Agent, admin: Client, fields: dict[str, Any]) -> None:
    agent.remember("k", "hidden summary", "hidden body")
    pk = Note.objects.get().pk
    before = stored()
    for caller in (agent, Agent(tools=["remember"], workspace=Workspace.objects.get())):
        refused = caller.send(f"notes/{pk}/", fields, "patch")
        assert "nothing to change" in assert_problem(refused, 400, "refused")["detail"]
    address = f"/memory/workspaces/{Workspace.objects.get().pk}/"
    assert_problem(admin.patch(address, {}, content_type="application/json"), 400, "refused")
    assert stored() == before


def test_writes_by_number_know_what_they_saw(agent: Agent) -> None:
    agent.remember()
    pk = Note.objects.get().pk
    before = stored()
    for method in ("put", "patch", "delete"):
        data = {} if method == "delete" else {"body": "x"}
        stale = agent.send(f"notes/{pk}/", data, method, headers={"If-Match": '"7"'})
        assert assert_problem(stale, 409, "conflict")["current_revision"] == 1
    assert stored() == before
    fresh = agent.send(f"notes/{pk}/", {"body": "x"}, "put", headers={"If-Match": '"1"'})
    assert fresh.status_code == 200


def test_a_note_is_deleted(agent: Agent) -> None:
    agent.remember("k/below")
    agent.remember("k")
    pk = Note.objects.get(key="k").pk
    response = agent.http.delete(f"/memory/notes/{pk}/")
    assert response.json() == {
        "key": "k",
        "outcome": "forgot",
        "revision": 3,
        "workspace_revision": 3,
    }
    assert keys(agent) == ["k/below"]
    assert_problem(agent.http.delete(f"/memory/notes/{pk}/"), 404)
    assert Revision.objects.count() == 3


def test_a_user_writes_notes_of_any_workspace(admin: Client) -> None:
    kind = {"content_type": "application/json"}
    data = {"workspace": "a/b", "key": "k", "body": "b"}
    created = admin.post("/memory/notes/", data, **kind)
    assert (created.status_code, created.json()["workspace"]) == (201, "a/b")
    nameless = admin.post("/memory/notes/", {"key": "k", "body": "b"}, **kind)
    assert_problem(nameless, 400, "refused")
    for path in ("", "*", None, 7):
        bad = admin.post("/memory/notes/", {**data, "workspace": path}, **kind)
        assert_problem(bad, 400, "refused")
    assert Workspace.objects.count() == 1


def test_a_user_makes_and_changes_workspaces(admin: Client) -> None:
    kind = {"content_type": "application/json"}
    made = admin.post("/memory/workspaces/", {"path": "a/b", "title": " T "}, **kind)
    assert (made.status_code, made.json()["title"]) == (201, " T ")
    address = f"/memory/workspaces/{made.json()['id']}/"
    changed = admin.patch(address, {"index_budget": 500, "description": "D"}, **kind).json()
    assert (changed["title"], changed["index_budget"]) == (" T ", 500)
    assert admin.patch(address, {"index_budget": None}, **kind).json()["index_budget"] is None
    before = stored()
    assert_problem(admin.post("/memory/workspaces/", {"path": "a/b"}, **kind), 409, "conflict")
    for bad in ({"path": "x"}, {"title": 7}, {"title": "x" * 201}, {"index_budget": -1},
                {"index_budget": True}, {"index_budget": "5"}, {"revision": 9},
                {"description": "\x00"}):  # fmt: skip
        response = admin.patch(address, bad, **kind)
        assert_problem(response, 413 if bad.get("title") == "x" * 201 else 400)
    for path in ("", "a//b", "*", None, 7, "x" * 256):
        response = admin.post("/memory/workspaces/", {"path": path}, **kind)
        assert_problem(response, 413 if path == "x" * 256 else 400)
    assert stored() == before


# Statements


@pytest.mark.parametrize("rows", [1, 40])
def test_statements(agent: Agent, rows: int) -> None:
    for _ in range(rows):
        NoteFactory()

    def count(address: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert agent.get(address).status_code == 200
        return len(queries)

    for address in ("notes/", "index-entries/", "revisions/", "workspaces/"):
        assert count(address) == 2, address
    count("notes/?search=body")  # PostgreSQL is asked about its table once a minute
    # SQLite is asked whether the index is there and helps, and what it names.
    assert count("notes/?search=body") == (5 if connection.vendor == "sqlite" else 2)
    for address, model in (
        ("notes", Note), ("index-entries", IndexEntry), ("revisions", Revision),
        ("workspaces", Workspace),
    ):  # fmt: skip
        assert count(f"{address}/{model.objects.earliest('pk').pk}/") == 2, address  # type: ignore[attr-defined]


def test_lists_read_no_bodies(agent: Agent) -> None:
    agent.remember("k", "s", "a long body " * 100)
    with CaptureQueriesContext(connection) as queries:
        for address in ("notes/", "revisions/"):
            assert b"long body" not in agent.get(address).content
    quote = connection.ops.quote_name
    for query in queries:
        selected = query["sql"].partition(" FROM ")[0]
        assert f".{quote('body')}," not in selected.replace("LENGTH(", "LENGTH_OF(")
        assert "haystack" not in selected
