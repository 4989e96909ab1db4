"""Grants: one grantee each, one per workspace and grantee, and whose they are."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from django_agent_memory.exceptions import Refused
from django_agent_memory.models import Grant, Workspace
from django_agent_memory.models.grant import named_grantees
from tests.factories import UserFactory, WorkspaceFactory

pytestmark = pytest.mark.django_db


def test_a_grant_is_for_a_user_or_a_group() -> None:
    user, group = UserFactory(), Group.objects.create(name="desk")
    for_user = Grant.objects.give(workspace="core", user=user)
    for_group = Grant.objects.give(workspace="core", group=group, access="read-write")
    assert (for_user.user, for_user.group, for_user.access) == (user, None, "read")
    assert (for_group.user, for_group.group, for_group.access) == (None, group, "read-write")
    assert str(for_user) == f"read for user {user.pk}"
    assert str(for_group) == f"read-write for group {group.pk}"
    assert list(Grant.objects.that_write()) == [for_group]


def test_giving_again_replaces_the_access() -> None:
    user = UserFactory()
    first = Grant.objects.give(workspace="core", user=user)
    again = Grant.objects.give(workspace=first.workspace, user=user, access="read-write")
    assert again == first
    assert Grant.objects.get().access == "read-write"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"user": True, "group": True},
        {"user": True, "access": "root"},
        {"user": True, "workspace": "core/"},
    ],
)
def test_what_is_no_grant_is_refused(given: dict[str, Any]) -> None:
    rows = {"user": UserFactory(), "group": Group.objects.create(name="desk")}
    terms = {name: rows.get(name, value) for name, value in given.items()}
    with pytest.raises(Refused):
        Grant.objects.give(**{"workspace": "core", **terms})
    assert not Grant.objects.exists()
    assert not Workspace.objects.exists()


@pytest.mark.parametrize("both", [True, False])
def test_the_database_takes_one_grantee_only(both: bool) -> None:
    workspace, user = WorkspaceFactory(), UserFactory()
    group = Group.objects.create(name="desk")
    grantees = {"user": user, "group": group} if both else {}
    with pytest.raises(IntegrityError), transaction.atomic():
        Grant.objects.create(workspace=workspace, **grantees)


@pytest.mark.parametrize("kind", ["user", "group"])
def test_the_database_takes_one_grant_of_a_grantee(kind: str) -> None:
    grantee = UserFactory() if kind == "user" else Group.objects.create(name="desk")
    grant = Grant.objects.give(workspace="core", **{kind: grantee})
    with pytest.raises(IntegrityError), transaction.atomic():
        Grant.objects.create(workspace=grant.workspace, **{kind: grantee}, access="read-write")
    Grant.objects.give(workspace="other", **{kind: grantee})


def test_whose_they_are_is_one_statement() -> None:
    user, stranger = UserFactory(), UserFactory()
    group = Group.objects.create(name="desk")
    user.groups.add(group)
    theirs = {
        Grant.objects.give(workspace="a", user=user),
        Grant.objects.give(workspace="b", group=group),
    }
    Grant.objects.give(workspace="a", user=stranger)
    Grant.objects.give(workspace="a", group=Group.objects.create(name="other"))
    with CaptureQueriesContext(connection) as queries:
        assert set(Grant.objects.of(user)) == theirs
    assert len(queries) == 1


def test_a_user_of_a_model_without_groups() -> None:
    user = UserFactory()
    grant = Grant.objects.give(workspace="a", user=user)

    class Bare:
        pk = user.pk

    assert list(Grant.objects.of(Bare())) == [grant]


def test_names_of_grantees_whatever_their_number() -> None:
    users = [UserFactory(username=f"ada{number}") for number in range(3)]
    grants = [Grant.objects.give(workspace="a", user=user) for user in users]
    grants.append(Grant.objects.give(workspace="a", group=Group.objects.create(name="desk")))
    gone = grants[0]
    users[0].delete()
    with CaptureQueriesContext(connection) as queries:
        named = named_grantees(list(Grant.objects.all()))
    assert len(queries) == 3
    assert named == {grants[1].pk: "ada1", grants[2].pk: "ada2", grants[3].pk: "desk"}
    assert Grant.objects.filter(pk=gone.pk).exists()


def test_a_grant_goes_with_its_workspace() -> None:
    grant = Grant.objects.give(workspace="core", user=UserFactory())
    grant.workspace.delete()
    assert not Grant.objects.exists()
