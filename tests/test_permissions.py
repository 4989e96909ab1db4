"""A user's model permissions in one statement: the same ones that Django would read in two."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AnonymousUser, Group, Permission, User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_agent_memory.permissions import read_at_once
from django_agent_memory.policy import Policy

pytestmark = pytest.mark.django_db

MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"


@pytest.fixture
def user(db: None) -> User:
    """One with a permission of their own, one of a group, and one of both."""
    ada = User.objects.create_user("ada")
    group, other = Group.objects.create(name="desk"), Group.objects.create(name="other")
    by_name = {row.codename: row for row in Permission.objects.all()}
    ada.user_permissions.set([by_name["view_note"], by_name["add_user"]])
    group.permissions.set([by_name["view_note"], by_name["add_note"]])
    other.permissions.set([by_name["delete_note"]])
    ada.groups.add(group)
    return ada


def fresh(user: User) -> User:
    return User.objects.get(pk=user.pk)


def test_they_are_those_that_django_reads(user: User) -> None:
    one, other = fresh(user), fresh(user)
    with CaptureQueriesContext(connection) as queries:
        read_at_once(one)
    assert len(queries) == 1
    with CaptureQueriesContext(connection) as queries:
        found = one.get_user_permissions(), one.get_group_permissions(), one.get_all_permissions()
        read_at_once(one)
    assert not queries
    expected = (
        other.get_user_permissions(),
        other.get_group_permissions(),
        other.get_all_permissions(),
    )
    assert found == expected
    assert found[0] == {"agent_memory.view_note", "auth.add_user"}
    assert found[1] == {"agent_memory.view_note", "agent_memory.add_note"}


class OnlyGroups(ModelBackend):
    """Knows no permissions of users."""

    def _get_user_permissions(self, user_obj: Any) -> Any:
        return Permission.objects.none()


class NothingOnMondays(ModelBackend):
    """Keeps to what Django reads, and refuses."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return False


@pytest.mark.parametrize(
    ("backends", "own", "by_group"),
    [
        ([MODEL_BACKEND], True, True),
        ([f"{__name__}.OnlyGroups"], False, True),
        ([f"{__name__}.OnlyGroups", MODEL_BACKEND], False, True),
        ([f"{__name__}.NothingOnMondays"], False, False),
        (["django.contrib.auth.backends.RemoteUserBackend"], True, True),
        (["tests.test_policy.OwnersBackend"], False, False),
    ],
)
def test_a_backend_of_the_sites_own_decides_as_ever(
    user: User, settings: Any, backends: list[str], own: bool, by_group: bool
) -> None:
    settings.AUTHENTICATION_BACKENDS = backends
    Group.objects.get(name="desk").permissions.remove(Permission.objects.get(codename="view_note"))
    one = fresh(user)
    policy = Policy()
    assert policy.everywhere(one, "view_note") is own
    assert policy.everywhere(one, "add_note") is by_group
    assert not policy.everywhere(one, "delete_note")
    plain = fresh(user)
    assert plain.has_perm("agent_memory.view_note") is own


@pytest.mark.parametrize("terms", [{"is_superuser": True}, {"is_active": False}])
def test_nothing_is_read_of_whom_django_reads_nothing(user: User, terms: dict[str, Any]) -> None:
    User.objects.filter(pk=user.pk).update(**terms)
    one = fresh(user)
    with CaptureQueriesContext(connection) as queries:
        Policy().everywhere(one, "view_note")
    assert not queries


def test_nobody_has_none() -> None:
    assert not Policy().everywhere(AnonymousUser(), "view_note")
