"""Agent keys and grants over HTTP: given by those who may, as far as they may themselves."""

from __future__ import annotations

import datetime
import json
import logging
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.views.debug import ExceptionReporter

from django_agent_memory.api.credentials import MAX_OVERLAP_HOURS
from django_agent_memory.api.serializers import AgentKeySerializer
from django_agent_memory.exceptions import Refused
from django_agent_memory.models import AgentKey, Grant, RecordedCall, Workspace
from django_agent_memory.models.access import digest_of
from tests.factories import AgentKeyFactory, UserFactory, WorkspaceFactory

from .conftest import Agent, assert_problem

pytestmark = pytest.mark.django_db

OVER_KEYS = ("view_agentkey", "add_agentkey", "change_agentkey")
OVER_GRANTS = ("view_grant", "add_grant", "change_grant", "delete_grant")
HERE, THERE, NOWHERE = "here", "there", "nowhere"
NO_SUCH = {"detail": "There is no such workspace.", "code": "not_found"}


class Person:
    """A signed-in user who speaks JSON."""

    def __init__(self, user: Any) -> None:
        self.user = user
        self.http = Client(raise_request_exception=False)
        self.http.force_login(user)

    def get(self, address: str, query: dict[str, Any] | None = None) -> Any:
        return self.http.get(f"/memory/{address}", query)

    def send(self, address: str, data: Any = None, method: str = "post", **extra: Any) -> Any:
        body = json.dumps({} if data is None else data)
        return self.http.generic(
            method.upper(), f"/memory/{address}", body, content_type="application/json", **extra
        )


def person(*permissions: str, access: str | None = "read-write", **terms: Any) -> Person:
    """Return one with these permissions, and with a grant here."""
    user = UserFactory(permissions=permissions, **terms)
    if access is not None:
        Grant.objects.give(workspace=HERE, user=user, access=access)
    return Person(user)


@pytest.fixture(autouse=True)
def workspaces(db: None) -> None:
    for path in (HERE, THERE):
        WorkspaceFactory(path=path)


@pytest.fixture
def manager() -> Person:
    """One who may do all with keys and grants, in the one workspace that they may write to."""
    return person(*OVER_KEYS, *OVER_GRANTS)


@pytest.fixture
def root() -> Person:
    return person(access=None, is_superuser=True)


def told(response: Any) -> dict[str, Any]:
    document = json.loads(response.content)
    return {name: document[name] for name in NO_SUCH}


def results(response: Any, name: str = "name") -> list[Any]:
    assert response.status_code == 200, response.content
    return [row[name] for row in response.json()["results"]]


# Issuing


