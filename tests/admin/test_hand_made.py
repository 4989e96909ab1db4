"""Addresses and forms that no page of ours makes: each is answered, and none with a 500."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.test import Client

from django_agent_memory.admin import links
from django_agent_memory.admin.base import MemoryAdmin
from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey, Grant, Note

from .browser import fields_of
from .conftest import url, workspace_of

OURS = sorted(
    model._meta.model_name or ""
    for model, page in site._registry.items()
    if isinstance(page, MemoryAdmin)
)
WITH_ADD = ("agentkey", "grant", "note", "savedrule", "workspace")
BIG = str(2**63 - 1)
NO_ROWS = ("x", "\0", "1\0", "-1", "1.0", "²", "９９９９", str(2**63), "9" * 20, "9" * 5_000)
VALUES = ("\0", "\0,a", "(", "[", "x", "", "99999", "9" * 5_000, "null", "{")
LOOKUPS = (
    *("", "exact", "iexact", "contains", "icontains", "in", "gt", "gte", "lt", "lte", "isnull"),
    *("startswith", "endswith", "range", "regex", "iregex", "year", "month", "day", "date"),
    *("has_key", "has_keys", "contained_by", "length", "trigram_similar", "year__gte", "nothing"),
)


@pytest.fixture
def browser(admin: Client, memory: Memory) -> Client:
    """One whose lists have a row each, and who is shown what a server would answer."""
    memory.remember("k", "s", "b")
    AgentKey.objects.issue(workspace="core", name="desk")
    Grant.objects.give(workspace="core", user=User.objects.create_user("grantee"))
    admin.raise_request_exception = False
    return admin


def fields(name: str) -> list[str]:
    (model,) = (model for model in site._registry if model._meta.model_name == name)
    return ["pk", *(field.name for field in model._meta.get_fields())]


def filters(name: str) -> list[str]:
    (page,) = (page for model, page in site._registry.items() if model._meta.model_name == name)
    return [given if isinstance(given, str) else given.parameter_name for given in page.list_filter]


def test_every_page_is_asked() -> None:
    assert OURS == [
        "agentkey",
        "grant",
        "note",
        "recordedcall",
        "revision",
        "savedrule",
        "workspace",
    ]


@pytest.mark.parametrize("name", OURS)
def test_no_lookup_of_any_field_fails(browser: Client, name: str) -> None:
    address = url(name, "changelist")
    answers = {
        browser.get(address, {f"{field}__{lookup}".removesuffix("__"): "\0"}).status_code
        for field in (*fields(name), *filters(name))
        for lookup in LOOKUPS
    }
    assert answers <= {200, 302, 400}
    assert 400 in answers


@pytest.mark.parametrize("name", OURS)
def test_no_value_of_a_filter_fails(browser: Client, name: str) -> None:
    address = url(name, "changelist")
    for given in filters(name):
        for lookup in ("", "__exact", "__in", "__isnull", "__gte", "__gt", "__lt", "__lte"):
            for value in VALUES:
                answer = browser.get(address, {f"{given}{lookup}": value}).status_code
                assert answer in (200, 302, 400), (given, lookup, value)


@pytest.mark.parametrize(
    ("name", "lookup", "value"),
    [
        ("agentkey", "name", "\0"),
        ("agentkey", "access", "\0"),
        ("agentkey", "access__exact", "\0"),
        ("agentkey", "access__in", "\0,a"),
        ("agentkey", "tools", "\0"),
        ("agentkey", "tools__contains", "\0"),
        ("grant", "access", "\0"),
        ("agentkey", "name__regex", "("),
        ("agentkey", "name__iregex", "["),
        *((name, "created_at__year", "99999") for name in OURS if name != "recordedcall"),
    ],
)
def test_a_lookup_that_no_filter_makes_is_refused(
    browser: Client, name: str, lookup: str, value: str
) -> None:
    assert browser.get(url(name, "changelist"), {lookup: value}).status_code == 400


@pytest.mark.parametrize("lookup", ["access", "access__exact", "access__in"])
def test_what_the_filters_make_is_answered(browser: Client, lookup: str) -> None:
    for name in ("agentkey", "grant"):
        page = browser.get(url(name, "changelist"), {lookup: "read-write,read"})
        assert page.status_code == 200
        assert page.context["cl"].result_count == int(lookup == "access__in")


ACTIONS: dict[str, dict[str, str]] = {
    "revoke_selected": {"confirmed": "1"},
    "delete_selected": {"post": "yes"},
    "forget_selected": {"confirmed": "1"},
}


@pytest.mark.parametrize("given", [{}, {"index": "0"}])
@pytest.mark.parametrize("row", NO_ROWS)
@pytest.mark.parametrize("name", OURS)
def test_what_is_no_row_is_not_selected(
    browser: Client, name: str, row: str, given: dict[str, str]
) -> None:
    for action, confirmation in ACTIONS.items():
        data = {"action": action, "_selected_action": row, **confirmation, **given}
        answer = browser.post(url(name, "changelist"), data)
        assert answer.status_code in (200, 302, 403), action
    assert AgentKey.objects.get().revoked_at is None
    assert Grant.objects.exists()


def test_the_rows_beside_it_are(browser: Client) -> None:
    key, grant = AgentKey.objects.get(), Grant.objects.get()
    for name, row, action in (
        ("agentkey", key, "revoke_selected"),
        ("grant", grant, "delete_selected"),
    ):
        data: dict[str, Any] = {"action": action, "_selected_action": ["x", row.pk, BIG]}
        page = browser.post(url(name, "changelist"), {**data, **ACTIONS[action]}, follow=True)
        assert "was ignored" in page.content.decode()
    assert AgentKey.objects.get().revoked_at is not None
    assert not Grant.objects.exists()


@pytest.mark.parametrize("row", NO_ROWS)
@pytest.mark.parametrize("name", WITH_ADD)
def test_a_form_shows_its_error(browser: Client, name: str, row: str) -> None:
    form = fields_of(browser.get(url(name, "add")))
    for field in ("workspace", "user", "group"):
        if field not in form:
            continue
        page = browser.post(url(name, "add"), {**form, field: row})
        assert page.status_code == 200
        assert field in page.context["adminform"].form.errors
    for field in form:
        assert browser.post(url(name, "add"), {**form, field: row}).status_code in (200, 302, 403)
        assert browser.get(url(name, "add"), {field: row}).status_code == 200


def test_a_form_keeps_the_workspace_that_was_chosen(browser: Client, memory: Memory) -> None:
    chosen = workspace_of(memory).pk
    for name in ("agentkey", "grant", "note"):
        page = browser.post(url(name, "add"), {"workspace": chosen})
        assert f'<option value="{chosen}" selected>core' in page.content.decode()


@pytest.mark.parametrize("value", [*NO_ROWS, *VALUES])
def test_hand_made_addresses_of_duplicates(browser: Client, memory: Memory, value: str) -> None:
    memory.remember("twin", "s", "b")
    workspace = workspace_of(memory)
    listed, merge = (url("workspace", page, workspace) for page in ("duplicates", "merge"))
    pks = list(Note.objects.values_list("pk", flat=True))
    assert browser.get(listed, {"page": value}).status_code == 200
    assert browser.get(merge, {"note": [value, pks[0]]}).status_code == 302
    both = links.to_merge("admin", workspace.pk, pks)
    form = fields_of(browser.get(both))
    for field in (*form, "confirmed", "_again"):
        assert browser.post(both, {**form, field: value}).status_code == 200, field
    assert memory.revision() == 2


@pytest.mark.parametrize("row", [row for row in NO_ROWS if len(row) < 100])
def test_the_page_of_what_is_no_row(browser: Client, row: str) -> None:
    pages = {
        "agentkey": ("change", "rotate", "revoke"),
        "grant": ("change", "delete"),
        "savedrule": ("change", "delete"),
        "workspace": (
            *("change", "index", "rollback", "prune", "batch", "erase", "duplicates", "merge"),
        ),
        **dict.fromkeys(("note", "revision", "recordedcall"), ("change",)),
    }
    for name, views in pages.items():
        for view in views:
            address = url(name, "changelist") + f"{row}/{view}/".replace("\0", "%00")
            assert browser.get(address).status_code in (302, 404), (name, view)
