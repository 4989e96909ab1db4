"""Replacing a key in the admin: one question, one new secret, and an end to the old key."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey

from .browser import fields_of
from .conftest import Submit, url
from .test_agent_keys import LIST, secret_of


@pytest.fixture
def key(memory: Memory) -> AgentKey:
    key, _ = AgentKey.objects.issue(
        workspace="core", name="scribe", access="read", tools=["recall"]
    )
    return key


def test_a_key_is_replaced(admin: Client, submit: Submit, key: AgentKey) -> None:
    address = url("agentkey", "rotate", key)
    assert address in admin.get(url("agentkey", "change", key)).content.decode()
    assert "scribe" in admin.get(address).content.decode()
    before = timezone.now()
    page = submit(address, overlap="2")
    secret = secret_of(page)
    new = AgentKey.objects.with_secret(secret).get()
    key.refresh_from_db()
    assert (new.name, new.access, new.tools) == ("scribe", "read", ["recall"])
    assert key.replaced_by == new
    assert key.expires_at is not None
    assert key.expires_at - before < datetime.timedelta(hours=2, minutes=1)
    assert "no-store" in page["Cache-Control"]
    entries = LogEntry.objects.order_by("pk").values_list("object_id", "action_flag")
    assert list(entries) == [(str(key.pk), 2), (str(new.pk), 1)]
    assert all(secret not in str(s.get_decoded()) for s in Session.objects.all())
    old_page = admin.get(url("agentkey", "change", key)).content.decode()
    assert url("agentkey", "change", new) in old_page
    assert address not in old_page
    assert secret not in old_page


def test_the_page_of_the_secret_reloaded_makes_no_other_key(admin: Client, key: AgentKey) -> None:
    address = url("agentkey", "rotate", key)
    form = fields_of(admin.get(address))
    secret = secret_of(admin.post(address, form))
    again = admin.post(address, form, follow=True)
    assert [str(message) for message in again.context["messages"]] == [
        "This key was already issued, and its secret cannot be shown again."
    ]
    assert secret not in again.content.decode()
    assert AgentKey.objects.count() == 2


@pytest.mark.parametrize(
    "typed", [{"overlap": v} for v in ("", "-1", "8761", "x")] + [{"nonce": ""}]
)
def test_bad_input_replaces_nothing(submit: Submit, key: AgentKey, typed: dict[str, str]) -> None:
    page = submit(url("agentkey", "rotate", key), **typed)
    assert list(page.context["form"].errors) == [*typed]
    assert AgentKey.objects.get().expires_at is None


@pytest.mark.parametrize("state", ["revoked", "replaced"])
def test_what_is_over_is_not_replaced(
    admin: Client, submit: Submit, key: AgentKey, state: str
) -> None:
    if state == "revoked":
        key.revoke()
    else:
        AgentKey.objects.rotate(key, overlap=datetime.timedelta(hours=1))
    before = list(AgentKey.objects.values())
    address = url("agentkey", "rotate", key)
    assert address not in admin.get(url("agentkey", "change", key)).content.decode()
    page = submit(address)
    assert page.context["form"].non_field_errors()
    assert list(AgentKey.objects.values()) == before


def test_it_takes_both_permissions_and_a_token(member: Any, admin: Client, key: AgentKey) -> None:
    address = url("agentkey", "rotate", key)
    assert member("add_agentkey").post(address, {"overlap": "1", "nonce": "n"}).status_code == 403
    admin.handler.enforce_csrf_checks = True
    assert admin.post(address, {"overlap": "1", "nonce": "n"}).status_code == 403
    assert AgentKey.objects.get().expires_at is None


def test_a_key_that_is_gone(admin: Client) -> None:
    for name in ("999", "rubbish"):
        assert admin.get(f"{LIST}{name}/rotate/").status_code == 302