def test_a_key_is_issued_and_its_secret_is_in_this_answer_only(
    manager: Person, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    expires_at = (timezone.now() + datetime.timedelta(days=1)).isoformat()
    made = manager.send(
        "agent-keys/",
        {
            "workspace": HERE,
            "name": " desk ",
            "access": "read",
            "tools": ["recall", "search", "recall"],
            "user": manager.user.pk,
            "expires_at": expires_at,
        },
    )
    assert made.status_code == 201
    assert made["Cache-Control"] == "private, no-store"
    row = made.json()
    secret = row.pop("secret")
    key = AgentKey.objects.get()
    assert key.digest == digest_of(secret)
    assert row == {
        "id": key.pk,
        "workspace": HERE,
        "workspace_revision": 0,
        "revoked": False,
        "revoked_at": None,
        "prefix": secret[:10],
        "name": " desk ",
        "actor": " desk ",
        "access": "read",
        "tools": ["recall", "search"],
        "user": manager.user.pk,
        "created_at": key.created_at.isoformat(),
        "expires_at": expires_at.replace("Z", "+00:00"),
        "last_used_at": None,
        "replaced_by": None,
    }
    assert manager.get(f"agent-keys/{key.pk}/").json() == row
    assert manager.get("agent-keys/").json() == {
        "results": [row],
        "next": None,
        "workspace_revision": None,
    }
    for address in ("agent-keys/", f"agent-keys/{key.pk}/"):
        assert manager.get(address)["Cache-Control"] == "private, no-cache"
    kept = [*RecordedCall.objects.values(), *LogEntry.objects.values(), *Session.objects.values()]
    assert secret not in f"{kept}{list(AgentKey.objects.values())}{caplog.text}"
    agent = Client(headers={"Authorization": f"Bearer {secret}"})
    assert agent.get("/memory/tools/list_memories/").status_code == 403
    assert agent.get("/memory/tools/search/?pattern=x").status_code == 200


def report_of(response: Any, caplog: pytest.LogCaptureFixture) -> str:
    """Return what Django would mail or show of the error: every frame with its variables."""
    assert_problem(response, 500, "internal_error")
    (record,) = [
        record for record in caplog.records if record.exc_info and record.name.endswith("api")
    ]
    return str(ExceptionReporter(None, *record.exc_info).get_traceback_html())


def test_no_report_of_an_error_has_a_secret(
    manager: Person, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("on purpose")

    monkeypatch.setattr(AgentKeySerializer, "to_representation", fail)
    response = manager.send("agent-keys/", {"workspace": HERE, "name": "a"})
    report = report_of(response, caplog)
    assert "on purpose" in report
    assert re.search(r"dam_[\w-]{20}", report) is None
    caplog.clear()
    agent = Agent(workspace=HERE)
    monkeypatch.setattr(AgentKey, "is_usable", property(fail))
    assert agent.key.secret not in report_of(agent.get("index/"), caplog)


def test_a_key_without_terms_has_all_of_its_workspace(manager: Person) -> None:
    row = manager.send("agent-keys/", {"workspace": HERE, "name": "a"}).json()
    terms = {name: row[name] for name in ("access", "tools", "user", "expires_at")}
    assert terms == {"access": "read-write", "tools": None, "user": None, "expires_at": None}


@pytest.mark.parametrize("method", ["post", "delete"])
def test_no_call_is_recorded(manager: Person, method: str) -> None:
    key = AgentKeyFactory(workspace=HERE)
    addresses = {
        "post": ["agent-keys/", "grants/", f"agent-keys/{key.pk}/rotate/"],
        "delete": [f"agent-keys/{key.pk}/"],
    }
    for address in addresses[method]:
        named = {"headers": {"Idempotency-Key": "a1"}}
        data = {"workspace": HERE, "name": "a"}
        assert_problem(manager.send(address, data, method, **named), 400, "refused")
    assert AgentKey.objects.usable().count() == 1
    assert not RecordedCall.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"workspace": None}, "name the workspace"),
        ({"workspace": 5}, "string"),
        ({"workspace": ""}, "path"),
        ({"workspace": "a//b"}, "path"),
        ({"name": ""}, "empty"),
        ({"name": "  "}, "empty"),
        ({"name": 5}, "string"),
        ({"name": None}, "string"),
        ({"name": "a\x00"}, "NUL"),
        ({"access": "root"}, "access must be one of: read, read-write."),
        ({"access": None}, "access must be one of"),
        ({"access": ["read"]}, "access must be one of"),
        ({"tools": []}, "tools must be a list"),
        ({"tools": "recall"}, "tools must be a list"),
        ({"tools": ["no_such"]}, "There is no tool 'no_such'"),
        ({"tools": [["recall"]]}, "There is no tool"),
        ({"tools": ["remember"], "access": "read"}, "'remember' writes"),
        ({"user": "x"}, "user must be the id of a user."),
        ({"user": True}, "user must be the id of a user."),
        ({"user": []}, "user must be the id of a user."),
        ({"user": {}}, "user must be the id of a user."),
        ({"user": 1.5}, "user must be the id of a user."),
        ({"user": "9" * 201}, "user must be the id of a user."),
        ({"user": "1\x00"}, "user must be the id of a user."),
        ({"user": 2**63}, "user must be the id of a user."),
        ({"user": -1}, "user must be the id of a user."),
        ({"user": 2**63 - 1}, "There is no user with this id."),
        ({"user": 999_999}, "There is no user with this id."),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "would never work"),
        ({"expires_at": "2020-01-01"}, "offset"),
        ({"expires_at": 5}, "offset"),
        ({"expires_at": "9999-01-01T00:00:00Z"}, "years"),
        ({"secret": "dam_mine"}, "unknown"),
        ({"digest": "0" * 64}, "unknown"),
    ],
)
def test_bad_terms_issue_nothing(root: Person, wrong: dict[str, Any], said: str) -> None:
    fields = {"workspace": HERE, "name": "a", **wrong}
    response = root.send("agent-keys/", fields)
    document = assert_problem(response, 400)
    assert said in document["detail"]
    assert not AgentKey.objects.exists()


