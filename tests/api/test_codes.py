"""The codes of problem documents: each is answered by some request, and the page lists them all."""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.db import OperationalError, connections
from django.test import Client
from rest_framework.exceptions import APIException

from django_agent_memory.api.codes import CODES
from django_agent_memory.exceptions import AgentMemoryError, Busy, NotAllowed
from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey
from django_agent_memory.writing import prune_revisions
from tests.factories import UserFactory

from .conftest import Agent, assert_problem

pytestmark = pytest.mark.django_db

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"
ROW = re.compile(r"^\| `(\w+)` \| (\d+) \| (.+) \|$", re.MULTILINE)


def failing(agent: Agent, error: BaseException) -> Any:
    with mock.patch.object(Memory, "lookup", side_effect=error):
        return agent.call("recall", key="k")


def changed_key(agent: Agent, **values: Any) -> Any:
    AgentKey.objects.update(**values)
    return agent.get("index/")


def replayed_otherwise(agent: Agent) -> Any:
    named = {"headers": {"Idempotency-Key": "n"}}
    agent.send("tools/recall/", {"key": "k"}, **named)
    return agent.send("tools/recall/", {"key": "l"}, **named)


def pruned(agent: Agent) -> Any:
    agent.remember()
    agent.remember("k", "s", "later")
    prune_revisions("core", older_than=datetime.timedelta(0), keep=1, dry_run=False)
    return agent.get("as-of/", {"key": "k", "revision": 1})


def throttled(agent: Agent) -> Any:
    agent.get("index/")
    return agent.get("index/")


def without_csrf_token(_agent: Agent) -> Any:
    client = Client(enforce_csrf_checks=True)
    client.force_login(UserFactory(is_superuser=True))
    return client.post("/memory/notes/", {"key": "k"}, content_type="application/json")


def cut_short(agent: Agent) -> Any:
    body = {"CONTENT_LENGTH": "99", "wsgi.input": io.BytesIO(b'{"key":"k"}')}
    return agent.send("tools/recall/", b"", **body)


def without_length(agent: Agent) -> Any:
    return agent.send("tools/recall/", b"", HTTP_TRANSFER_ENCODING="chunked", CONTENT_LENGTH="")


def without_database(agent: Agent) -> Any:
    error = OperationalError("connection refused")
    down = mock.patch.object(connections["default"], "ensure_connection", side_effect=error)

    def fail(*_: Any, **__: Any) -> None:
        down.start()
        raise error

    with mock.patch.object(Memory, "lookup", fail):
        response = agent.call("recall", key="k")
    down.stop()
    return response


def given_twice(_agent: Agent) -> Any:
    client = Client()
    client.force_login(UserFactory(is_superuser=True))
    fields = {"workspace": "core", "user": UserFactory().pk, "access": "read"}
    client.post("/memory/grants/", fields, content_type="application/json")
    return client.post("/memory/grants/", fields, content_type="application/json")


NOW = "2020-01-01T00:00:00Z"
REQUESTS: dict[str, Callable[[Agent], Any]] = {
    "refused": lambda agent: agent.call("recall", key=""),
    "bad_request": cut_short,
    "not_authenticated": lambda agent: Client().get("/memory/index/"),
    "unknown_key": lambda agent: Client(headers={"Authorization": "Bearer x"}).get("/memory/index"),
    "revoked_key": lambda agent: changed_key(agent, revoked_at=NOW),
    "expired_key": lambda agent: changed_key(agent, expires_at=NOW),
    "inactive_user": lambda agent: changed_key(agent, user=UserFactory(is_active=False)),
    "not_allowed": lambda agent: agent.send("rollback/", {"actor": "a", "since": 1}),
    "csrf_failed": without_csrf_token,
    "not_found": lambda agent: agent.get("notes/0/"),
    "method_not_allowed": lambda agent: agent.send("index/", {}),
    "conflict": lambda agent: agent.send(
        "values/", {"key": "k", "value": 1}, "put", headers={"If-Match": '"1"'}
    ),
    "exists": given_twice,
    "pruned": pruned,
    "length_required": without_length,
    "too_large": lambda agent: agent.call("recall", key="k" * 513),
    "unsupported_media_type": lambda agent: agent.send("apply/", "{}", content_type="text/plain"),
    "replay_mismatch": replayed_otherwise,
    "throttled": throttled,
    "internal_error": lambda agent: failing(agent, RuntimeError("hunter2")),
    "busy": lambda agent: failing(agent, Busy("The memory is busy.")),
    "unavailable": without_database,
}


@pytest.mark.parametrize("code", CODES)
def test_some_request_is_answered_by_each_code(agent: Agent, settings: Any, code: str) -> None:
    if code == "throttled":
        settings.AGENT_MEMORY_THROTTLE = "1/day"
    response = REQUESTS[code](agent)
    assert_problem(response, CODES[code].status, code)
    needs_wait = response.status_code in (429, 503)
    assert ("Retry-After" in response) is needs_wait
    assert ("WWW-Authenticate" in response) is (response.status_code == 401)
    assert ("Allow" in response) is (response.status_code == 405)


def test_the_page_lists_every_code_as_it_is() -> None:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert rows == [(code, str(said.status), said.meaning) for code, said in CODES.items()]


def test_the_codes_are_in_the_order_of_their_statuses_and_say_one_sentence_each() -> None:
    statuses = [said.status for said in CODES.values()]
    assert statuses == sorted(statuses)
    for code, said in CODES.items():
        assert re.fullmatch("[a-z_]+", code)
        assert said.meaning.endswith(".")
        assert ". " not in said.meaning


def leaves(kind: type[AgentMemoryError]) -> set[type[AgentMemoryError]]:
    own = {leaf for leaf in kind.__subclasses__() if leaf.__module__.startswith("django_agent")}
    return own | {leaf for child in own for leaf in leaves(child)}


def test_every_error_of_the_package_has_a_code_that_is_listed() -> None:
    assert {kind.code for kind in leaves(AgentMemoryError)} <= set(CODES)


class Closed(NotAllowed):
    """An error of a site's own, with a code of its own."""

    code = "tenant_closed"


class Teapot(APIException):
    """An error of REST framework that is not ours."""

    status_code = 418
    default_code = "teapot"
    default_detail = "Short and stout."


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Closed("The tenant is closed."), 403, "not_allowed"),
        (AgentMemoryError("Something."), 400, "bad_request"),
        (Teapot(), 400, "bad_request"),
        (APIException("Something."), 500, "internal_error"),
    ],
)
def test_no_other_code_is_ever_answered(
    agent: Agent, error: Exception, status: int, code: str
) -> None:
    assert_problem(failing(agent, error), status, code)
