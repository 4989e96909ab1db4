"""Where the memory may stand: two mounts, below a language, under any middleware, on ASGI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connections
from django.test import AsyncClient
from django.urls import reverse

from django_agent_memory.models import Note
from django_agent_memory.urls import urlpatterns
from tests.factories import AgentKeyFactory

from .conftest import Agent, assert_problem

pytestmark = pytest.mark.django_db

ACCEPTS = [
    "text/plain", "*/*", "", "text/html", "image/png", "application/xml",
    "application/json; indent=8", "application/json, text/event-stream",
]  # fmt: skip


def test_two_mounts(agent: Agent) -> None:
    second = Agent(agent.key, mount="/second/")
    second.remember("k", "s", "b")
    assert agent.call("recall", key="k").json()["found"] is True
    for n in range(3):
        second.remember(f"k{n}")
    assert second.get("notes/", {"page_size": 1}).json()["next"].startswith("/second/notes/?")


def test_names_of_addresses() -> None:
    assert reverse("agent_memory:tool", args=["recall"]) == "/memory/tools/recall/"
    address = reverse("second:workspace-tool", args=["a/b", "recall"])
    assert address == "/second/tools/a/b/recall/"
    assert reverse("agent_memory:index") == "/memory/index/"
    assert reverse("second:note-detail", args=[7]) == "/second/notes/7/"


def test_no_view_runs_in_a_transaction_of_the_host() -> None:
    views = [pattern.callback for pattern in urlpatterns]
    for view in views[:-1]:
        assert view._non_atomic_requests == set(connections)
        assert view.csrf_exempt
    assert all(view.login_required is False for view in views)


@pytest.fixture
def atomic_requests() -> Iterator[None]:
    """Set ATOMIC_REQUESTS as the handler reads it."""
    terms = connections.settings["default"]
    terms["ATOMIC_REQUESTS"] = True
    yield
    terms["ATOMIC_REQUESTS"] = False


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("atomic_requests")
def test_under_atomic_requests() -> None:
    agent = Agent()
    agent.remember()
    # A refusal after a write would roll it back, were both in one transaction.
    assert_problem(agent.call("remember", key="", summary="s", body="b"), 400)
    assert agent.call("forget", key="k").json()["outcome"] == "forgot"
    assert_problem(agent.get("nosuch"), 404)


def test_under_middleware_that_demands_a_login(agent: Agent, settings: Any) -> None:
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE,
        "django.contrib.auth.middleware.LoginRequiredMiddleware",
    ]
    assert agent.remember()["outcome"] == "created"
    assert agent.get("index/").status_code == 200
    assert_problem(agent.http.get("/memory/tools/", headers={"Authorization": ""}), 401)
    assert_problem(agent.get("nosuch/"), 404)


def test_no_redirect_to_a_slash(agent: Agent, settings: Any) -> None:
    for append in (True, False):
        settings.APPEND_SLASH = append
        assert agent.send("tools/remember", {}).status_code == 400
        assert agent.send("nosuch", {}).status_code == 404
        assert agent.get("notes").status_code == 200


@pytest.mark.urls("tests.api.urls_below_a_language")
def test_below_a_language(settings: Any) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.middleware.locale.LocaleMiddleware"]
    key = AgentKeyFactory()
    texts = set()
    # What a request activates is there until the next one: back to English at last.
    for language in ("de", "en"):
        there = Agent(key, mount=f"/{language}/memory/")
        there.remember(f"k-{language}", "s", "b")
        texts.add(there.call("recall", key="nothing").json()["text"])
        assert_problem(there.call("recall", key=""), 400)
    assert len(texts) == 1


def test_every_accept_gets_its_answer(agent: Agent) -> None:
    agent.remember()
    for accept in ACCEPTS:
        for address in ("tools/recall/?key=k", "notes/", "tools/", "revisions/"):
            response = agent.get(address, headers={"Accept": accept})
            assert response.status_code == 200, accept
            assert response["Content-Type"] == "application/json"
            assert b"\n" not in response.content
    assert_problem(agent.get("tools/recall/", headers={"Accept": "text/html"}), 400)


def test_answers_are_not_for_shared_caches(agent: Agent) -> None:
    agent.remember()
    for address in ("tools/recall/?key=k", "notes/", "index/", "nosuch/"):
        assert agent.get(address)["Cache-Control"] == "private, no-cache"


def test_the_hosts_own_cache_keeps_nothing(agent: Agent, settings: Any) -> None:
    settings.MIDDLEWARE = [
        "django.middleware.cache.UpdateCacheMiddleware",
        *settings.MIDDLEWARE,
        "django.middleware.cache.FetchFromCacheMiddleware",
    ]
    agent.remember("k", "s", "mine")
    other = Agent(workspace="tenant-b")
    assert agent.get("tools/recall/", {"key": "k"}).json()["found"] is True
    assert other.get("tools/recall/", {"key": "k"}).json()["found"] is False
    assert agent.get("index/").content
    assert other.get("index/").content == b""


@pytest.mark.django_db(transaction=True)
def test_under_asgi() -> None:
    agent = Agent()
    headers = {"Authorization": f"Bearer {agent.key.secret}"}

    async def turn() -> list[Any]:
        client = AsyncClient(raise_request_exception=False)
        kind: Any = {"content_type": "application/json", "headers": headers}
        return [
            await client.post(
                "/memory/tools/remember",
                {"key": "ключ", "summary": "s", "body": "é" * 100_000},
                **kind,
            ),
            await client.get("/memory/tools/recall/?key=%D0%BA%D0%BB%D1%8E%D1%87", headers=headers),
            await client.get("/memory/index/", headers=headers),
            await client.post("/memory/tools/recall/", b"{", **kind),
            await client.get("/memory/nosuch", headers=headers),
            await client.get("/memory/tools/recall/?key=%ff", headers=headers),
        ]

    saved, recalled, index, broken, unknown, bad = async_to_sync(turn)()
    assert saved.json()["outcome"] == "created"
    assert recalled.json()["body"] == "é" * 100_000
    assert index.content.decode() == "[memory index]\n- ключ: s"
    assert_problem(broken, 400)
    assert_problem(unknown, 404)
    assert_problem(bad, 400)
    assert Note.objects.count() == 1