@pytest.mark.parametrize(("length", "status"), [(199, 201), (200, 201), (201, 413)])
def test_the_longest_name(root: Person, length: int, status: int) -> None:
    response = root.send("agent-keys/", {"workspace": HERE, "name": "a" * length})
    assert response.status_code == status


@pytest.mark.parametrize("data", [[], "a", 5, None, {}, {"workspace": HERE}, {"name": "a"}])
def test_bad_bodies(root: Person, data: Any) -> None:
    for address in ("agent-keys/", "grants/"):
        body = json.dumps(data)
        response = root.http.post(f"/memory/{address}", body, content_type="application/json")
        assert_problem(response, 400, "refused")


def test_a_workspace_is_made_by_those_who_may_make_it(root: Person) -> None:
    reach_all = person(*OVER_KEYS, "view_workspace", "write_notes", access=None)
    document = assert_problem(
        reach_all.send("agent-keys/", {"workspace": NOWHERE, "name": "a"}), 403, "not_allowed"
    )
    assert "agent_memory.add_workspace" in document["detail"]
    assert not Workspace.objects.filter(path=NOWHERE).exists()
    assert root.send("agent-keys/", {"workspace": NOWHERE, "name": "a"}).status_code == 201
    assert Workspace.objects.filter(path=NOWHERE).exists()


# Nobody gives more than they have


@pytest.mark.parametrize("access", ["read", "read-write"])
@pytest.mark.parametrize(
    ("own", "given", "gives"),
    [
        ((), None, ()),
        ((), "read", ("read",)),
        ((), "read-write", ("read", "read-write")),
        (("view_workspace",), None, ()),
        (("view_workspace", "read_notes"), None, ("read",)),
        (("view_workspace", "add_note", "change_note"), "read", ("read",)),
        (("view_workspace", "write_notes"), None, ("read", "read-write")),
        (("add_note", "change_note", "delete_note"), "read", ("read", "read-write")),
    ],
)
def test_nobody_gives_what_they_may_not_do(
    own: tuple[str, ...], given: str | None, gives: tuple[str, ...], access: str
) -> None:
    giver = person(*OVER_KEYS, *OVER_GRANTS, *own, access=given)
    other = UserFactory()
    fields = {"workspace": HERE, "access": access}
    answers = [
        giver.send("agent-keys/", {**fields, "name": "a"}),
        giver.send("grants/", {**fields, "user": other.pk}),
        giver.send("grants/", {**fields, "group": Group.objects.create(name="desk").pk}),
    ]
    statuses = {answer.status_code for answer in answers}
    if access in gives:
        assert statuses == {201}
    else:
        # Who may not view the workspace lacks that; there is no workspace in which they could.
        assert statuses == {403}
        assert not AgentKey.objects.exists()
        assert Grant.objects.exclude(user=giver.user).count() == 0
    rotated = AgentKeyFactory(workspace=HERE, access=access)
    status = giver.send(f"agent-keys/{rotated.pk}/rotate/").status_code
    assert status == (201 if access in gives else 403)


@pytest.mark.parametrize("address", ["agent-keys/", "grants/"])
def test_another_workspace_is_as_one_that_is_not_there(manager: Person, address: str) -> None:
    answers = []
    for path in (THERE, NOWHERE):
        fields: dict[str, Any] = {"workspace": path, "access": "read"}
        fields |= {"name": "a"} if address == "agent-keys/" else {"user": manager.user.pk}
        with CaptureQueriesContext(connection) as queries:
            response = manager.send(address, fields)
        assert told(response) == NO_SUCH
        answers.append((response.content, len(queries)))
    assert answers[0] == answers[1]
    assert Workspace.objects.count() == 2


