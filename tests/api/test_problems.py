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
from django.db import DatabaseError, InterfaceError, OperationalError, connection, connections
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


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\x00", "\ud800" * 500, "\udc00\ud800"])
def test_a_problem_is_readable_for_strict_parsers(agent: Agent, text: str) -> None:
    answers = [
        *(agent.send(f"tools/{tool}/", {text: 1}) for tool in ("recall", "search", "remember")),
        agent.send("notes/", {"key": "k", "body": "b", text: 1}),
        agent.send("notes/", {"key": text, "body": "b"}),
        agent.send("restore/", {"key": text, "revision": 1}),
        agent.send("restore/", {"key": "k", "revision": 1, text: 1}),
        agent.call("forget", key=text),
    ]
    with failing("lookup", Busy(f"The key {text} is busy.")):
        answers.append(agent.call("recall", key="k"))
    for answer in answers:
        document = assert_problem(answer, answer.status_code)
        assert 400 <= answer.status_code < 504
        assert not any(c == "\x00" or "\ud800" <= c <= "\udfff" for c in document["detail"])
        assert b"\\ud" not in answer.content.lower()
    bad = next(c for c in text if c != "a")
    assert f"U+{ord(bad):04X}" in assert_problem(answers[3], 400)["detail"]


def no_connection() -> Any:
    error = OperationalError("connection refused: hunter2")
    return mock.patch.object(connections["default"], "ensure_connection", side_effect=error)


def lost_connection() -> Any:
    return mock.patch.object(connections["default"], "is_usable", return_value=False)


@pytest.mark.parametrize("broken", [no_connection, lost_connection])
@pytest.mark.parametrize("error", [OperationalError("hunter2"), InterfaceError("hunter2")])
def test_a_database_that_is_down(
    agent: Agent, error: Exception, broken: Any, caplog: pytest.LogCaptureFixture
) -> None:
    calls = [("lookup", "recall", {"key": "k"}), ("forget", "forget", {"key": "k"})]
    for verb, tool, arguments in calls:
        down = broken()

        def fail(*_: Any, down: Any = down, **__: Any) -> None:
            down.start()
            raise error

        with mock.patch.object(Memory, verb, fail):
            response = agent.call(tool, **arguments)
        down.stop()
        assert_problem(response, 503, "unavailable")
        assert int(response["Retry-After"]) >= 1
        assert b"hunter2" not in response.content
    assert any(record.exc_info for record in caplog.records)


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_down_from_the_start(agent: Agent) -> None:
    connection.close()
    error = OperationalError("connection refused")
    with mock.patch.object(connections["default"], "connect", side_effect=error):
        answers = [
            agent.get("tools/recall/?key=k"),
            agent.call("remember", key="k", summary="s", body="b"),
            agent.get("index/"),
        ]
    for answer in answers:
        assert_problem(answer, 503, "unavailable")
        assert int(answer["Retry-After"]) >= 1
    agent.remember()
