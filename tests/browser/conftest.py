"""Chromium, and people in it who are logged in; whatever a page does wrong fails its test.

The site is one for all tests of a process: each has a workspace of its own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.test.utils import setup_databases, teardown_databases
from playwright.sync_api import Browser, Page, sync_playwright
from pytest_django.live_server_helper import LiveServer

from django_agent_memory.memory import Memory

from . import places
from .watching import watch

Visit = Callable[..., Page]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser of this machine."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    assert path is not None, "The tests need a chromium; they download none."
    # It has no sandbox of its own where it is run as root, as in a container.
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(
    django_test_environment: None, django_db_modify_db_settings: None, django_db_blocker: Any
) -> Iterator[str]:
    """The address of the site, filled with what there is to see."""
    # Playwright runs a loop in this thread; Django would take every query beside it for a mistake.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with django_db_blocker.unblock():
        databases = setup_databases(verbosity=0, interactive=False)
        places.fill()
        server = LiveServer("127.0.0.1")
        yield server.url
        server.stop()
        teardown_databases(databases, verbosity=0)


@pytest.fixture(scope="session")
def operator(site: str) -> User:
    """Somebody who may do everything."""
    return User.objects.create_superuser("ada", "", "pw")


@pytest.fixture
def memory(site: str, request: pytest.FixtureRequest) -> Memory:
    """A memory that nothing has been written to, with a name of its own."""
    return Memory(f"tests/{request.node.originalname}", actor="scribe")


@pytest.fixture
def visit(chromium: Browser, site: str, operator: User) -> Iterator[Visit]:
    """Open a window of its own for the operator or another user; options are those of a context.

    What `watch` finds fails the test once it is over.
    """
    contexts, faults = [], []

    def open_window(user: User | None = None, **options: Any) -> Page:
        context = chromium.new_context(**{"base_url": site, "locale": "en", **options})
        context.set_default_timeout(10_000)
        contexts.append(context)
        client = Client()
        client.force_login(user or operator)
        cookie = client.cookies[settings.SESSION_COOKIE_NAME]
        context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": site}])
        context.on("page", lambda page: watch(page, site, faults))
        return context.new_page()

    yield open_window
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture
def page(visit: Visit) -> Page:
    """A window of the operator's."""
    return visit()