def test_rows_of_another_workspace_are_as_those_that_are_not_there(manager: Person) -> None:
    key = AgentKeyFactory(workspace=THERE)
    grant = Grant.objects.give(workspace=THERE, user=UserFactory())
    mine = AgentKeyFactory(workspace=HERE)
    assert results(manager.get("agent-keys/"), "id") == [mine.pk]
    assert results(manager.get("agent-keys/", {"workspace": THERE})) == []
    assert results(manager.get("grants/"), "user") == [manager.user.pk]
    for method, address, data in [
        ("get", "agent-keys/{}/", None),
        ("delete", "agent-keys/{}/", None),
        ("post", "agent-keys/{}/rotate/", None),
        ("get", "grants/{}/", None),
        ("patch", "grants/{}/", {"access": "read"}),
        ("delete", "grants/{}/", None),
    ]:
        number = key.pk if "keys" in address else grant.pk
        answers = []
        for pk in (number, 10**6):
            with CaptureQueriesContext(connection) as queries:
                response = manager.send(address.format(pk), data, method)
            assert_problem(response, 404, "not_found")
            answers.append((response.content, len(queries)))
        assert answers[0] == answers[1], address
    key.refresh_from_db()
    assert key.is_usable
    assert Grant.objects.filter(pk=grant.pk).exists()


def test_model_permissions_alone_show_no_workspace() -> None:
    nobody = person(*OVER_KEYS, *OVER_GRANTS, access=None)
    AgentKeyFactory(workspace=HERE)
    for address in ("agent-keys/", "grants/"):
        assert_problem(nobody.get(address), 403, "not_allowed")
    everywhere = person(*OVER_KEYS, "view_workspace", access=None)
    assert len(results(everywhere.get("agent-keys/"))) == 1


REQUESTS = {
    "view_agentkey": [("get", "agent-keys/"), ("get", "agent-keys/{key}/")],
    "add_agentkey": [("post", "agent-keys/")],
    "change_agentkey": [("delete", "agent-keys/{key}/")],
    "add_agentkey change_agentkey": [("post", "agent-keys/{key}/rotate/")],
    "view_grant": [("get", "grants/"), ("get", "grants/{grant}/")],
    "add_grant": [("post", "grants/")],
    "change_grant": [("patch", "grants/{grant}/")],
    "delete_grant": [("delete", "grants/{grant}/")],
}
DATA = {
    "agent-keys/": {"workspace": HERE, "name": "a"},
    "grants/": {"workspace": HERE, "access": "read"},
    "grants/{grant}/": {"access": "read"},
}


@pytest.mark.parametrize("needed", REQUESTS)
@pytest.mark.parametrize("held", ["all", "others"])
def test_each_permission_is_needed_and_enough(needed: str, held: str) -> None:
    names = needed.split()
    others = {*OVER_KEYS, *OVER_GRANTS, "delete_agentkey"} - {names[-1]}
    one = person(*(names if held == "all" else sorted(others)))
    other = UserFactory()
    grant = Grant.objects.give(workspace=HERE, group=Group.objects.create(name="g"))
    places = {"key": AgentKeyFactory(workspace=HERE).pk, "grant": grant.pk}
    for method, address in REQUESTS[needed]:
        data = None if method in ("get", "delete") else DATA.get(address, {})
        if (method, address) == ("post", "grants/"):
            data = {**DATA[address], "user": other.pk}
        response = one.send(address.format(**places), data, method)
        if held == "all":
            assert response.status_code in (200, 201), response.content
        else:
            document = assert_problem(response, 403, "not_allowed")
            assert document["detail"] == f"You lack the permission agent_memory.{names[-1]}."


def test_an_agent_key_neither_sees_nor_gives(root: Person) -> None:
    # Not even that of a superuser, with every tool.
    agent = Agent(workspace=HERE, user=root.user)
    grant = Grant.objects.give(workspace=HERE, user=UserFactory())
    for method, address, data in [
        ("get", "agent-keys/", None),
        ("get", f"agent-keys/{agent.key.pk}/", None),
        ("post", "agent-keys/", {"workspace": HERE, "name": "a"}),
        ("delete", f"agent-keys/{agent.key.pk}/", {}),
        ("post", f"agent-keys/{agent.key.pk}/rotate/", {}),
        ("get", "grants/", None),
        ("get", f"grants/{grant.pk}/", None),
        ("post", "grants/", {"workspace": HERE, "access": "read", "user": root.user.pk}),
        ("patch", f"grants/{grant.pk}/", {"access": "read-write"}),
        ("delete", f"grants/{grant.pk}/", {}),
    ]:
        response = agent.send(address, data if data is not None else b"", method)
        assert_problem(response, 403, "not_allowed")
    assert AgentKey.objects.usable().count() == 1
    assert Grant.objects.get().access == "read"


