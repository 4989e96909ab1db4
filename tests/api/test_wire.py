"""The suite of the API runs through real servers too: AGENT_MEMORY_TEST_SERVER names one."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest
from django.test import Client

from django_agent_memory.api.tools import ToolView
from django_agent_memory.models import Note
from tests.factories import UserFactory

from .conftest import Agent, assert_problem
from .wire import NOT_OVER_THE_WIRE, SERVERS

REQUESTS = {"gunicorn": WSGIRequest, "uvicorn": ASGIRequest}


@pytest.fixture(params=sorted(SERVERS))
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("django.test.client.ClientHandler", SERVERS[request.param])
    return str(request.param)


@pytest.mark.django_db
def test_a_call_reaches_the_tests_own_transaction(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    met: list[Any] = []
    initial = ToolView.initial

    def watched(view: ToolView, request: Any, *args: Any, **kwargs: Any) -> None:
        met.append(request._request)
        initial(view, request, *args, **kwargs)

    monkeypatch.setattr(ToolView, "initial", watched)
    agent = Agent()
    agent.remember(body="é" * 100_000)
    assert Note.objects.get().body == "é" * 100_000
    assert agent.call("recall", key="k").json()["body"] == "é" * 100_000
    assert [type(request) for request in met] == [REQUESTS[server]] * 2


@pytest.mark.django_db
def test_a_session_writes_with_its_csrf_token_and_not_without(server: str) -> None:
    user = UserFactory(is_superuser=True)
    note = {"key": "k", "summary": "s", "body": "b"}
    for client, status in (Client(), 200), (Client(enforce_csrf_checks=True), 403):
        client.force_login(user)
        address = "/memory/tools/core/remember/"
        response = client.post(address, note, content_type="application/json")
        assert response.status_code == status
    assert_problem(response, 403, "csrf_failed")


@pytest.mark.django_db
def test_what_a_view_raises_is_raised_in_the_test(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("django_agent_memory.memory.Memory.lookup", fail)
    agent = Agent()
    agent.http.raise_request_exception = True
    with pytest.raises(ZeroDivisionError):
        agent.call("recall", key="k")


def test_next_to_nothing_is_left_out() -> None:
    """Of some 1,500 tests; `uvicorn` hangs up on half a body, gunicorn hands it over."""
    assert {name: len(reasons) for name, reasons in NOT_OVER_THE_WIRE.items()} == {
        "gunicorn": 3,
        "uvicorn": 4,
    }


def test_what_is_left_out_is_there(request: pytest.FixtureRequest) -> None:
    here = {item.name for item in request.session.items}
    if "test_some_request_is_answered_by_each_code[refused]" in here:
        assert {name for reasons in NOT_OVER_THE_WIRE.values() for name in reasons} <= here
