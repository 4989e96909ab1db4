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

from .browser import fields_of
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


def test_the_same_form_issues_one_key(memory: Memory, admin: Client, submit: Submit) -> None:
    memory.configure(title="t")
    address = url("agentkey", "add")
    opened = admin.get(address)
    typed = {"workspace": workspace_of(memory).pk, "name": "scribe"}
    invalid = submit(address, opened=opened, **{**typed, "name": ""})
    assert invalid.context["errors"]
    form = {**fields_of(invalid), **typed}
    secret = secret_of(admin.post(address, form))
    nonce = form["nonce"]
    (session,) = Session.objects.all()
    assert secret not in str(session.get_decoded())
    assert nonce not in str(session.get_decoded())
    for _ in range(2):
        again = admin.post(address, form, follow=True)
        assert [str(message) for message in again.context["messages"]] == [
            "This key was already issued, and its secret cannot be shown again."
        ]
        assert secret not in again.content.decode()
    assert AgentKey.objects.with_secret(secret).get() == AgentKey.objects.get()
    assert LogEntry.objects.count() == 1
    assert fields_of(admin.get(address))["nonce"] != nonce
    assert secret_of(submit(address, **typed)) != secret
    assert AgentKey.objects.count() == 2


def test_a_form_without_its_nonce_issues_nothing(issue: Any) -> None:
    for nonce in (None, ""):
        page = issue(nonce=nonce)
        assert "This form is incomplete; open it again." in page.content.decode()
    assert not AgentKey.objects.exists()


def test_the_key_of_a_user_who_is_gone_breaks_no_page(memory: Memory, admin: Client) -> None:
    user = User.objects.create_user("gone")
    key, _ = AgentKey.objects.issue(workspace="core", name="orphan", user=user)
    address = url("agentkey", "change", key)
    assert "is gone" not in admin.get(address).content.decode()
    pk = user.pk
    user.delete()
    key.refresh_from_db()
    assert key.user_id == pk
    detail = admin.get(address).content.decode()
    assert f"user {pk} is gone: the key is refused" in detail
    for page in (LIST, f"{LIST}?q=orphan", f"{LIST}?state=active"):
        response = admin.get(page)
        assert [row.pk for row in response.context["cl"].result_list] == [key.pk]
    for page in (url("agentkey", "revoke", key), url("agentkey", "history", key)):
        assert admin.get(page).status_code == 200
    asked = {"action": "revoke_selected", "index": "0", "_selected_action": [key.pk]}
    assert "1 key will stop working" in admin.post(LIST, asked).content.decode()
    assert admin.get("/admin/").status_code == 200
    admin.post(url("agentkey", "revoke", key), {"confirmed": "yes"})
    key.refresh_from_db()
    assert not key.is_usable


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
        ("expires_at", {"expires_at_0": "9999-12-31", "expires_at_1": "23:59:59"}),
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