# Whose a key is


def test_a_key_of_another_user_takes_the_permission_to_change_users(manager: Person) -> None:
    other = UserFactory()
    for user in (other.pk, 999_999):
        response = manager.send("agent-keys/", {"workspace": HERE, "name": "a", "user": user})
        document = assert_problem(response, 403, "not_allowed")
        # The same of one that is not there.
        assert document["detail"] == "The key of another user takes the permission to change users."
    theirs = AgentKeyFactory(workspace=HERE, user=other)
    assert_problem(manager.send(f"agent-keys/{theirs.pk}/rotate/"), 403, "not_allowed")
    assert manager.send(f"agent-keys/{theirs.pk}/", method="delete").status_code == 200
    names = {f"{verb}_user" for verb in ("add", "view", "change")}
    from_auth = manager.user.user_permissions.model.objects.filter(codename__in=names)
    manager.user.user_permissions.add(*from_auth)
    made = manager.send("agent-keys/", {"workspace": HERE, "name": "a", "user": str(other.pk)})
    assert made.json()["user"] == other.pk


# Revoking and replacing


def test_a_key_is_revoked_once(manager: Person) -> None:
    agent = Agent(workspace=HERE)
    address = f"agent-keys/{agent.key.pk}/"
    first = manager.send(address, method="delete")
    assert first.status_code == 200
    assert first.json()["revoked"] is True
    assert manager.send(address, method="delete").json() == first.json()
    assert_problem(agent.get("index/"), 401, "revoked_key")
    assert_problem(manager.send(f"{address}rotate/"), 400, "refused")


def test_who_may_not_see_keys_is_told_no_terms_of_the_one_they_revoke() -> None:
    one = person("change_agentkey")
    key = AgentKeyFactory(workspace=HERE, name="desk")
    row = one.send(f"agent-keys/{key.pk}/", method="delete").json()
    assert set(row) == {"id", "workspace", "workspace_revision", "revoked", "revoked_at"}


@pytest.mark.parametrize(
    ("hours", "fits"),
    [
        (None, True),
        (0, True),
        (1, True),
        (MAX_OVERLAP_HOURS - 1, True),
        (MAX_OVERLAP_HOURS, True),
        (MAX_OVERLAP_HOURS + 1, False),
        (-1, False),
        (1.0, False),
        ("24", False),
        (True, False),
        (10**40, False),
    ],
)
def test_a_key_is_replaced_with_an_overlap(manager: Person, hours: Any, fits: bool) -> None:
    old = AgentKeyFactory(workspace=HERE, name="desk", access="read", tools=["recall"])
    before = timezone.now()
    fields = {} if hours is None else {"overlap_hours": hours}
    response = manager.send(f"agent-keys/{old.pk}/rotate/", fields)
    old.refresh_from_db()
    if not fits:
        assert_problem(response, 400, "refused")
        assert old.expires_at is None
        return
    assert response.status_code == 201
    assert response["Cache-Control"] == "private, no-store"
    new = response.json()
    assert AgentKey.objects.with_secret(new["secret"]).get().pk == new["id"] == old.replaced_by_id
    assert (new["name"], new["access"], new["tools"]) == ("desk", "read", ["recall"])
    overlap = old.expires_at - before
    wanted = datetime.timedelta(hours=24 if hours is None else hours)
    assert wanted <= overlap < wanted + datetime.timedelta(minutes=5)
    assert manager.get(f"agent-keys/{old.pk}/").json()["replaced_by"] == new["id"]
    again = assert_problem(manager.send(f"agent-keys/{old.pk}/rotate/"), 400, "refused")
    assert "replaced already" in again["detail"] or "expired" in again["detail"]


def test_a_key_stays_what_it_was_issued_as(root: Person) -> None:
    key = AgentKeyFactory(workspace=HERE)
    for method in ("patch", "put"):
        response = root.send(f"agent-keys/{key.pk}/", {"access": "read-write"}, method)
        assert_problem(response, 405)
        assert response["Allow"] == "DELETE, GET, HEAD"


# Grants


