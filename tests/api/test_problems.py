"""Errors: problem documents whatever goes wrong, in English, without a word of the inside."""

from __future__ import annotations

import json
import logging
import sqlite3
from typing import Any
from unittest import mock

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.http import Http404
from django.test import Client

from django_agent_memory.exceptions import Busy
from django_agent_memory.memory import Memory
from django_agent_memory.results import Listing

from .conftest import Agent, assert_problem

pytestmark = pytest.mark.django_db


def failing(verb: str, error: Exception) -> Any:
    return mock.patch.object(Memory, verb, mock.Mock(side_effect=error))


def test_busy_says_when_to_come_back(agent: Agent) -> None:
    with failing("remember", Busy("The memory is busy; try the same call again.")):
        response = agent.call("remember", key="k", summary="s", body="b")
    assert_problem(response, 503, "busy")
    assert int(response["Retry-After"]) >= 1


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("password=hunter2 <b>"),
        KeyError("hunter2"),
        OperationalError("no such table: hunter2"),
        DatabaseError("hunter2"),
        InterfaceError("hunter2"),
        RecursionError("hunter2"),
        AttributeError("hunter2"),
    ],
)
def test_the_unexpected_is_logged_and_not_told(
    agent: Agent, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    reported = mock.Mock()
    got_request_exception.connect(reported)
    try:
        with failing("lookup", error):
            response = agent.call("recall", key="k")
    finally:
        got_request_exception.disconnect(reported)
    assert_problem(response, 500, "internal_error")
    assert b"hunter2" not in response.content
    (record,) = [r for r in caplog.records if r.name == "django_agent_memory.api"]
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert record.exc_info[1] is error
    assert reported.called


def test_what_cannot_be_rendered_is_a_problem_too(agent: Agent) -> None:
    odd = Listing(lines=(), workspace_revision=object())  # type: ignore[arg-type]
    with mock.patch.object(Memory, "listing", return_value=odd):
        assert_problem(agent.call("list_memories"), 500, "internal_error")


@pytest.mark.parametrize("error", [Http404("x"), PermissionDenied("x"), SuspiciousOperation("x")])
def test_errors_of_the_host(agent: Agent, error: Exception) -> None:
    with failing("lookup", error):
        response = agent.call("recall", key="k")
    status = {Http404: 404, PermissionDenied: 403, SuspiciousOperation: 400}[type(error)]  # type: ignore[index]
    assert_problem(response, status)


def test_debug_changes_nothing(agent: Agent, settings: Any) -> None:
    settings.DEBUG = True
    with failing("lookup", RuntimeError("hunter2")):
        assert_problem(agent.call("recall", key="k"), 500)
    assert_problem(agent.get("nosuch/"), 404)


@pytest.mark.parametrize("method", ["get", "post", "put", "delete", "patch", "options"])
@pytest.mark.parametrize(
    "address",
    ["", "nosuch", "nosuch/deeper/", "notes/abc/", "notes/-1", "notes/1.5/", "tools//recall/",
     "notes/" + "9" * 5000, "notes/%00", "notes.json", "tools.api", "%ff", "%zz"],
)  # fmt: skip
def test_unknown_addresses(address: str, method: str) -> None:
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    assert_problem(client.generic(method.upper(), f"/memory/{address}"), 404, "not_found")


def test_nothing_is_translated(agent: Agent, settings: Any) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.middleware.locale.LocaleMiddleware"]

    def answers(language: str) -> list[bytes]:
        def headers(**more: str) -> dict[str, Any]:
            return {"headers": {"Accept-Language": language, **more}}

        return [
            agent.send("tools/recall/", {}, "put", **headers()).content,
            agent.send("tools/recall/", "{", **headers()).content,
            agent.send("tools/recall/", "{}", content_type="text/plain", **headers()).content,
            agent.get("notes/", {"size_min": "x"}, **headers()).content,
            agent.get("notes/", {"ordering": "x"}, **headers()).content,
            agent.get("notes/", {"created_after": "gestern"}, **headers()).content,
            agent.get("tools/", **headers(Authorization="")).content,
            agent.get("tools/", **headers(Authorization="Bearer x")).content,
            agent.get("notes/0/", **headers()).content,
        ]

    english = answers("en")
    assert answers("ru") == answers("de") == answers("zh-hans") == english
    assert all(json.loads(answer)["detail"] for answer in english)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="elsewhere readers wait for no writer")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("address", ["tools/recall/?key=k", "tools/search/?pattern=", "index/"])
def test_a_read_of_a_locked_database_is_busy_not_empty(agent: Agent, address: str) -> None:
    agent.remember()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 20")
    holder = sqlite3.connect(str(connection.settings_dict["NAME"]), isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        response = agent.get(address)
    finally:
        holder.rollback()
        holder.close()
        connection.close()
    assert_problem(response, 503, "busy")
    assert int(response["Retry-After"]) >= 1
    assert agent.get(address).status_code == 200
