"""What a caller may do: keys by workspace, access and tools; users by permissions; and no leaks."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from django_agent_memory import policy
from django_agent_memory.memory import Memory
from django_agent_memory.models import IndexEntry, Note, Revision, Workspace
from tests.factories import NoteFactory, UserFactory

from .conftest import Agent, assert_problem, stored

pytestmark = pytest.mark.django_db

CALLS: dict[str, dict[str, Any]] = {
    "remember": {"key": "secret/plan", "summary": "s", "body": "b"},
    "recall": {"key": "secret/plan"},
    "forget": {"key": "secret/plan"},
    "list_memories": {},
    "search": {"pattern": "plan"},
}
READS = ("recall", "list_memories", "search")


@pytest.fixture
def foreign(db: None) -> Note:
    """A note of another tenant."""
    return NoteFactory(workspace="tenant-b", key="secret/plan", summary="hidden", body="hidden")


@pytest.mark.parametrize("tool", CALLS)
def test_a_foreign_workspace_is_as_one_that_does_not_exist(
    agent: Agent, foreign: Note, tool: str
) -> None:
    before = stored()
    there = agent.send(f"tools/tenant-b/{tool}/", CALLS[tool])
    nowhere = agent.send(f"tools/nowhere/{tool}/", CALLS[tool])
    assert_problem(there, 404, "not_found")
    assert there.content == nowhere.content
    assert there.headers == nowhere.headers
    assert stored() == before


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize(
    "path", ["*", "%", "core/sub", "CORE", "cor", "core ", "..", "tenant-b/..", "null", "é", "\x00"]
)
def test_no_path_reaches_another_workspace(
    agent: Agent, foreign: Note, tool: str, path: str
) -> None:
    before = stored()
    response = agent.send(f"tools/{quote(path)}/{tool}/", CALLS[tool])
    assert_problem(response, 404)
    assert b"hidden" not in response.content
    assert stored() == before


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("value", ["tenant-b", "", None, "*", "%", ["tenant-b"]])
def test_no_tool_has_a_workspace_argument(
    agent: Agent, foreign: Note, tool: str, value: Any
) -> None:
    before = stored()
    response = agent.call(tool, **CALLS[tool], workspace=value)
    assert "'workspace'" in assert_problem(response, 400, "refused")["detail"]
    assert stored() == before


def test_nothing_of_another_workspace_shows(agent: Agent, foreign: Note) -> None:
    recalled = agent.call("recall", key="secret/pla").json()
    assert (recalled["found"], recalled["suggestions"]) == (False, [])
    assert agent.call("search", pattern="").json()["total"] == 0
    assert agent.call("list_memories").json()["memories"] == []
    assert agent.get("index/").content == b""
    for address in ("notes/", "index-entries/", "revisions/"):
        assert agent.get(address).json()["results"] == []
        assert agent.get(address, {"workspace": "tenant-b"}).json()["results"] == []
    assert [row["path"] for row in agent.get("workspaces/").json()["results"]] == ["core"]
    assert agent.get("workspaces/", {"path": "tenant-b"}).json()["results"] == []


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
def test_a_foreign_row_is_as_one_that_does_not_exist(
    agent: Agent, foreign: Note, method: str
) -> None:
    before = stored()
    body = "" if method == "get" else '{"body":"x"}'
    for pk in (foreign.pk, foreign.pk + 1000, 10**30):
        if method == "get":
            response = agent.get(f"notes/{pk}/")
        else:
            response = agent.send(f"notes/{pk}/", body, method)
        assert_problem(response, 404, "not_found")
    assert stored() == before


def test_foreign_rows_of_the_other_resources(agent: Agent, foreign: Note) -> None:
    rows: list[tuple[str, Any]] = [
        ("workspaces", foreign.workspace),
        ("index-entries", IndexEntry.objects.get()),
        ("revisions", Revision.objects.get()),
    ]
    for address, row in rows:
        there = agent.get(f"{address}/{row.pk}/")
        assert_problem(there, 404, "not_found")
        assert there.content == agent.get(f"{address}/{row.pk + 1000}/").content


@pytest.mark.parametrize("workspace", ["tenant-b", "nowhere", "", 7, ["core"], {"a": 1}])
def test_a_note_is_not_created_elsewhere(agent: Agent, foreign: Note, workspace: Any) -> None:
    before = stored()
    body = {"workspace": workspace, "key": "k", "body": "b"}
    assert_problem(agent.send("notes/", body), 404, "not_found")
    assert stored() == before


def test_a_prefix_of_the_path_is_no_reach(foreign: Note) -> None:
    agent = Agent(workspace="tenant")
    assert agent.get("notes/").json()["results"] == []
    assert_problem(agent.get("index/tenant-b/"), 404)


# A key's access and tools


@pytest.mark.parametrize("tool", ["remember", "forget"])
def test_a_read_key_does_not_write(tool: str) -> None:
    NoteFactory(key="secret/plan")
    agent = Agent(access="read")
    before = stored()
    response = agent.call(tool, **CALLS[tool])
    assert "read-write" in assert_problem(response, 403, "not_allowed")["detail"]
    assert stored() == before


def test_a_read_key_does_not_write_by_resource() -> None:
    note = NoteFactory()
    agent = Agent(access="read")
    before = stored()
    assert_problem(agent.send("notes/", {"key": "n", "body": "b"}), 403)
    for method in ("put", "patch", "delete"):
        assert_problem(agent.send(f"notes/{note.pk}/", {"body": "x"}, method), 403)
    assert stored() == before
    assert agent.get(f"notes/{note.pk}/").status_code == 200


@pytest.mark.parametrize("allowed", CALLS)
def test_a_key_with_one_tool(allowed: str) -> None:
    note = NoteFactory(key="secret/plan")
    agent = Agent(tools=[allowed])
    before = stored()
    for tool, arguments in CALLS.items():
        if tool != allowed:
            response = agent.call(tool, **arguments)
            assert tool in assert_problem(response, 403, "not_allowed")["detail"]
    assert stored() == before
    statuses = {
        "list_memories": [agent.get("notes/"), agent.get("index-entries/")],
        "recall": [agent.get(f"notes/{note.pk}/"), agent.get("revisions/")],
        "remember": [agent.send("notes/", {"key": "new", "body": "b"})],
        "forget": [agent.send(f"notes/{note.pk}/", {}, "delete")],
    }
    for tool, responses in statuses.items():
        for response in responses:
            assert (response.status_code == 403) == (tool != allowed), (tool, response.content)
    assert agent.get("index/").status_code == 200


def writers_who_may_not_read() -> list[Any]:
    """Return what sends a request as each of those who may write and not read."""
    client = user_client("add_note", "change_note", "delete_note")

    def as_user(address: str, data: Any, method: str = "post") -> Any:
        body = json.dumps(data)
        kind = {"content_type": "application/json"}
        return client.generic(method.upper(), f"/memory/{address}", body, **kind)

    return [as_user, *(Agent(tools=tools).send for tools in (["remember"], ["remember", "search"]))]


@pytest.mark.parametrize("who", [0, 1, 2])
def test_a_writer_who_may_not_read_is_shown_nothing(db: None, who: int) -> None:
    note = NoteFactory(key="plan", summary="hidden", body="hidden")
    send = writers_who_may_not_read()[who]
    address = f"notes/{note.pk}/"
    answers = [
        send(address, {"summary": "new"}, "patch"),
        send(address, {"summary": "hidden"}, "patch"),
        send(address, {"body": "hidden"}, "patch"),
        send(address, {"reason": "why"}, "patch"),
        send(address, {"body": "x", "expected_revision": 99}, "patch"),
        send("notes/", {"workspace": "core", "key": "plan", "body": "x"}),
        send("restore/core/", {"key": "plan", "revision": 1}),
        send("restore/core/", {"key": "plan", "revision": 1, "expected_revision": 99}),
        send(address, {"body": "x", "summary": 7}, "put"),
    ]
    assert [answer.status_code for answer in answers] == [
        200, 200, 200, 400, 409, 409, 200, 409, 400
    ]  # fmt: skip
    assert all(b"hidden" not in answer.content for answer in answers)
    kept = Memory("core").recall("plan")
    assert kept is not None
    assert (kept.summary, kept.body) == ("hidden", "hidden")
    put = send(address, {"body": "open", "summary": "open"}, "put")
    made = send("notes/", {"workspace": "core", "key": "new", "body": "open"})
    assert (put.status_code, made.status_code) == (200, 201)
    note.refresh_from_db()
    assert put.json() == {
        "id": note.pk, "workspace": "core", "workspace_revision": note.revision, "key": "plan",
        "size": 4, "revision": note.revision, "created_at": note.created_at.isoformat(),
        "updated_at": note.updated_at.isoformat(),
    }  # fmt: skip
    assert set(made.json()) == set(put.json())


def test_a_user_who_may_not_view_workspaces_is_shown_none(foreign: Note) -> None:
    client = user_client("add_workspace", "change_workspace")
    kind = {"content_type": "application/json"}
    Memory("tenant-b").configure(title="hidden", description="hidden")
    address = f"/memory/workspaces/{foreign.workspace_id}/"
    changed = client.patch(address, {"index_budget": 900}, **kind)
    made = client.post("/memory/workspaces/", {"path": "new"}, **kind)
    taken = client.post("/memory/workspaces/", {"path": "tenant-b"}, **kind)
    assert [changed.status_code, made.status_code, taken.status_code] == [200, 201, 409]
    assert (changed.json()["id"], changed.json()["path"]) == (foreign.workspace_id, "tenant-b")
    for answer in (changed, made, taken):
        assert b"hidden" not in answer.content
        assert not {"description", "index_budget"} & set(answer.json())


@pytest.mark.parametrize("tools", [[], {}, "recall", "list_memories, recall", {"recall": True}, 7])
def test_a_damaged_list_of_tools_allows_nothing(tools: Any) -> None:
    agent = Agent()
    agent.key.tools = tools
    agent.key.save()
    assert agent.get("tools/").json()["tools"] == []
    for tool, arguments in CALLS.items():
        assert_problem(agent.call(tool, **arguments), 403)
    assert "none" in assert_problem(agent.call("nosuch"), 404)["detail"]


def test_a_key_does_not_configure_workspaces(agent: Agent) -> None:
    before = stored()
    pk = Workspace.objects.get().pk
    assert_problem(agent.send("workspaces/", {"path": "new"}), 403, "not_allowed")
    assert_problem(agent.send(f"workspaces/{pk}/", {"title": "x"}, "patch"), 403)
    assert stored() == before


# Users


class OwnWorkspaces(policy.Policy):
    """A user reaches the workspace that is named after them, and no other."""

    def user_may(self, user: Any, permission: str, path: str) -> bool:
        return path == user.username and permission in (*policy.READS, *policy.WRITES)

    def user_workspaces(self, user: Any, permission: str) -> Any:
        return Workspace.objects.filter(path=user.username)


def test_a_policy_of_the_site(settings: Any) -> None:
    settings.AGENT_MEMORY_POLICY = f"{__name__}.OwnWorkspaces"
    for path in ("ada", "bob"):
        Memory(path).remember("k", "s", path)
    client = Client(raise_request_exception=False)
    client.force_login(UserFactory(username="ada", is_superuser=True))
    kind = {"content_type": "application/json"}
    assert client.get("/memory/tools/ada/recall/?key=k").json()["body"] == "ada"
    for address in ("bob", "nowhere"):
        assert_problem(client.get(f"/memory/tools/{address}/recall/?key=k"), 404)
    rows = client.get("/memory/notes/").json()["results"]
    assert [row["workspace"] for row in rows] == ["ada"]
    assert_problem(client.post("/memory/workspaces/", {"path": "ada/new"}, **kind), 404)


def test_a_right_to_a_workspace_that_is_not_there_makes_none(settings: Any) -> None:
    settings.AGENT_MEMORY_POLICY = f"{__name__}.OwnWorkspaces"
    client = Client(raise_request_exception=False)
    client.force_login(UserFactory(username="ada"))
    response = client.post(
        "/memory/tools/ada/remember/", CALLS["remember"], content_type="application/json"
    )
    assert "agent_memory.add_workspace" in assert_problem(response, 403)["detail"]
    assert not Workspace.objects.exists()


NEEDED = {
    "remember": ("add_note", "change_note"),
    "recall": ("view_note",),
    "forget": ("delete_note",),
    "list_memories": ("view_note",),
    "search": ("view_note",),
}


def user_client(*permissions: str) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(UserFactory(permissions=permissions))
    return client


@pytest.mark.parametrize("tool", CALLS)
def test_a_user_needs_the_permissions(foreign: Note, tool: str) -> None:
    client = user_client(*NEEDED[tool])
    response = client.post(
        f"/memory/tools/tenant-b/{tool}/", CALLS[tool], content_type="application/json"
    )
    assert response.status_code == 200


@pytest.mark.parametrize("tool", CALLS)
def test_a_user_without_the_permission_is_told_which(foreign: Note, tool: str) -> None:
    before = stored()
    for missing in NEEDED[tool]:
        client = user_client(*(p for p in {*sum(NEEDED.values(), ())} if p != missing))
        response = client.post(
            f"/memory/tools/tenant-b/{tool}/", CALLS[tool], content_type="application/json"
        )
        detail = assert_problem(response, 403, "not_allowed")["detail"]
        assert f"agent_memory.{missing}" in detail
    assert stored() == before


def test_a_user_names_the_workspace() -> None:
    client = user_client("view_note")
    for path in ("*", "a//b", "a/../b", "%25", "é"):
        response = client.get(f"/memory/tools/{path}/recall/?key=k")
        assert_problem(response, 400, "refused")


@pytest.mark.parametrize(
    ("method", "address", "place"),
    [
        ("get", "tools/recall/?key=k", "tools/<workspace>/<tool>/"),
        ("get", "index/", "index/<workspace>/"),
        ("get", "history/?key=k", "history/<workspace>/"),
        ("get", "as-of/?revision=1", "as-of/<workspace>/"),
        ("post", "restore/", "restore/<workspace>/"),
        ("post", "rollback/", "rollback/<workspace>/"),
        ("post", "notes/", "the field 'workspace'"),
    ],
)
def test_a_user_is_told_where_to_name_the_workspace(
    db: None, method: str, address: str, place: str
) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(UserFactory(is_superuser=True))
    data = '{"key":"k","body":"b"}'
    kind = {"content_type": "application/json"}
    response = client.generic(method.upper(), f"/memory/{address}", data, **kind)
    assert place in assert_problem(response, 400, "refused")["detail"]


@pytest.mark.parametrize(
    ("address", "data", "headers"),
    [
        ("tools/new/remember/", CALLS["remember"], {}),
        ("tools/new/remember/", CALLS["remember"], {"Idempotency-Key": "a"}),
        ("tools/new/forget/", CALLS["forget"], {"Idempotency-Key": "a"}),
        ("tools/new/recall/", CALLS["recall"], {"Idempotency-Key": "a"}),
        ("notes/", {"workspace": "new", "key": "k", "body": "b"}, {}),
        ("restore/new/", {"key": "k", "revision": 1}, {}),
    ],
)
def test_a_user_makes_a_workspace_only_with_the_permission(
    foreign: Note, address: str, data: dict[str, Any], headers: dict[str, str]
) -> None:
    before = stored()
    notes = ("view_note", "add_note", "change_note", "delete_note")
    sent = {"content_type": "application/json", "headers": headers}
    response = user_client(*notes).post(f"/memory/{address}", data, **sent)
    detail = assert_problem(response, 403, "not_allowed")["detail"]
    assert "agent_memory.add_workspace" in detail
    assert stored() == before
    allowed = user_client(*notes, "add_workspace").post(f"/memory/{address}", data, **sent)
    expected = {"notes/": 201, "restore/new/": 400}.get(address, 200)
    assert allowed.status_code == expected
    there = address.replace("new", "tenant-b")
    if there != address:
        response = user_client(*notes).post(f"/memory/{there}", {**data, "key": "x"}, **sent)
        assert response.status_code == expected


def test_the_specs_of_a_user() -> None:
    def names(*permissions: str) -> list[str]:
        return [s["name"] for s in user_client(*permissions).get("/memory/tools/").json()["tools"]]

    assert names() == []
    assert names("view_note") == ["recall", "list_memories", "search"]
    assert names("add_note") == []
    assert names("delete_note") == ["forget"]


@pytest.mark.parametrize(
    ("address", "permission"),
    [("notes", "view_note"), ("index-entries", "view_indexentry"),
     ("revisions", "view_revision"), ("workspaces", "view_workspace")],
)  # fmt: skip
def test_resources_of_users(foreign: Note, address: str, permission: str) -> None:
    response = user_client().get(f"/memory/{address}/")
    assert f"agent_memory.{permission}" in assert_problem(response, 403)["detail"]
    client = user_client(permission)
    (row,) = client.get(f"/memory/{address}/").json()["results"]
    assert client.get(f"/memory/{address}/{row['id']}/").status_code == 200
    assert_problem(user_client().get(f"/memory/{address}/{row['id']}/"), 403)


def test_users_write_resources_with_permissions(foreign: Note) -> None:
    before = stored()
    reader = user_client("view_note", "view_workspace")
    for method, address in [
        ("post", "notes/"), ("put", f"notes/{foreign.pk}/"), ("patch", f"notes/{foreign.pk}/"),
        ("delete", f"notes/{foreign.pk}/"), ("post", "workspaces/"),
        ("patch", f"workspaces/{foreign.workspace_id}/"),
    ]:  # fmt: skip
        response = getattr(reader, method)(
            f"/memory/{address}", {}, content_type="application/json"
        )
        assert_problem(response, 403, "not_allowed")
    assert stored() == before


def test_any_workspace_is_in_reach_of_a_user(foreign: Note) -> None:
    Memory("core").remember("k", "s", "b")
    rows = user_client("view_note").get("/memory/notes/").json()
    assert {row["workspace"] for row in rows["results"]} == {"core", "tenant-b"}
    assert rows["workspace_revision"] is None
