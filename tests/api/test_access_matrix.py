"""Every endpoint under every credential: what the table says, and nothing else."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.db.models import QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve
from django.utils import timezone

from django_agent_memory import urls
from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey, Grant, IndexEntry, Note, Revision, Workspace
from django_agent_memory.policy import OF_CREDENTIALS, READS, Policy
from django_agent_memory.tools import TOOLS
from tests import process
from tests.factories import AgentKeyFactory, UserFactory

pytestmark = pytest.mark.django_db

MOUNT = "/memory/"
HOME, FOREIGN, NOWHERE = "core", "tenant-b", "tenant-c"
TOKEN = "a" * 32

# All about the home workspace, in which two revisions of one note are.
#   no    no credential                        usr  a user without rights
#   bad   a key that there is not              gr   a user with a grant to read it
#   exp   an expired key                       grw  a user with a grant to read and write
#   rev   a revoked key                        grp  a member of a group with such a grant
#   rk    a key to read, with the usual tools  obj  a user with object permissions, none to forget
#   rwk   a key to write, with every tool      mgr  grw who may do all with keys and grants
#   oth   such a key of another workspace      sup  a superuser
#                                              ses  a superuser's session without CSRF token
#                                              tok  and with it
TABLE = """
                                      no bad exp rev  rk rwk oth usr  gr grw grp obj mgr sup ses tok
