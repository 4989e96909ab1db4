"""Agent keys: the secret is shown once, and a key only ever stops working."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey

from .conftest import Submit, url, workspace_of

LIST = "/admin/agent_memory/agentkey/"


@pytest.fixture
def issue(memory: Memory, submit: Submit) -> Any:
    memory.configure(title="t")
    pk = workspace_of(memory).pk

    def send(**fields: Any) -> Any:
        return submit(url("agentkey", "add"), workspace=pk, **{"name": "scribe", **fields})

    return send


def secret_of(page: Any) -> str:
    found = re.search(r"dam_[A-Za-z0-9_-]{43}", page.content.decode())
    assert found is not None
    return found[0]


def test_the_secret_is_shown_once_and_kept_nowhere(issue: Any, admin: Client) -> None:
    page = issue()
    secret = secret_of(page)
    key = AgentKey.objects.with_secret(secret).get()
    assert (key.name, key.access, key.tools, key.user) == ("scribe", "read-write", None, None)
    assert "no-store" in page["Cache-Control"]
    assert page.status_code == 200
    entry = LogEntry.objects.get()
    assert secret not in f"{entry.object_repr}{entry.change_message}"
    assert all(secret not in str(s.get_decoded()) for s in Session.objects.all())
    assert not any(secret in morsel.value for morsel in admin.cookies.values())
    for address in (LIST, url("agentkey", "change", key), "/admin/", url("agentkey", "add")):
        later = admin.get(address).content.decode()
        assert secret not in later
        assert key.digest not in later
    assert key.prefix in admin.get(LIST).content.decode()


def test_what_a_key_may_do(issue: Any, operator: User) -> None:
    secret = secret_of(
        issue(
            access="read",
            tools=["recall", "search"],
            user=operator.pk,
            expires_at_0="2099-01-02",
            expires_at_1="03:04",
        )
    )
    key = AgentKey.objects.with_secret(secret).get()
    assert (key.access, key.tools, key.user) == ("read", ["recall", "search"], operator)
    assert key.expires_at.year == 2099


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("name", {"name": ""}),
        ("name", {"name": " \t"}),
        ("name", {"name": "x" * 201}),
        ("tools", {"tools": ["destroy"]}),
        ("tools", {"tools": ["recall", "forget"], "access": "read"}),
        ("access", {"access": "root"}),
        ("expires_at", {"expires_at_0": "2020-01-01", "expires_at_1": "00:00"}),
        ("user", {"user": "999"}),
    ],
)
def test_bad_input_issues_nothing(issue: Any, field: str, values: dict[str, Any]) -> None:
    response = issue(**values)
    assert list(response.context["adminform"].form.errors) == [field]
    assert not AgentKey.objects.exists()


def test_a_name_is_kept_as_typed(issue: Any) -> None:
    issue(name=" scribe ")
    assert AgentKey.objects.get().name == " scribe "


def test_a_key_cannot_be_changed_or_deleted(memory: Memory, admin: Client) -> None:
    key, _ = AgentKey.objects.issue(workspace="core", name="scribe")
    page = admin.get(url("agentkey", "change", key)).content.decode()
    assert 'name="name"' not in page
    assert "all that its access allows" in page
    assert admin.post(url("agentkey", "change", key), {"name": "x"}).status_code == 403
    assert admin.post(url("agentkey", "delete", key), {"post": "yes"}).status_code == 403
    assert "delete_selected" not in admin.get(LIST).content.decode()


def test_revoking_asks_first(memory: Memory, admin: Client) -> None:
    key, _ = AgentKey.objects.issue(workspace="core", name="scribe")
    address = url("agentkey", "revoke", key)
    assert address in admin.get(url("agentkey", "change", key)).content.decode()
    assert "will stop working" in admin.get(address).content.decode()
    key.refresh_from_db()
    assert key.is_usable
    admin.post(address, {"confirmed": "yes"})
    key.refresh_from_db()
    assert not key.is_usable
    assert LogEntry.objects.get().object_repr == str(key)
    assert "Revoke…" not in admin.get(url("agentkey", "change", key)).content.decode()


def test_revoking_many_keeps_earlier_times(memory: Memory, admin: Client) -> None:
    old, _ = AgentKey.objects.issue(workspace="core", name="old")
    old.revoke()
    new, _ = AgentKey.objects.issue(workspace="core", name="new")
    data = {"action": "revoke_selected", "index": "0", "_selected_action": [old.pk, new.pk]}
    page = admin.post(LIST, data)
    assert "2 keys will stop working" in page.content.decode()
    confirmed = {"action": "revoke_selected", "_selected_action": [old.pk, new.pk]}
    admin.post(LIST, {**confirmed, "confirmed": "yes"})
    revoked_at = old.revoked_at
    old.refresh_from_db()
    new.refresh_from_db()
    assert old.revoked_at == revoked_at
    assert new.revoked_at is not None
    assert LogEntry.objects.count() == 1


def test_states(memory: Memory, admin: Client) -> None:
    AgentKey.objects.issue(workspace="core", name="active")
    past = timezone.now() - datetime.timedelta(days=1)
    AgentKey.objects.issue(workspace="core", name="expired", expires_at=past)
    key, _ = AgentKey.objects.issue(workspace="core", name="revoked", expires_at=past)
    key.revoke()
    for state in ("active", "expired", "revoked"):
        response = admin.get(LIST, {"state": state})
        assert [row.name for row in response.context["cl"].result_list] == [state]
        assert f">{state}</span>" in response.content.decode()


def test_damaged_tools_are_no_obstacle(memory: Memory, admin: Client) -> None:
    AgentKey.objects.issue(workspace="core", name="k")
    AgentKey.objects.update(tools={"not": "a list"})
    assert admin.get(LIST).status_code == 200


def test_a_key_that_is_gone(admin: Client) -> None:
    for name in ("999", "rubbish"):
        assert admin.get(f"{LIST}{name}/revoke/").status_code == 302