def test_a_grant_is_given_changed_and_taken_back(manager: Person) -> None:
    ada = UserFactory()
    made = manager.send("grants/", {"workspace": HERE, "user": ada.pk, "access": "read"})
    assert made.status_code == 201
    grant = Grant.objects.get(user=ada)
    row = {
        "id": grant.pk,
        "workspace": HERE,
        "workspace_revision": 0,
        "user": ada.pk,
        "group": None,
        "access": "read",
        "created_at": grant.created_at.isoformat(),
    }
    assert made.json() == row
    address = f"grants/{grant.pk}/"
    assert manager.get(address).json() == row
    changed = manager.send(address, {"access": "read-write"}, "patch")
    assert changed.json() == {**row, "access": "read-write"}
    assert manager.send(address, method="delete").json() == {"id": grant.pk, "deleted": True}
    assert_problem(manager.send(address, method="delete"), 404, "not_found")


def test_a_second_grant_of_the_same_is_told_where_the_first_is(manager: Person) -> None:
    group = Group.objects.create(name="desk")
    grant = Grant.objects.give(workspace=HERE, group=group)
    fields = {"workspace": HERE, "group": group.pk, "access": "read-write"}
    document = assert_problem(manager.send("grants/", fields), 409, "exists")
    assert f"PATCH grants/{grant.pk}/" in document["detail"]
    assert Grant.objects.get(pk=grant.pk).access == "read"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"user": None}, "send user or group"),
        ({"group": 1}, "send user or group"),
        ({"user": 999_999}, "There is no user with this id."),
        ({"user": None, "group": 999_999}, "There is no group with this id."),
        ({"user": None, "group": "x"}, "group must be the id of a group."),
        ({"access": "root"}, "access must be one of"),
        ({"access": None}, "access must be one of"),
        ({"workspace": 5}, "string"),
        ({"created_at": "x"}, "unknown"),
    ],
)
def test_bad_grants(root: Person, wrong: dict[str, Any], said: str) -> None:
    fields = {"workspace": HERE, "user": root.user.pk, "access": "read", **wrong}
    document = assert_problem(root.send("grants/", fields), 400, "refused")
    assert said in document["detail"]
    assert not Grant.objects.exists()


@pytest.mark.parametrize("data", [{}, {"access": "root"}, {"access": "read", "user": 1}, []])
def test_only_the_access_of_a_grant_changes(root: Person, data: Any) -> None:
    grant = Grant.objects.give(workspace=HERE, user=UserFactory())
    assert_problem(root.send(f"grants/{grant.pk}/", data, "patch"), 400, "refused")


def test_nobody_widens_their_own_grant() -> None:
    one = person(*OVER_GRANTS, access="read")
    grant = Grant.objects.get(user=one.user)
    response = one.send(f"grants/{grant.pk}/", {"access": "read-write"}, "patch")
    document = assert_problem(response, 403, "not_allowed")
    assert document["detail"] == (
        "You can give only what you may do there. You lack the permission agent_memory.add_note."
    )
    grant.refresh_from_db()
    assert grant.access == "read"


def test_what_has_no_revision_takes_no_precondition(root: Person) -> None:
    key = AgentKeyFactory(workspace=HERE)
    grant = Grant.objects.give(workspace=HERE, user=UserFactory())
    named = {"headers": {"If-Match": '"1"'}}
    for method, address, data in [
        ("delete", f"agent-keys/{key.pk}/", {}),
        ("post", f"agent-keys/{key.pk}/rotate/", {}),
        ("patch", f"grants/{grant.pk}/", {"access": "read"}),
        ("delete", f"grants/{grant.pk}/", {}),
    ]:
        assert_problem(root.send(address, data, method, **named), 400, "refused")
        assert_problem(root.send(f"{address}?force=1", data, method), 400, "refused")


# Lists