GET tools/                           401 401 401 401 200 200 200 200 200 200 200 200 200 200 200 200
POST tools/recall/                   401 401 401 401 200 200 200 400 400 400 400 400 400 400 403 400
POST tools/{path}/recall/            401 401 401 401 200 200 404 404 200 200 200 200 200 200 403 200
GET tools/{path}/recall/?key=plan    401 401 401 401 200 200 404 404 200 200 200 200 200 200 200 200
POST tools/{path}/list_memories/     401 401 401 401 200 200 404 404 200 200 200 200 200 200 403 200
POST tools/{path}/search/            401 401 401 401 200 200 404 404 200 200 200 200 200 200 403 200
POST tools/{path}/find/              401 401 401 401 403 200 404 404 200 200 200 200 200 200 403 200
POST tools/{path}/remember/          401 401 401 401 403 200 404 404 403 200 200 200 200 200 403 200
POST tools/{path}/store/             401 401 401 401 403 200 404 404 403 200 200 200 200 200 403 200
POST tools/{path}/forget/            401 401 401 401 403 200 404 404 403 200 200 403 200 200 403 200
POST tools/{path}/forget_matching/   401 401 401 401 403 200 404 404 403 200 200 403 200 200 403 200
POST tools/{path}/history/           401 401 401 401 403 200 404 404 200 200 200 200 200 200 403 200
POST tools/{path}/index/             401 401 401 401 403 200 404 404 200 200 200 200 200 200 403 200
GET tools/{path}/remember/           401 401 401 401 403 405 404 404 403 405 405 405 405 405 405 405
POST tools/{path}/no_such_tool/      401 401 401 401 404 404 404 404 404 404 404 404 404 404 403 404
GET index/                           401 401 401 401 200 200 200 403 400 400 400 400 400 400 400 400
GET index/{path}/                    401 401 401 401 200 200 404 404 200 200 200 200 200 200 200 200
GET stats/                           401 401 401 401 200 200 200 403 400 400 400 400 400 400 400 400
GET stats/{path}/                    401 401 401 401 200 200 404 404 200 200 200 200 200 200 200 200
POST apply/                          401 401 401 401 403 200 200 400 400 400 400 400 400 400 403 400
POST apply/{path}/                   401 401 401 401 403 200 404 404 403 200 200 200 200 200 403 200
POST apply/{path}/#drop              401 401 401 401 403 200 404 404 403 200 200 403 200 200 403 200
POST compose/                        401 401 401 401 200 200 200 403 400 400 400 400 400 400 403 400
POST compose/{path}/                 401 401 401 401 200 200 404 404 200 200 200 200 200 200 403 200
POST end-session/                    401 401 401 401 403 200 200 403 403 400 400 400 400 400 403 400
POST end-session/{path}/             401 401 401 401 403 200 404 404 403 200 200 200 200 200 403 200
GET values/                          401 401 401 401 200 200 200 403 400 400 400 400 400 400 400 400
GET values/{path}/                   401 401 401 401 200 200 404 404 200 200 200 200 200 200 200 200
GET values/{path}/?key=plan          401 401 401 401 200 200 404 404 200 200 200 200 200 200 200 200
PUT values/{path}/                   401 401 401 401 403 200 404 404 403 200 200 200 200 200 403 200
DELETE values/{path}/                401 401 401 401 403 200 404 404 403 200 200 403 200 200 403 200
GET history/?key=plan                401 401 401 401 200 200 200 403 400 400 400 400 400 400 400 400
GET history/{path}/?key=plan         401 401 401 401 200 200 404 404 200 200 200 200 200 200 200 200
GET as-of/?revision=1                401 401 401 401 200 200 200 403 400 400 400 400 400 400 400 400
GET as-of/{path}/?revision=1         401 401 401 401 200 200 404 404 200 200 200 200 200 200 200 200
POST restore/                        401 401 401 401 403 200 400 403 403 400 400 403 400 400 403 400
POST restore/{path}/                 401 401 401 401 403 200 404 404 403 200 200 403 200 200 403 200
POST rollback/                       401 401 401 401 403 403 403 403 403 400 400 403 400 400 403 400
POST rollback/{path}/                401 401 401 401 403 403 404 404 403 200 200 403 200 200 403 200
POST mcp/                            401 401 401 401 200 200 200 403 400 400 400 400 400 400 403 400
POST mcp/{path}/                     401 401 401 401 200 200 404 404 200 200 200 200 200 200 403 200
POST mcp/{path}/#list                401 401 401 401 200 200 404 404 200 200 200 200 200 200 403 200
GET workspaces/                      401 401 401 401 200 200 200 403 200 200 200 200 200 200 200 200
GET workspaces/?path={path}          401 401 401 401 200 200 200 403 200 200 200 200 200 200 200 200
POST workspaces/                     401 401 401 401 403 403 403 403 403 403 403 403 403 201 403 201
GET workspaces/{workspace}/          401 401 401 401 200 200 404 403 200 200 200 200 200 200 200 200
PATCH workspaces/{workspace}/        401 401 401 401 403 403 403 403 403 403 403 403 403 200 403 200
GET notes/                           401 401 401 401 200 200 200 403 200 200 200 200 200 200 200 200
GET notes/?workspace={path}&search=p 401 401 401 401 200 200 200 403 200 200 200 200 200 200 200 200
POST notes/                          401 401 401 401 403 201 404 403 403 201 201 201 201 201 403 201
GET notes/{note}/                    401 401 401 401 200 200 404 403 200 200 200 200 200 200 200 200
PUT notes/{note}/                    401 401 401 401 403 200 404 403 403 200 200 200 200 200 403 200
PATCH notes/{note}/                  401 401 401 401 403 200 404 403 403 200 200 200 200 200 403 200
DELETE notes/{note}/                 401 401 401 401 403 200 404 403 403 200 200 403 200 200 403 200
GET index-entries/                   401 401 401 401 200 200 200 403 200 200 200 200 200 200 200 200
GET index-entries/?workspace={path}  401 401 401 401 200 200 200 403 200 200 200 200 200 200 200 200
GET index-entries/{entry}/           401 401 401 401 200 200 404 403 200 200 200 200 200 200 200 200
GET revisions/                       401 401 401 401 200 200 200 403 200 200 200 200 200 200 200 200
GET revisions/?workspace={path}      401 401 401 401 200 200 200 403 200 200 200 200 200 200 200 200
GET revisions/{revision}/            401 401 401 401 200 200 404 403 200 200 200 200 200 200 200 200
GET agent-keys/                      401 401 401 401 403 403 403 403 403 403 403 403 200 200 200 200
GET agent-keys/?workspace={path}     401 401 401 401 403 403 403 403 403 403 403 403 200 200 200 200
POST agent-keys/                     401 401 401 401 403 403 403 403 403 403 403 403 201 201 403 201
GET agent-keys/{key}/                401 401 401 401 403 403 403 403 403 403 403 403 200 200 200 200
DELETE agent-keys/{key}/             401 401 401 401 403 403 403 403 403 403 403 403 200 200 403 200
POST agent-keys/{key}/rotate/        401 401 401 401 403 403 403 403 403 403 403 403 201 201 403 201
GET grants/                          401 401 401 401 403 403 403 403 403 403 403 403 200 200 200 200
GET grants/?workspace={path}         401 401 401 401 403 403 403 403 403 403 403 403 200 200 200 200
POST grants/                         401 401 401 401 403 403 403 403 403 403 403 403 201 201 403 201
GET grants/{grant}/                  401 401 401 401 403 403 403 403 403 403 403 403 200 200 200 200
PATCH grants/{grant}/                401 401 401 401 403 403 403 403 403 403 403 403 200 200 403 200
DELETE grants/{grant}/               401 401 401 401 403 403 403 403 403 403 403 403 200 200 403 200
GET schema/                          401 401 401 401 200 200 200 200 200 200 200 200 200 200 200 200
GET schema/docs/                     401 401 401 401 403 403 403 200 200 200 200 200 200 200 200 200
GET no/such/address/                 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404
"""


class HomeBackend(BaseBackend):
    """Gives one user object permissions on the home workspace."""

    allowed = (*READS, "add_note", "change_note")

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return (
            isinstance(obj, Workspace)
            and (user_obj.username, obj.path) == ("object", HOME)
            and perm.removeprefix("agent_memory.") in self.allowed
        )


class HomePolicy(Policy):
    """Knows which workspaces the backend would allow."""

    def object_workspaces(self, user: Any, permission: str) -> QuerySet[Workspace]:
        home = Workspace.objects.filter(path=HOME)
        has = user.username == "object" and permission in HomeBackend.allowed
        return home if has else home.none()


@dataclass(frozen=True)
class Place:
    """A workspace as requests name it, and numbers of rows in it."""

    path: str
    workspace: int
    note: int
    entry: int
    revision: int
    key: int
    grant: int
    person: int


REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "tools/", None),
    ("POST", "tools/recall/", {"key": "plan"}),
    ("POST", "tools/{path}/recall/", {"key": "plan"}),
    ("GET", "tools/{path}/recall/?key=plan", None),
    ("POST", "tools/{path}/list_memories/", {}),
    ("POST", "tools/{path}/search/", {"pattern": "plan"}),
    ("POST", "tools/{path}/find/", {"query": "plan"}),
    ("POST", "tools/{path}/remember/", {"key": "new", "summary": "s", "body": "b"}),
    ("POST", "tools/{path}/store/", {"content": "new"}),
    ("POST", "tools/{path}/forget/", {"key": "plan"}),
    ("POST", "tools/{path}/forget_matching/", {"query": "plan"}),
    ("POST", "tools/{path}/history/", {"key": "plan"}),
    ("POST", "tools/{path}/index/", {}),
    ("GET", "tools/{path}/remember/", None),
    ("POST", "tools/{path}/no_such_tool/", {}),
    ("GET", "index/", None),
    ("GET", "index/{path}/", None),
    ("GET", "stats/", None),
    ("GET", "stats/{path}/", None),
    ("POST", "apply/", {"changes": [{"op": "save", "key": "new", "body": "b"}]}),
    ("POST", "apply/{path}/", {"changes": [{"op": "save", "key": "new", "body": "b"}]}),
    ("POST", "apply/{path}/#drop", {"changes": [{"op": "drop", "key": "plan"}]}),
    ("POST", "compose/", {"prompt": "plan"}),
    ("POST", "compose/{path}/", {"prompt": "plan"}),
    ("POST", "end-session/", {}),
    ("POST", "end-session/{path}/", {}),
    ("GET", "values/", None),
    ("GET", "values/{path}/", None),
    ("GET", "values/{path}/?key=plan", None),
    ("PUT", "values/{path}/", {"key": "new", "value": 1}),
    ("DELETE", "values/{path}/", {"key": "plan"}),
    ("GET", "history/?key=plan", None),
    ("GET", "history/{path}/?key=plan", None),
    ("GET", "as-of/?revision=1", None),
    ("GET", "as-of/{path}/?revision=1", None),
    ("POST", "restore/", {"key": "plan", "revision": 1}),
    ("POST", "restore/{path}/", {"key": "plan", "revision": 1}),
    ("POST", "rollback/", {"actor": "scribe", "since": 2}),
    ("POST", "rollback/{path}/", {"actor": "scribe", "since": 2}),
    ("POST", "mcp/", {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    ("POST", "mcp/{path}/", {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    ("POST", "mcp/{path}/#list", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    ("GET", "workspaces/", None),
    ("GET", "workspaces/?path={path}", None),
    ("POST", "workspaces/", {"path": "{path}/new"}),
    ("GET", "workspaces/{workspace}/", None),
    ("PATCH", "workspaces/{workspace}/", {"title": "new"}),
    ("GET", "notes/", None),
    ("GET", "notes/?workspace={path}&search=p", None),
    ("POST", "notes/", {"workspace": "{path}", "key": "new", "body": "b"}),
    ("GET", "notes/{note}/", None),
    ("PUT", "notes/{note}/", {"body": "new"}),
    ("PATCH", "notes/{note}/", {"body": "new"}),
    ("DELETE", "notes/{note}/", {}),
    ("GET", "index-entries/", None),
    ("GET", "index-entries/?workspace={path}", None),
    ("GET", "index-entries/{entry}/", None),
    ("GET", "revisions/", None),
    ("GET", "revisions/?workspace={path}", None),
    ("GET", "revisions/{revision}/", None),
    ("GET", "agent-keys/", None),
    ("GET", "agent-keys/?workspace={path}", None),
    ("POST", "agent-keys/", {"workspace": "{path}", "name": "new"}),
    ("GET", "agent-keys/{key}/", None),
    ("DELETE", "agent-keys/{key}/", {}),
    ("POST", "agent-keys/{key}/rotate/", {}),
    ("GET", "grants/", None),
    ("GET", "grants/?workspace={path}", None),
    ("POST", "grants/", {"workspace": "{path}", "user": "{person}", "access": "read-write"}),
    ("GET", "grants/{grant}/", None),
    ("PATCH", "grants/{grant}/", {"access": "read-write"}),
    ("DELETE", "grants/{grant}/", {}),
    ("GET", "schema/", None),
    ("GET", "schema/docs/", None),
    ("GET", "no/such/address/", None),
]


def ask(client: Client, request: tuple[str, str, Any], place: Place) -> Any:
    """Send the request about this place."""
    method, address, data = _about(request, place)
    body = "" if data is None else json.dumps(data)
    headers = {"Memory-Session": "s"} if address.startswith("end-session") else {}
    return client.generic(
        method,
        MOUNT + address,
        body,
        content_type="application/json",
        headers=headers,
    )


def _about(request: tuple[str, str, Any], place: Place) -> tuple[str, str, Any]:
    """Return the request with the place filled in; a fragment only tells two rows apart."""
    method, address, data = request
    if data is not None:
        data = {
            name: value.format(**vars(place)) if isinstance(value, str) else value
            for name, value in data.items()
        }
    return method, address.partition("#")[0].format(**vars(place)), data


def _place(path: str) -> Place:
    workspace = Workspace.objects.get(path=path)
    rows = [model.objects.get(workspace=workspace, key="plan") for model in (Note, IndexEntry)]
    revision = Revision.objects.get(workspace=workspace, number=1)
    key = AgentKeyFactory(workspace=path)
    grant = Grant.objects.give(workspace=path, group=Group.objects.create(name=path))
    person, _made = UserFactory._meta.model.objects.get_or_create(username="grantee")
    return Place(
        path, workspace.pk, rows[0].pk, rows[1].pk, revision.pk, key.pk, grant.pk, person.pk
    )


def _with_key(**terms: Any) -> Client:
    key = AgentKeyFactory(**{"workspace": HOME, "tools": [*TOOLS], **terms})
    if key.access == "read":
        AgentKey.objects.filter(pk=key.pk).update(tools=None)
    return Client(headers={"Authorization": f"Bearer {key.secret}"}, raise_request_exception=False)


def _revoked() -> Client:
    client = _with_key()
    AgentKey.objects.order_by("pk").last().revoke()  # type: ignore[union-attr]
    return client


def _session(name: str, **terms: Any) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(UserFactory(username=name, **terms))
    return client


def _granted(name: str, access: str, **terms: Any) -> Client:
    client = _session(name, **terms)
    user_id = int(client.session["_auth_user_id"])
    Grant.objects.give(workspace=HOME, user=UserFactory._meta.model(pk=user_id), access=access)
    return client


def _in_group() -> Client:
    group = Group.objects.create(name="desk")
    Grant.objects.give(workspace=HOME, group=group, access="read-write")
    client = _session("member")
    group.user_set.add(int(client.session["_auth_user_id"]))  # type: ignore[attr-defined]
    return client


def _checked_for_csrf(name: str, **headers: str) -> Client:
    client = _session(name, is_superuser=True)
    client.handler.enforce_csrf_checks = True
    client.cookies["csrftoken"] = TOKEN
    client.defaults.update(headers)
    return client


CREDENTIALS: dict[str, Callable[[], Client]] = {
    "no": lambda: Client(raise_request_exception=False),
    "bad": lambda: Client(
        headers={"Authorization": "Bearer dam_" + "x" * 43}, raise_request_exception=False
    ),
    "exp": lambda: _with_key(expires_at=timezone.now() - datetime.timedelta(seconds=1)),
    "rev": _revoked,
    "rk": lambda: _with_key(access="read"),
    "rwk": _with_key,
    "oth": lambda: _with_key(workspace="tenant-d"),
    "usr": lambda: _session("norights"),
    "gr": lambda: _granted("reader", "read"),
    "grw": lambda: _granted("writer", "read-write"),
    "grp": _in_group,
    "obj": lambda: _session("object"),
    "mgr": lambda: _granted("manager", "read-write", permissions=OF_CREDENTIALS),
    "sup": lambda: _session("root", is_superuser=True),
    "ses": lambda: _checked_for_csrf("root2"),
    "tok": lambda: _checked_for_csrf("root3", HTTP_X_CSRFTOKEN=TOKEN),
}
# Who has nothing to do with the foreign workspace.
STRANGERS = ("rk", "rwk", "oth", "usr", "gr", "grw", "grp", "obj", "mgr")


@pytest.fixture
def places(db: None, settings: Any) -> dict[str, Place]:
    """The home workspace and a foreign one, each with a note in two revisions."""
    settings.AGENT_MEMORY_POLICY = f"{__name__}.HomePolicy"
    settings.AUTHENTICATION_BACKENDS = [
        "django.contrib.auth.backends.ModelBackend",
        f"{__name__}.HomeBackend",
    ]
    for path in (HOME, FOREIGN):
        memory = Memory(path, actor="scribe")
        memory.remember("plan", "The plan", "hidden")
        memory.remember("plan", "The plan", "hidden still")
    return {path: _place(path) for path in (HOME, FOREIGN)}


@pytest.fixture
def clients(places: dict[str, Place]) -> dict[str, Client]:
    return {name: make() for name, make in CREDENTIALS.items()}


@contextmanager
def undone() -> Iterator[None]:
    """Let nothing of what is done inside stay."""
    process.forget()
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def table_of(statuses: dict[str, list[int]]) -> list[str]:
    """Return the lines of the table: one for each request, one column for each credential."""
    widest = max(map(len, statuses))
    head = [name.rjust(3) for name in CREDENTIALS]
    lines = [" ".join([" " * widest, *head])]
    lines += [" ".join([name.ljust(widest), *map(str, row)]) for name, row in statuses.items()]
    return lines


def test_the_matrix(places: dict[str, Place], clients: dict[str, Client]) -> None:
    statuses: dict[str, list[int]] = {}
    for request in REQUESTS:
        row = statuses.setdefault(f"{request[0]} {request[1]}", [])
        for client in clients.values():
            with undone():
                row.append(ask(client, request, places[HOME]).status_code)
    found = table_of(statuses)
    print("\n".join(found))  # noqa: T201  (the table is what one runs this test to see)
    assert found == TABLE.strip("\n").splitlines()


@pytest.mark.parametrize("name", STRANGERS)
def test_a_foreign_workspace_is_in_nothing_unlike_one_that_does_not_exist(
    places: dict[str, Place], clients: dict[str, Client], name: str
) -> None:
    foreign = places[FOREIGN]
    missing = Place(NOWHERE, *([10**6] * 7))
    compared = 0
    for request in REQUESTS:
        if _about(request, foreign) == _about(request, missing):
            continue
        answers = []
        for place in (foreign, missing):
            with undone(), CaptureQueriesContext(connection) as queries:
                response = ask(clients[name], request, place)
            assert response.status_code in (200, 403, 404, 405), request
            assert b"hidden" not in response.content
            headers = {k: v for k, v in response.headers.items() if k != "Date"}
            answers.append((response.status_code, headers, response.content, len(queries)))
        assert answers[0] == answers[1], (name, request)
        compared += 1
    assert compared > 30


@pytest.mark.parametrize("name", ["rwk", "sup"])
def test_an_unknown_query_parameter_is_refused_at_every_address(
    places: dict[str, Place], clients: dict[str, Client], name: str
) -> None:
    refused = set()
    for method, address, data in REQUESTS:
        plain = address.partition("#")[0]
        longer = f"{plain}{'&' if '?' in plain else '?'}utm_source=x"
        with undone():
            if ask(clients[name], (method, address, data), places[HOME]).status_code >= 400:
                continue
        with undone():
            response = ask(clients[name], (method, longer, data), places[HOME])
        assert response.status_code == 400, (method, longer)
        said = response.json()
        # A delete of a value takes its fields in the query, or in the body.
        sentence = said["error"]["message"] if "error" in said else said["detail"]
        assert re.search("utm_source|not in both", sentence)
        refused.add(f"{method} {address}")
    assert len(refused) > 45


def test_no_endpoint_is_missing_from_the_matrix() -> None:
    addresses = [_about(request, Place("a", 1, 1, 1, 1, 1, 1, 1))[1] for request in REQUESTS]
    covered = {resolve(MOUNT + address.partition("?")[0]).url_name for address in addresses}
    assert covered == {getattr(pattern, "name", None) for pattern in urls.urlpatterns}
    tools = {address.split("/")[2] for _, address, _ in REQUESTS if "tools/{path}/" in address}
    assert tools == {*TOOLS, "no_such_tool"}
