"""Who calls: agent keys in every state, sessions with and without CSRF, and both at once."""

from __future__ import annotations

import datetime
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth import get_user_model
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey, Note, Revision
from django_agent_memory.models.access import AgentKeyQuerySet
from tests.factories import AgentKeyFactory, NoteFactory, UserFactory

from .conftest import Agent, assert_problem, stored

pytestmark = pytest.mark.django_db

ARGUMENTS = {"key": "k", "summary": "s", "body": "b"}


def call_with(header: str | None) -> Any:
    headers = {} if header is None else {"Authorization": header}
    return Client(raise_request_exception=False).post(
        "/memory/tools/remember/", ARGUMENTS, content_type="application/json", headers=headers
    )


@pytest.mark.parametrize(
    "header",
    [
        None, "", "Bearer", "Bearer ", "Bearer dam_", "Bearer dam_" + "x" * 43, "bearer x",
        "Bearer a b", "Bearer \xff\xfe", "Basic dXNlcjpwYXNz", "dam_secret", "Bearer " + "x" * 9000,
    ],
)  # fmt: skip
def test_without_a_known_key(header: str | None) -> None:
    AgentKeyFactory()
    before = stored()
    response = call_with(header)
    assert_problem(response, 401)
    assert response["WWW-Authenticate"] == "Bearer"
    assert stored() == before


def test_the_scheme_is_case_insensitive(agent: Agent) -> None:
    assert call_with(f"bEARER {agent.key.secret}").status_code == 200


@pytest.mark.parametrize("state", ["revoked", "expired", "inactive", "deleted"])
def test_a_key_that_is_no_longer_good(agent: Agent, state: str) -> None:
    if state == "revoked":
        agent.key.revoke()
    elif state == "expired":
        AgentKey.objects.update(expires_at=timezone.now() - datetime.timedelta(seconds=1))
    else:
        AgentKey.objects.update(user=UserFactory(is_active=False))
        if state == "deleted":
            get_user_model().objects.all().delete()
    before = stored()
    response = agent.call("remember", **ARGUMENTS)
    code = {"revoked": "revoked_key", "expired": "expired_key"}.get(state, "inactive_user")
    assert_problem(response, 401, code)
    assert response["WWW-Authenticate"] == "Bearer"
    assert stored() == before


def test_a_key_in_its_last_hour() -> None:
    agent = Agent(expires_at=timezone.now() + datetime.timedelta(hours=1))
    assert agent.call("list_memories").status_code == 200


@pytest.mark.parametrize("has_user", [False, True])
def test_one_statement_finds_key_workspace_and_user(has_user: bool) -> None:
    agent = Agent(user=UserFactory() if has_user else None)
    agent.get("tools/")
    with CaptureQueriesContext(connection) as queries:
        assert agent.get("tools/").status_code == 200
    assert len(queries) == 1
    assert agent.key.secret not in queries[0]["sql"]


# The time of the last use


def last_used() -> datetime.datetime | None:
    return AgentKey.objects.values_list("last_used_at", flat=True).get()


def test_the_use_is_noted_once_a_minute(agent: Agent) -> None:
    first = last_used()
    agent.get("tools/")
    assert last_used() == first
    AgentKey.objects.update(last_used_at=timezone.now() - datetime.timedelta(seconds=61))
    agent.get("tools/")
    noted = last_used()
    assert noted is not None
    assert first is not None
    assert noted > first


def test_a_use_that_cannot_be_noted_is_no_reason_to_fail(agent: Agent) -> None:
    agent.remember()
    AgentKey.objects.update(last_used_at=None)
    broken = mock.Mock(side_effect=OperationalError("attempt to write a readonly database"))
    with mock.patch.object(AgentKeyQuerySet, "update", broken):
        assert agent.call("recall", key="k").json()["body"] == "b"
    assert broken.called
    assert last_used() is None


def test_a_refused_key_is_not_stamped(agent: Agent) -> None:
    AgentKey.objects.update(last_used_at=None)
    agent.key.revoke()
    assert_problem(agent.get("tools/"), 401)
    assert last_used() is None


# Sessions