def test_filters_of_keys(root: Person) -> None:
    now = timezone.now()
    day = datetime.timedelta(days=1)
    old = AgentKeyFactory(workspace="here/below", name="Desk one", expires_at=now - day)
    AgentKey.objects.filter(pk=old.pk).update(created_at=now - 2 * day, last_used_at=now - day)
    gone = AgentKeyFactory(workspace=HERE, name="desk two", user=root.user, expires_at=now - day)
    gone.revoke()
    active = AgentKeyFactory(workspace=HERE, name="50%_", access="read", expires_at=now + day)
    plain = AgentKeyFactory(workspace=THERE, name="\u0130stanbul")
    border = (now - day).isoformat()
    for query, found in [
        ({}, [old, gone, active, plain]),
        ({"workspace": HERE}, [gone, active]),
        ({"workspace_within": HERE}, [old, gone, active]),
        ({"name": "desk two"}, [gone]),
        ({"name": "Desk two"}, []),
        ({"search": "esk"}, [old, gone]),
        ({"search": "Desk"}, [old]),
        ({"search": "%"}, [active]),
        ({"search": "_"}, [active]),
        ({"search": "\u0130s"}, [plain]),
        ({"search": ""}, [old, gone, active, plain]),
        ({"prefix": plain.prefix}, [plain]),
        ({"access": "read"}, [active]),
        ({"state": "active"}, [active, plain]),
        ({"state": "expired"}, [old]),
        ({"state": "revoked"}, [gone]),
        ({"user": root.user.pk}, [gone]),
        ({"user": 2**63 - 1}, []),
        ({"created_before": border}, [old]),
        ({"created_after": border}, [gone, active, plain]),
        ({"expires_before": now.isoformat()}, [old, gone]),
        ({"expires_after": now.isoformat()}, [active]),
        ({"last_used_before": now.isoformat()}, [old]),
        ({"last_used_after": now.isoformat()}, []),
        ({"state": "active", "access": "read-write"}, [plain]),
    ]:
        response = root.get("agent-keys/", {"ordering": "created_at", **query})
        assert results(response, "id") == [key.pk for key in found], query


def test_filters_of_grants(root: Person) -> None:
    group = Group.objects.create(name="desk")
    by_group = Grant.objects.give(workspace=HERE, group=group)
    by_user = Grant.objects.give(workspace="here/below", user=root.user, access="read-write")
    border = by_user.created_at.isoformat()
    for query, found in [
        ({}, [by_group, by_user]),
        ({"workspace": HERE}, [by_group]),
        ({"workspace_within": HERE}, [by_group, by_user]),
        ({"user": root.user.pk}, [by_user]),
        ({"group": group.pk}, [by_group]),
        ({"access": "read"}, [by_group]),
        ({"created_before": border}, [by_group]),
        ({"created_after": border}, [by_user]),
    ]:
        response = root.get("grants/", {"ordering": "created_at", **query})
        assert results(response, "id") == [grant.pk for grant in found], query


@pytest.mark.parametrize(
    ("address", "query"),
    [
        ("agent-keys/", {"state": "dead"}),
        ("agent-keys/", {"access": "root"}),
        ("agent-keys/", {"user": "x"}),
        ("agent-keys/", {"user": ""}),
        ("agent-keys/", {"name": ""}),
        ("agent-keys/", {"name": "\x00"}),
        ("agent-keys/", {"search": "\x00"}),
        ("agent-keys/", {"search": "a" * 513}),
        ("agent-keys/", {"user": 2**63}),
        ("agent-keys/", {"secret": "dam_"}),
        ("agent-keys/", {"digest": "0"}),
        ("agent-keys/", {"ordering": "digest"}),
        ("agent-keys/", {"ordering": "last_used_at"}),
        ("agent-keys/", {"page_size": "0"}),
        ("agent-keys/", {"cursor": "x"}),
        ("agent-keys/", {"created_after": "yesterday"}),
        ("agent-keys/", {"format": "json"}),
        ("grants/", {"group": "x"}),
        ("grants/", {"user": "\x00"}),
        ("grants/", {"workspace": "a//b"}),
        ("grants/", {"access": "write"}),
        ("grants/", {"ordering": "access"}),
    ],
)
def test_bad_queries(root: Person, address: str, query: dict[str, Any]) -> None:
    status = 413 if len(query.get("search", "")) > 512 else 400
    assert_problem(root.get(address, query), status)


@pytest.mark.parametrize("ordering", ["created_at", "-created_at", "name", "-name"])
def test_pages_of_keys_cover_every_row_once(root: Person, ordering: str) -> None:
    names = ["b", "a", "b", "B", "\u00e4", "z"]
    for name in names:
        AgentKeyFactory(workspace=HERE, name=name)
    seen, following = [], f"/memory/agent-keys/?ordering={ordering}&page_size=2"
    while following:
        page = root.http.get(following).json()
        seen += page["results"]
        following = page["next"]
    assert len({row["id"] for row in seen}) == len(seen) == len(names)
    if ordering == "name":
        assert [row["name"] for row in seen] == sorted(names)
    if ordering == "-created_at":
        assert [row["name"] for row in seen] == names[::-1]


