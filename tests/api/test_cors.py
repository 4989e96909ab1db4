"""Pages of another origin: django-cors-headers as docs/api.md sets it up, and without it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from django_agent_memory.models import Note
from tests.factories import UserFactory

from .conftest import Agent, assert_problem

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
ORIGIN = "https://app.example.org"
ELSEWHERE = "https://evil.example.com"
NOTE = {"key": "k", "summary": "s", "body": "b"}
SENT = ["authorization", "content-type", "idempotency-key", "if-match", "if-none-match"]


@pytest.fixture
def recipe(settings: Any) -> None:
    """The settings of the test site with what docs/api.md adds to them."""
    (code,) = re.findall(r"```py\n(.*?corsheaders.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {
        "INSTALLED_APPS": list(settings.INSTALLED_APPS),
        "MIDDLEWARE": list(settings.MIDDLEWARE),
    }
    exec(code, {}, names)
    for name, value in names.items():
        setattr(settings, name, value)


def preflight(address: str, *, method: str, headers: list[str], origin: str = ORIGIN) -> Any:
    """Ask as a browser does, which sends no credential, before it sends the request of a page."""
    return Client().options(
        f"/memory/{address}",
        headers={
            "Origin": origin,
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": ", ".join(headers),
        },
    )


def listed(response: Any, name: str) -> set[str]:
    return {item.strip().lower() for item in response.get(name, "").split(",")} - {""}


@pytest.mark.usefixtures("recipe")
@pytest.mark.parametrize(
    ("address", "method"),
    [
        ("tools/remember/", "POST"),
        ("tools/core/recall/", "GET"),
        ("notes/1/", "PATCH"),
        ("notes/1/", "DELETE"),
        ("values/", "PUT"),
        ("index", "GET"),
    ],
)
def test_a_page_of_the_named_origin_may_call(db: None, address: str, method: str) -> None:
    answer = preflight(address, method=method, headers=SENT)
    assert answer.status_code == 200
    assert answer["Access-Control-Allow-Origin"] == ORIGIN
    assert method.lower() in listed(answer, "Access-Control-Allow-Methods")
    assert {*SENT, "accept", "memory-session"} <= listed(answer, "Access-Control-Allow-Headers")
    assert "x-csrftoken" not in listed(answer, "Access-Control-Allow-Headers")
    assert "Access-Control-Allow-Credentials" not in answer


@pytest.mark.usefixtures("recipe")
def test_the_page_reads_what_the_api_says_in_headers(agent: Agent, settings: Any) -> None:
    origin = {"Origin": ORIGIN}
    named = {**origin, "Idempotency-Key": "n"}
    agent.send("tools/remember/", NOTE, headers=named)
    settings.AGENT_MEMORY_THROTTLE = "4/min"
    answers = {
        "idempotency-replayed": agent.send("tools/remember/", NOTE, headers=named),
        "etag": agent.get("index/", headers=origin),
        "workspace-revision": agent.get("stats/", headers=origin),
        "www-authenticate": Client().get("/memory/index/", headers=origin),
    }
    for _ in range(2):
        answers["retry-after"] = agent.get("index/", headers=origin)
    assert answers["retry-after"].status_code == 429
    for name, answer in answers.items():
        assert name in answer.headers, name
        assert answer["Access-Control-Allow-Origin"] == ORIGIN
        assert name in listed(answer, "Access-Control-Expose-Headers")


@pytest.mark.usefixtures("recipe")
def test_a_page_of_another_origin_is_not_let_in(agent: Agent) -> None:
    answer = preflight("tools/remember/", method="POST", headers=SENT, origin=ELSEWHERE)
    assert "Access-Control-Allow-Origin" not in answer
    assert "Access-Control-Allow-Headers" not in answer
    heard = agent.get("index/", headers={"Origin": ELSEWHERE})
    assert "Access-Control-Allow-Origin" not in heard


@pytest.mark.usefixtures("recipe")
def test_only_the_api_is_opened(db: None) -> None:
    answer = Client().get("/admin/login/", headers={"Origin": ORIGIN})
    assert "Access-Control-Allow-Origin" not in answer


@pytest.mark.usefixtures("recipe")
@pytest.mark.parametrize("origin", [ORIGIN, ELSEWHERE, "null"])
@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
def test_a_page_cannot_write_with_the_session_of_its_reader(
    db: None, origin: str, kind: str
) -> None:
    """With the cookies of the reader, the CSRF token's among them, but not the token itself."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(UserFactory(is_superuser=True))
    browser.cookies["csrftoken"] = "c" * 32
    for address in ("tools/core/remember/", "notes/", "apply/core/"):
        answer = browser.post(
            f"/memory/{address}", '{"key":"k"}', content_type=kind, headers={"Origin": origin}
        )
        if kind == "application/json":
            assert_problem(answer, 403, "csrf_failed")
        else:
            assert_problem(answer, 415, "unsupported_media_type")
    assert not Note.objects.exists()


@pytest.mark.usefixtures("recipe")
@pytest.mark.parametrize("origin", [ELSEWHERE, "null"])
def test_a_token_from_another_origin_does_not_count(db: None, origin: str) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(UserFactory(is_superuser=True))
    browser.cookies["csrftoken"] = "c" * 32
    answer = browser.post(
        "/memory/tools/core/remember/",
        NOTE,
        content_type="application/json",
        headers={"Origin": origin, "X-CSRFToken": "c" * 32},
    )
    assert_problem(answer, 403, "csrf_failed")
    assert not Note.objects.exists()


@pytest.mark.parametrize("address", ["tools/remember/", "index/", "notes/", "apply/", "values/"])
def test_without_it_a_preflight_is_refused(agent: Agent, address: str) -> None:
    answer = preflight(address, method="POST", headers=SENT)
    assert_problem(answer, 401, "not_authenticated")
    assert not [name for name in answer.headers if name.startswith("Access-Control-")]
    known = agent.http.options(f"/memory/{address}", headers={"Origin": ORIGIN})
    assert_problem(known, 405, "method_not_allowed")
    assert "OPTIONS" not in known["Allow"]
