"""The document and its page over HTTP: to whom, in which form, and where they are not."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.contrib.staticfiles import finders
from django.test import Client

from django_agent_memory import __version__
from django_agent_memory.memory import Memory
from tests.factories import UserFactory
from tests.test_packaging import path, run

from .conftest import Agent, assert_problem
from .described import document

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("mount", ["/memory/", "/second/"])
def test_the_document_is_served_for_its_mount(agent: Agent, mount: str) -> None:
    response = Agent(agent.key, mount=mount).get("schema/")
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")
    served = response.json()
    assert served.pop("servers") == [{"url": mount.rstrip("/")}]
    assert served == document()
    assert served["openapi"].startswith("3.1.")
    assert served["info"]["version"] == __version__


def test_below_the_prefix_of_a_script_too(agent: Agent) -> None:
    for address in ("schema/", "schema"):
        response = agent.get(address, SCRIPT_NAME="/site")
        assert response.json()["servers"] == [{"url": "/site/memory"}]


@pytest.mark.parametrize(
    ("query", "accept", "kind"),
    [
        ({}, "", "json"),
        ({}, "*/*", "json"),
        ({}, "application/json, */*", "json"),
        ({}, "text/html", "json"),
        ({}, "application/yaml", "yaml"),
        ({}, "application/vnd.oai.openapi", "yaml"),
        ({"format": "yaml"}, "application/json", "yaml"),
        ({"format": "json"}, "application/yaml", "json"),
    ],
)
def test_it_is_json_or_yaml(agent: Agent, query: dict[str, str], accept: str, kind: str) -> None:
    headers = {"Accept": accept} if accept else {}
    response = agent.get("schema/", query, headers=headers)
    assert response.status_code == 200
    assert response["Content-Type"].partition(";")[0] == f"application/{kind}"
    assert response["Cache-Control"] == "private, no-cache"
    served = response.json() if kind == "json" else yaml.safe_load(response.content)
    del served["servers"]
    assert served == document()
    assert b"&id" not in response.content


def test_what_it_is_asked_wrongly_is_refused(agent: Agent) -> None:
    for address, query in (
        ("schema/", {"format": "xml"}),
        ("schema/", {"version": "1"}),
        ("schema/docs/", {"url": "https://example.org/"}),
    ):
        assert_problem(agent.get(address, query), 400, "refused")
    for address in ("schema/", "schema/docs/"):
        assert_problem(agent.send(address, {}), 405, "method_not_allowed")
        assert_problem(Client().get(f"/memory/{address}"), 401, "not_authenticated")


def test_it_says_nothing_of_any_workspace(agent: Agent) -> None:
    Memory("tenant-b").remember("secret/key", "A secret line", "hidden")
    told = [
        each.get("schema/").content
        for each in (agent, Agent(workspace="tenant-b"), Agent(access="read", workspace="x"))
    ]
    assert told[0] == told[1] == told[2]
    for secret in (
        b"tenant-b",
        b"secret/key",
        b"A secret line",
        b"hidden",
        agent.key.secret.encode(),
    ):
        assert secret not in told[0]


def test_making_it_asks_no_query(agent: Agent, django_assert_num_queries: Any) -> None:
    agent.get("schema/")
    with django_assert_num_queries(1):  # the key's
        agent.get("schema/")


class Loads(HTMLParser):
    """Collects what a page loads, and what stands in it that a strict CSP forbids."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.forbidden: list[str] = []
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.inside = tag
        self.loaded += [given[name] or "" for name in ("src", "href") if name in given]
        self.forbidden += [name for name in given if name.startswith("on") or name == "style"]

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside in ("script", "style") and data.strip():
            self.forbidden.append(data)


def test_the_page_loads_from_this_site_only_and_has_nothing_inline() -> None:
    browser = Client()
    browser.force_login(UserFactory())
    response = browser.get("/memory/schema/docs/")
    assert (response.status_code, response["X-Frame-Options"]) == (200, "DENY")
    assert response["Content-Type"].startswith("text/html")
    page = Loads()
    page.feed(response.content.decode())
    assert page.forbidden == []
    assert len(page.loaded) == 4
    for address in page.loaded:
        assert address.startswith("/static/")
        assert finders.find(address.removeprefix("/static/")), address
    assert b'data-address="/memory/schema/"' in response.content
    token = re.search(rb'data-token="(\w{64})"', response.content)
    assert token is not None


def test_the_pages_own_script_names_no_other_host() -> None:
    file = finders.find("agent_memory/openapi.js")
    script = Path(str(file)).read_text(encoding="utf-8")
    assert "://" not in script
    # Swagger's default is a host outside.
    assert "validatorUrl: null" in script


@pytest.mark.parametrize(
    ("apps", "found"),
    [
        ((), {"schema/": 404, "schema/docs/": 404}),
        (("drf_spectacular",), {"schema/": 401, "schema/docs/": 404}),
        (("drf_spectacular", "drf_spectacular_sidecar"), {"schema/": 401, "schema/docs/": 401}),
    ],
)
def test_it_is_there_where_it_is_installed(
    tmp_path: Path, apps: tuple[str, ...], found: dict[str, int]
) -> None:
    (tmp_path / "variant.py").write_text(
        "from tests.settings import *\n"
        "INSTALLED_APPS = [a for a in INSTALLED_APPS if not a.startswith('drf_spectacular')]\n"
        f"INSTALLED_APPS += {list(apps)}\n"
    )
    code = (
        "import sys, django; django.setup()\n"
        "from django.test import Client\n"
        f"for address in {list(found)}:\n"
        "    response = Client().get('/memory/' + address)\n"
        "    print(address, response.status_code, response['Content-Type'])\n"
        "print('drf_spectacular' in sys.modules)\n"
    )
    printed = run(
        *("-W", "error", "-c", code),
        DJANGO_SETTINGS_MODULE="variant",
        PYTHONPATH=path(tmp_path),
        TMPDIR=str(tmp_path),
    )
    lines = [f"{name} {status} application/problem+json" for name, status in found.items()]
    assert printed.splitlines() == [*lines, str(bool(apps))]
