"""The bridge: a memory session for each Django session, ended by its logout."""

from __future__ import annotations

import datetime
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth import login, logout
from django.db import DatabaseError
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.utils import timezone
from django.utils.module_loading import import_string

from django_agent_memory import Memory
from django_agent_memory.exceptions import Busy
from django_agent_memory.models import Note
from django_agent_memory.sessions import end_session_of, session_of
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

BACKENDS = ["db", "cache", "cached_db", "file", "signed_cookies"]


def visit(backend: str = "db", key: str | None = None) -> HttpRequest:
    request = RequestFactory().get("/")
    store = import_string(f"django.contrib.sessions.backends.{backend}.SessionStore")
    request.session = store(key)
    return request


def remembered(request: HttpRequest, *paths: str) -> str:
    name = session_of(request)
    for path in paths or ("core",):
        Memory(path, session=name).remember("k", "Mine", "x", persist=False)
    return name


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_name_is_that_of_the_session_and_tells_nothing(backend: str) -> None:
    request = visit(backend)
    name = session_of(request)
    request.session.save()
    key = request.session.session_key
    assert session_of(request) == session_of(visit(backend, key)) == name
    assert key not in name
    assert all(str(value) not in name for value in request.session.values())
    assert session_of(visit(backend)) != name
    assert Memory("core", session=name).session == name


def test_it_survives_the_new_key_of_a_login() -> None:
    request = visit()
    name = remembered(request)
    login(request, UserFactory(), backend="django.contrib.auth.backends.ModelBackend")
    assert session_of(request) == name


def test_a_logout_ends_it_in_every_workspace() -> None:
    request = visit()
    login(request, UserFactory(), backend="django.contrib.auth.backends.ModelBackend")
    remembered(request, "core", "team/one")
    Memory("core").remember("shared", None, "x")
    stays = remembered(visit(), "team/two")
    logout(request)
    assert sorted(Note.objects.values_list("key", "session")) == [("k", stays), ("shared", "")]


@pytest.mark.parametrize("backend", BACKENDS)
def test_who_logs_in_over_another_user_has_a_session_of_their_own(backend: str) -> None:
    first = visit(backend)
    login(first, UserFactory(), backend="django.contrib.auth.backends.ModelBackend")
    name = remembered(first)
    first.session.save()
    second = visit(backend, first.session.session_key)
    login(second, UserFactory(), backend="django.contrib.auth.backends.ModelBackend")
    assert session_of(second) != name
    assert Memory("core", session=session_of(second)).recall("k") is None
    hours = (Note.objects.get().expires_at - timezone.now()) / datetime.timedelta(hours=1)
    assert 23 < hours <= 24


def test_end_session_of_before_a_flush() -> None:
    request = visit()
    name = remembered(request)
    assert end_session_of(request) == 1
    request.session.flush()
    assert end_session_of(request) == 0
    assert session_of(request) != name


@pytest.mark.parametrize("error", [Busy("The memory is busy."), DatabaseError("gone")])
def test_a_logout_never_fails_over_it(error: Exception, caplog: Any) -> None:
    request = visit()
    remembered(request)
    with mock.patch("django_agent_memory.sessions.Memory.end_session", side_effect=error):
        logout(request)
    assert "its notes expire" in caplog.text
    assert session_of(request) != ""


def test_a_logout_without_a_memory_session_costs_nothing(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert end_session_of(visit("cache")) == 0
        assert end_session_of(RequestFactory().get("/")) == 0
    browser = Client()
    browser.force_login(UserFactory())
    browser.logout()
