"""The limit of requests: counted for each credential, to the request and to the second."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from django_agent_memory.api.throttling import CredentialThrottle
from django_agent_memory.memory import Memory
from tests.factories import AgentKeyFactory, UserFactory

from .conftest import Agent, assert_problem, stored

pytestmark = pytest.mark.django_db

START = 1_800_000_000.25


class Clock:
    """What the throttle takes for the time."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands still until it is moved."""
    clock = Clock()
    monkeypatch.setattr(CredentialThrottle, "timer", staticmethod(clock))
    return clock


def statuses(caller: Any, number: int, address: str = "index/core/") -> list[int]:
    client = caller.http if isinstance(caller, Agent) else caller
    return [client.get(f"/memory/{address}").status_code for _ in range(number)]


def user_client(**terms: Any) -> Client:
    client = Client()
    client.force_login(UserFactory(permissions=("view_note",), **terms))
    return client


@pytest.mark.parametrize("limit", [1, 2, 5])
@pytest.mark.parametrize(
    ("period", "seconds"), [("s", 1), ("min", 60), ("hour", 3600), ("day", 86_400)]
)
def test_one_less_than_the_limit_the_limit_and_one_more(
    agent: Agent, settings: Any, clock: Clock, limit: int, period: str, seconds: int
) -> None:
    settings.AGENT_MEMORY_THROTTLE = f"{limit}/{period}"
    assert statuses(agent, limit - 1) == [200] * (limit - 1)
    assert statuses(agent, 1) == [200]
    response = agent.get("index/")
    problem = assert_problem(response, 429, "throttled")
    assert response["Retry-After"] == str(seconds)
    assert f"the limit is {limit}/{period}." in problem["detail"]
    assert f"in {seconds} s." in problem["detail"]
    clock.now += seconds - 0.01
    assert agent.get("index/")["Retry-After"] == "1"
    clock.now = START + seconds
    assert statuses(agent, limit + 1) == [200] * limit + [429]


def test_whoever_waits_as_told_is_let_in(agent: Agent, settings: Any, clock: Clock) -> None:
    settings.AGENT_MEMORY_THROTTLE = "3/min"
    for pause in (0.0, 7.5, 20.0):
        clock.now += pause
        assert statuses(agent, 1) == [200]
    for _ in range(4):
        wait = int(agent.get("index/")["Retry-After"])
        clock.now += wait - 1.5
        assert statuses(agent, 1) == [429]
        clock.now += 1.5
        assert statuses(agent, 1) == [200]


def test_each_credential_has_its_own_count(settings: Any, clock: Clock) -> None:
    Memory("core").remember("k", "s", "b")
    owner = UserFactory(permissions=("view_note",))
    keys = [AgentKeyFactory(workspace="core", user=owner) for _ in range(2)]
    callers: list[Any] = [Agent(key) for key in keys]
    signed_in = Client()
    signed_in.force_login(owner)
    callers += [signed_in, user_client()]
    settings.AGENT_MEMORY_THROTTLE = "2/min"
    # All of them come from one address.
    for caller in callers:
        assert statuses(caller, 3) == [200, 200, 429]


def test_all_addresses_count_and_nothing_is_done(agent: Agent, settings: Any, clock: Clock) -> None:
    settings.AGENT_MEMORY_THROTTLE = "4/min"
    agent.remember()
    agent.call("recall", key="k")
    assert agent.get("notes/").status_code == 200
    assert_problem(agent.get("notes/", {"x": "1"}), 400)
    before = stored()
    for address in ("tools/remember/", "notes/", "apply/", "values/", "compose/"):
        named = {"headers": {"Idempotency-Key": "n"}} if "tools" in address else {}
        data = {"key": "k", "summary": "s", "body": "new"}
        assert_problem(agent.send(address, data, **named), 429, "throttled")
    assert_problem(agent.get("tools/"), 429)
    assert_problem(agent.get("elsewhere/"), 404)
    assert stored() == before
    clock.now += 60
    agent.send("tools/remember/", data, headers={"Idempotency-Key": "n"})
    replayed = agent.send("tools/remember/", data, headers={"Idempotency-Key": "n"})
    assert replayed["Idempotency-Replayed"] == "true"


def test_strangers_are_told_who_they_are_not(agent: Agent, settings: Any, clock: Clock) -> None:
    settings.AGENT_MEMORY_THROTTLE = "1/day"
    nobody = Client()
    liar = Client(headers={"Authorization": "Bearer dam_wrong"})
    for client in (nobody, liar):
        assert statuses(client, 3) == [401, 401, 401]
    assert statuses(agent, 2) == [200, 429]


def test_it_is_off_by_default_and_read_live(agent: Agent, settings: Any, clock: Clock) -> None:
    assert statuses(agent, 20) == [200] * 20
    assert cache.get(f"agent_memory.throttle.key.{agent.key.pk}") is None
    settings.AGENT_MEMORY_THROTTLE = "5/min"
    assert statuses(agent, 6) == [200] * 5 + [429]
    settings.AGENT_MEMORY_THROTTLE = "2/min"
    response = agent.get("index/")
    assert_problem(response, 429, "throttled")
    assert response["Retry-After"] == "60"
    settings.AGENT_MEMORY_THROTTLE = None
    assert statuses(agent, 1) == [200]


def test_the_hosts_throttles_change_nothing(agent: Agent, settings: Any) -> None:
    settings.REST_FRAMEWORK = {
        "DEFAULT_THROTTLE_CLASSES": ["rest_framework.throttling.UserRateThrottle"],
        "DEFAULT_THROTTLE_RATES": {"user": "1/day"},
        "NUM_PROXIES": 3,
    }
    assert statuses(agent, 3) == [200] * 3
