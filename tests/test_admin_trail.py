"""Who gave and took access is in Django's log of the admin, whichever way they did it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from django_agent_memory import admin_trail
from django_agent_memory.models import AgentKey, Grant, Workspace
from tests.admin.browser import fields_of
from tests.factories import WorkspaceFactory

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parent.parent
KEYS, GRANTS = "/memory/agent-keys/", "/memory/grants/"


@pytest.fixture
def workspace(db: None) -> Workspace:
    return WorkspaceFactory(path="core")


@pytest.fixture
def operator(db: None) -> User:
    return User.objects.create_superuser("ada", "", "pw")


@pytest.fixture
def browser(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


def send(browser: Client, method: str, address: str, **fields: Any) -> Any:
    answer = browser.generic(method, address, json.dumps(fields), content_type="application/json")
    assert answer.status_code in (200, 201), answer.content
    return answer.json()


def submit(browser: Client, address: str, **typed: Any) -> None:
    page = browser.post(address, {**fields_of(browser.get(address)), **typed})
    assert page.status_code in (200, 302)
    assert "errorlist" not in page.content.decode()


def lines() -> list[dict[str, Any]]:
    """Return the log without what differs from row to row, and empty it."""
    found = list(
        LogEntry.objects.order_by("pk").values(
            "user", "content_type", "object_repr", "object_id", "action_flag", "change_message"
        )
    )
    LogEntry.objects.all().delete()
    return found


def without_numbers(found: list[dict[str, Any]], *prefixes: str) -> list[dict[str, Any]]:
    told = []
    for line in found:
        line = {**line, "object_id": ""}
        for prefix in prefixes:
            line["object_repr"] = line["object_repr"].replace(prefix, "")
        told.append(line)
    return told


def test_keys(workspace: Workspace, browser: Client, operator: User) -> None:
    made = send(browser, "POST", KEYS, workspace="core", name="desk")
    new = send(browser, "POST", f"{KEYS}{made['id']}/rotate/")
    for _ in range(2):  # The second time nothing is done.
        send(browser, "DELETE", f"{KEYS}{new['id']}/")
    by_http = lines()
    numbers = [str(row["id"]) for row in (made, made, new, new)]
    assert [line["object_id"] for line in by_http] == numbers
    assert [line["action_flag"] for line in by_http] == [ADDITION, CHANGE, ADDITION, CHANGE]
    assert {line["user"] for line in by_http} == {operator.pk}
    assert all(row["secret"] not in str(by_http) for row in (made, new))
    prefixes = list(AgentKey.objects.values_list("prefix", flat=True))

    AgentKey.objects.all().delete()
    admin = "/admin/agent_memory/agentkey/"
    submit(browser, f"{admin}add/", workspace=workspace.pk, name="desk", access="read-write")
    old = AgentKey.objects.get()
    submit(browser, f"{admin}{old.pk}/rotate/")
    young = AgentKey.objects.exclude(pk=old.pk).get()
    assert browser.post(f"{admin}{young.pk}/revoke/", {"confirmed": "1"}).status_code == 302
    prefixes += AgentKey.objects.values_list("prefix", flat=True)
    assert without_numbers(lines(), *prefixes) == without_numbers(by_http, *prefixes)


def test_grants(workspace: Workspace, browser: Client, operator: User) -> None:
    grantee = User.objects.create_user("grantee")
    made = send(browser, "POST", GRANTS, workspace="core", user=grantee.pk, access="read")
    one = f"{GRANTS}{made['id']}/"
    for _ in range(2):  # The second time nothing is changed.
        send(browser, "PATCH", one, access="read-write")
    send(browser, "DELETE", one)
    by_http = lines()
    assert {line["object_id"] for line in by_http} == {str(made["id"])}
    assert [line["action_flag"] for line in by_http] == [ADDITION, CHANGE, DELETION]
    assert {line["user"] for line in by_http} == {operator.pk}

    admin = "/admin/agent_memory/grant/"
    submit(browser, f"{admin}add/", workspace=workspace.pk, user=grantee.pk, access="read")
    pk = Grant.objects.get().pk
    submit(browser, f"{admin}{pk}/change/", access="read-write")
    assert browser.post(f"{admin}{pk}/delete/", {"post": "yes"}).status_code == 302
    assert without_numbers(lines()) == without_numbers(by_http)


def test_what_is_refused_leaves_no_line(workspace: Workspace, browser: Client) -> None:
    grantee = User.objects.create_user("grantee")
    Grant.objects.give(workspace=workspace, user=grantee)
    again = {"workspace": "core", "user": grantee.pk, "access": "read"}
    key, _ = AgentKey.objects.issue(workspace=workspace, name="desk")
    key.revoke()
    for method, address, fields in (
        ("POST", GRANTS, again),
        ("POST", f"{KEYS}{key.pk}/rotate/", {}),
        ("POST", KEYS, {"workspace": "core", "name": ""}),
        ("DELETE", f"{KEYS}{key.pk + 1}/", {}),
    ):
        answer = browser.generic(method, address, json.dumps(fields), "application/json")
        assert 400 <= answer.status_code < 500
    assert not LogEntry.objects.exists()


def test_no_rows_are_no_lines(operator: User, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        admin_trail.revoked(operator, [])


def test_the_flags_are_those_of_the_admin() -> None:
    ours = (admin_trail.ADDITION, admin_trail.CHANGE, admin_trail.DELETION)
    assert ours == (ADDITION, CHANGE, DELETION)


@pytest.mark.django_db(transaction=True)
def test_a_log_that_cannot_be_written_withholds_no_secret(
    workspace: Workspace, browser: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with connection.schema_editor() as editor:
        editor.delete_model(LogEntry)
    try:
        made = send(browser, "POST", KEYS, workspace="core", name="desk")
    finally:
        with connection.schema_editor() as editor:
            editor.create_model(LogEntry)
    assert AgentKey.objects.get().name == "desk"
    assert "could not be written" in caplog.text
    assert made["secret"] not in caplog.text


SITE = """
from tests.settings import *  # noqa: F403

INSTALLED_APPS = [
    "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
    "rest_framework", "django_filters", "django_agent_memory",
]
ROOT_URLCONF = "site_urls"
DATABASES = {
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{__file__}.sqlite3"}
}
"""

URLS = """
from django.urls import include, path

urlpatterns = [path("memory/", include("django_agent_memory.urls"))]
"""

TURN = """
import json, sys
import django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
settings.ALLOWED_HOSTS = ["testserver"]
browser = Client()
user = User.objects.create_superuser("ada", "", "pw")
browser.force_login(user)
def send(method, address, **fields):
    return browser.generic(method, "/memory/" + address, json.dumps(fields), "application/json")
made = send("POST", "agent-keys/", workspace="core", name="desk").json()
new = send("POST", f"agent-keys/{made['id']}/rotate/").json()
print(send("DELETE", f"agent-keys/{new['id']}/").status_code)
grant = send("POST", "grants/", workspace="core", user=user.pk, access="read").json()["id"]
print(send("PATCH", f"grants/{grant}/", access="read-write").status_code)
print(send("DELETE", f"grants/{grant}/").status_code)
print("django.contrib.admin.models" in sys.modules)
"""


def test_a_site_without_the_admin(tmp_path: Path) -> None:
    (tmp_path / "site_settings.py").write_text(SITE)
    (tmp_path / "site_urls.py").write_text(URLS)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "site_settings",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]),
    }
    turn = subprocess.run(
        [sys.executable, "-W", "error", "-c", TURN],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (turn.stdout, turn.stderr) == ("200\n200\n200\nFalse\n", "")