@pytest.mark.parametrize("address", ["agent-keys/", "grants/"])
def test_a_list_takes_the_same_statements_whatever_its_length(
    manager: Person, address: str
) -> None:
    counts = []
    for _ in range(2):
        for _ in range(5):
            AgentKeyFactory(workspace=HERE, user=UserFactory())
            Grant.objects.give(workspace=HERE, user=UserFactory())
        with CaptureQueriesContext(connection) as queries:
            assert len(manager.get(address).json()["results"]) >= 5
        counts.append(len(queries))
    # Session, user, permissions, whether there is such a workspace, and the list.
    assert counts == [5, 5]


def test_a_user_who_is_gone_is_shown_by_number(root: Person) -> None:
    user = User.objects.create_user("gone")
    grant = Grant.objects.give(workspace=HERE, user=user)
    number = user.pk
    user.delete()
    assert root.get(f"grants/{grant.pk}/").json()["user"] == number


def test_a_key_of_another_persons_name_is_refused(manager: Person, root: Person) -> None:
    named = {"workspace": HERE, "name": root.user.username}
    detail = assert_problem(manager.send("agent-keys/", named), 403, "not_allowed")["detail"]
    assert detail == "A user has this name, which would sign what the key writes."
    assert not AgentKey.objects.exists()
    own = manager.send("agent-keys/", {"workspace": HERE, "name": manager.user.username})
    assert own.status_code == 201
    assert root.send("agent-keys/", named | {"name": manager.user.username}).status_code == 201


@pytest.mark.parametrize("form", [" {}", "+{}", "0{}", "{} ", "{}.0", "-{}", "0_{}"])
def test_a_user_is_named_by_the_id_exactly(manager: Person, form: str) -> None:
    written = form.format(manager.user.pk)
    given = manager.send("grants/", {"workspace": HERE, "user": written, "access": "read"})
    assert_problem(given, 400, "refused")
    assert_problem(manager.get("grants/", {"user": written}), 400, "refused")
    key = {"workspace": HERE, "name": "n", "user": written}
    assert_problem(manager.send("agent-keys/", key), 400, "refused")


def test_a_rotated_key_is_the_same_caller(db: None) -> None:
    agent = Agent(workspace=HERE)
    call = {"key": "k", "summary": "s", "body": "b"}
    named = {"headers": {"Idempotency-Key": "a1"}}
    private = {"headers": {"Memory-Session": "c1"}}
    first = agent.send("tools/remember/", call, **named)
    agent.send("tools/remember/", call | {"key": "own", "persist": False}, **private)
    old = agent.key
    for _ in range(2):
        new, secret = AgentKey.objects.rotate(old, overlap=datetime.timedelta(hours=1))
        assert (new.first_id, new.caller_id) == (agent.key.pk, agent.key.pk)
        new.secret = secret
        again = Agent(new).send("tools/remember/", call, **named)
        assert (again.content, again["Idempotency-Replayed"]) == (first.content, "true")
        seen = Agent(new).send("tools/recall/", {"key": "own"}, **private).json()
        assert seen["found"] is True
        old = new
    stranger = Agent(workspace=HERE)
    assert "Idempotency-Replayed" not in stranger.send("tools/remember/", call, **named)
    assert not stranger.send("tools/recall/", {"key": "own"}, **private).json()["found"]


@pytest.mark.parametrize(("year", "is_taken"), [(9997, True), (9998, True), (9999, False)])
def test_the_last_year_in_which_a_key_may_expire(db: None, year: int, is_taken: bool) -> None:
    moment = datetime.datetime(year, 12, 30, tzinfo=datetime.UTC)
    terms = {"workspace": HERE, "name": "far", "expires_at": moment}
    if not is_taken:
        with pytest.raises(Refused, match="up to 9998"):
            AgentKey.objects.issue(**terms)
        return
    key, _secret = AgentKey.objects.issue(**terms)
    assert AgentKey.objects.get(pk=key.pk).expires_at == moment