def session(user: Any, *, csrf: bool = False) -> Client:
    client = Client(enforce_csrf_checks=csrf, raise_request_exception=False)
    client.force_login(user)
    return client


def test_a_user_writes_under_their_name() -> None:
    user = UserFactory(permissions=("add_note", "change_note", "add_workspace"))
    response = session(user).post(
        "/memory/tools/core/remember/", ARGUMENTS, content_type="application/json"
    )
    assert response.status_code == 200
    assert Revision.objects.get().actor == user.username


def test_a_session_needs_the_csrf_token() -> None:
    client = session(UserFactory(is_superuser=True), csrf=True)
    before = stored()
    for kind in ("application/json", "text/plain"):
        response = client.generic(
            "POST", "/memory/tools/core/remember/", b'{"key":"k"}', content_type=kind
        )
        if kind == "application/json":
            assert "Bearer" in assert_problem(response, 403, "csrf_failed")["detail"]
        else:
            assert_problem(response, 415)
    assert stored() == before


@pytest.mark.parametrize("length", [None, "", "0"])
def test_a_session_whose_server_names_a_media_type_without_a_body(length: str | None) -> None:
    Memory("core").remember("k", "s", "b")
    client = session(UserFactory(is_superuser=True), csrf=True)
    client.cookies["csrftoken"] = "a" * 32
    # As Python's own server does, which `manage.py runserver` is made of.
    told: dict[str, Any] = {"CONTENT_TYPE": "text/plain"}
    if length is not None:
        told["CONTENT_LENGTH"] = length
    assert client.get("/memory/index/core/", **told).status_code == 200
    ended = client.generic(
        "POST",
        "/memory/end-session/core/",
        headers={"X-CSRFToken": "a" * 32, "Memory-Session": "s"},
        **told,
    )
    assert ended.status_code == 200, ended.content


@pytest.mark.parametrize(
    "told", [{"CONTENT_LENGTH": "1"}, {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}]
)
def test_a_session_with_a_body_that_is_not_json(told: dict[str, str]) -> None:
    client = session(UserFactory(is_superuser=True), csrf=True)
    kind = "application/x-www-form-urlencoded"
    response = client.generic("POST", "/memory/end-session/core/", "a", content_type=kind, **told)
    assert_problem(response, 415, "unsupported_media_type")


def test_a_session_without_a_body_is_of_any_type() -> None:
    # As the development server makes one up.
    client = session(UserFactory(is_superuser=True), csrf=True)
    client.cookies["csrftoken"] = "a" * 32
    token = {"headers": {"X-CSRFToken": "a" * 32}}
    NoteFactory(key="k")
    pk = Note.objects.get().pk
    assert client.generic("GET", "/memory/notes/", content_type="text/plain").status_code == 200
    gone = client.generic("DELETE", f"/memory/notes/{pk}/", content_type="text/plain", **token)
    assert gone.status_code == 200


def test_a_session_with_the_csrf_token() -> None:
    client = session(UserFactory(is_superuser=True), csrf=True)
    client.cookies["csrftoken"] = "a" * 32
    response = client.post(
        "/memory/tools/core/remember/",
        ARGUMENTS,
        content_type="application/json",
        headers={"X-CSRFToken": "a" * 32},
    )
    assert response.status_code == 200


def test_a_key_beside_a_session_is_a_key() -> None:
    agent = Agent()
    agent.http = session(UserFactory(is_superuser=True), csrf=True)
    agent.http.defaults["HTTP_AUTHORIZATION"] = f"Bearer {agent.key.secret}"
    assert agent.remember()["outcome"] == "created"
    assert Revision.objects.get().actor == agent.key.name
    assert_problem(agent.get("tools/elsewhere/list_memories/"), 404)


def test_a_bad_key_beside_a_session_is_not_the_session() -> None:
    client = session(UserFactory(is_superuser=True))
    client.defaults["HTTP_AUTHORIZATION"] = "Bearer dam_unknown"
    assert_problem(client.get("/memory/tools/core/list_memories/"), 401, "unknown_key")


def test_an_inactive_user_has_no_session() -> None:
    user = UserFactory(is_superuser=True)
    client = session(user)
    user.is_active = False
    user.save()
    assert_problem(client.get("/memory/tools/core/list_memories/"), 401)
