"""Grants in the admin: given, changed and taken back, by those who may, as far as they may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_agent_memory.memory import Memory
from django_agent_memory.models import Grant, Workspace

from .browser import fields_of
from .conftest import Submit, url, workspace_of

Member = Callable[..., Client]
LIST = "/admin/agent_memory/grant/"
ALL_OF_NOTES = (
    *("view_note", "view_indexentry", "view_revision", "view_workspace"),
    *("add_note", "change_note", "delete_note"),
)


@pytest.fixture
def workspace(memory: Memory) -> Workspace:
    memory.configure(title="t")
    return workspace_of(memory)


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("grantee")


def sent_by(browser: Client, address: str, **typed: Any) -> Any:
    return browser.post(address, {**fields_of(browser.get(address)), **typed})


def test_give_change_and_take_back(
    submit: Submit, admin: Client, workspace: Workspace, ada: User
) -> None:
    added = submit(url("grant", "add"), workspace=workspace.pk, user=ada.pk, access="read")
    assert added.status_code == 302
    grant = Grant.objects.get()
    assert (grant.workspace, grant.user, grant.access) == (workspace, ada, "read")
    assert "<bdi>grantee</bdi> (user)" in admin.get(LIST).content.decode()
    page = admin.get(url("grant", "change", grant))
    assert "<bdi>grantee</bdi> (user)" in page.content.decode()
    assert {"workspace", "user", "group"}.isdisjoint(fields_of(page))
    changed = submit(url("grant", "change", grant), access="read-write")
    assert changed.status_code == 302
    grant.refresh_from_db()
    assert grant.access == "read-write"
    assert admin.post(url("grant", "delete", grant), {"post": "yes"}).status_code == 302
    assert not Grant.objects.exists()
    flags = list(LogEntry.objects.order_by("pk").values_list("action_flag", flat=True))
    assert flags == [1, 2, 3]


def test_what_is_so_already_is_no_change(submit: Submit, workspace: Workspace, ada: User) -> None:
    grant = Grant.objects.give(workspace=workspace, user=ada)
    assert submit(url("grant", "change", grant), access="read").status_code == 302
    assert not LogEntry.objects.exists()


def test_one_grantee(submit: Submit, workspace: Workspace, ada: User) -> None:
    group = Group.objects.create(name="desk")
    address = url("grant", "add")
    for grantees in ({}, {"user": ada.pk, "group": group.pk}):
        response = submit(address, workspace=workspace.pk, access="read", **grantees)
        assert "one of them, not both" in response.content.decode()
    for grantee, field in ((999, "user"), ("x", "user"), (999, "group")):
        response = submit(address, workspace=workspace.pk, access="read", **{field: grantee})
        assert list(response.context["adminform"].form.errors) == [field]
    assert not Grant.objects.exists()
    given = submit(address, workspace=workspace.pk, access="read-write", group=group.pk)
    assert given.status_code == 302
    assert Grant.objects.get().group == group


@pytest.mark.parametrize("typed", [{"access": "root"}, {"workspace": ""}, {"workspace": "999"}])
def test_bad_input_gives_nothing(
    submit: Submit, workspace: Workspace, ada: User, typed: dict[str, Any]
) -> None:
    fields = {"workspace": workspace.pk, "user": ada.pk, "access": "read", **typed}
    response = submit(url("grant", "add"), **fields)
    assert list(response.context["adminform"].form.errors) == [*typed]
    assert not Grant.objects.exists()


def test_a_second_grant_of_the_same_is_refused(
    submit: Submit, workspace: Workspace, ada: User
) -> None:
    Grant.objects.give(workspace=workspace, user=ada)
    response = submit(url("grant", "add"), workspace=workspace.pk, user=ada.pk, access="read-write")
    assert "change that one" in response.content.decode()
    assert Grant.objects.get().access == "read"


@pytest.mark.parametrize(
    ("own", "access", "may"),
    [
        (("view_workspace",), "read", False),
        (("view_workspace", "view_note"), "read", False),
        (ALL_OF_NOTES[:4], "read", True),
        (ALL_OF_NOTES[:4], "read-write", False),
        (ALL_OF_NOTES[:6], "read-write", False),
        (ALL_OF_NOTES, "read-write", True),
        (("write_notes",), "read-write", True),
    ],
)
def test_nobody_gives_what_they_may_not_do(
    member: Member, workspace: Workspace, ada: User, own: tuple[str, ...], access: str, may: bool
) -> None:
    browser = member("add_grant", "view_grant", *own)
    fields = {"workspace": workspace.pk, "user": ada.pk, "access": access}
    response = sent_by(browser, url("grant", "add"), **fields)
    assert Grant.objects.exists() is may
    if not may:
        assert "You can give only what you may do" in response.content.decode()


def test_nobody_widens_a_grant_beyond_their_own(
    member: Member, workspace: Workspace, ada: User
) -> None:
    browser = member("change_grant")
    bob = User.objects.get(username="bob")
    mine = Grant.objects.give(workspace=workspace, user=bob)
    theirs = Grant.objects.give(workspace=workspace, user=ada)
    for grant in (mine, theirs):
        response = sent_by(browser, url("grant", "change", grant), access="read-write")
        assert response.status_code == 200
        assert "agent_memory.add_note" in response.content.decode()
    assert not Grant.objects.that_write().exists()
    Grant.objects.give(workspace=workspace, user=bob, access="read-write")
    changed = sent_by(browser, url("grant", "change", theirs), access="read-write")
    assert changed.status_code == 302
    assert Grant.objects.that_write().count() == 2


def test_each_of_the_permissions(member: Member, workspace: Workspace, ada: User) -> None:
    grant = Grant.objects.give(workspace=workspace, user=ada)
    browser = member("view_grant", *ALL_OF_NOTES)
    assert browser.get(LIST).status_code == 200
    assert browser.get(url("grant", "add")).status_code == 403
    data = {"access": "read-write"}
    assert browser.post(url("grant", "change", grant), data).status_code == 403
    assert browser.post(url("grant", "delete", grant), {"post": "yes"}).status_code == 403
    action = {"action": "delete_selected", "_selected_action": [grant.pk], "post": "yes"}
    browser.post(LIST, action)
    assert Grant.objects.get().access == "read"


def test_delete_takes_its_own_permission(member: Member, workspace: Workspace, ada: User) -> None:
    grant = Grant.objects.give(workspace=workspace, user=ada)
    browser = member("view_workspace", "view_grant", "delete_grant")
    action = {"action": "delete_selected", "_selected_action": [grant.pk], "post": "yes"}
    assert browser.post(LIST, action).status_code == 302
    assert not Grant.objects.exists()


def test_filters_and_search(admin: Client, workspace: Workspace, ada: User) -> None:
    group = Group.objects.create(name="desk")
    by_user = Grant.objects.give(workspace=workspace, user=ada)
    by_group = Grant.objects.give(workspace="other", group=group, access="read-write")
    for query, expected in [
        ({"grantee": "user"}, [by_user]),
        ({"grantee": "group"}, [by_group]),
        ({"grantee": "rubbish"}, [by_group, by_user]),
        ({"access__exact": "read-write"}, [by_group]),
        ({"workspace": "core"}, [by_user]),
        ({"q": "oth"}, [by_group]),
        ({"q": "\x00"}, []),
    ]:
        response = admin.get(LIST, query)
        assert list(response.context["cl"].result_list) == expected, query


def test_a_grant_whose_user_is_gone(admin: Client, workspace: Workspace, ada: User) -> None:
    grant = Grant.objects.give(workspace=workspace, user=ada)
    number = ada.pk
    ada.delete()
    assert f"user {number} is gone" in admin.get(LIST).content.decode()
    assert f"user {number} is gone" in admin.get(url("grant", "change", grant)).content.decode()
    assert admin.post(url("grant", "delete", grant), {"post": "yes"}).status_code == 302


def test_names_are_inert(admin: Client, workspace: Workspace) -> None:
    group = Group.objects.create(name='"><img src=x onerror=alert(1)>')
    grant = Grant.objects.give(workspace=workspace, group=group)
    for address in (LIST, url("grant", "change", grant), url("grant", "delete", grant)):
        assert "<img src=x" not in admin.get(address).content.decode()


def test_the_list_takes_the_same_statements_whatever_its_length(
    admin: Client, workspace: Workspace
) -> None:
    counts = []
    for round_ in range(2):
        for number in range(8):
            user = User.objects.create_user(f"u{round_}{number}")
            Grant.objects.give(workspace=f"w{round_}{number}", user=user)
        admin.get(LIST)
        with CaptureQueriesContext(connection) as queries:
            admin.get(LIST)
        counts.append(len(queries))
    assert counts[0] == counts[1]
