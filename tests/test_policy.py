"""Who may do what in which workspace, as the policy decides it for every surface."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.models import AnonymousUser, Group
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from django_agent_memory.models import AgentKey, Grant, Note, Workspace
from django_agent_memory.policy import (
    ADDS,
    OF_CREDENTIALS,
    PERMISSIONS,
    READS,
    WRITES,
    Policy,
    current_policy,
    permissions_giving,
    permissions_of,
)
from django_agent_memory.tools import TOOLS
from tests.factories import AgentKeyFactory, NoteFactory, UserFactory, WorkspaceFactory

pytestmark = pytest.mark.django_db

HERE, THERE, NOWHERE = "core", "tenant-b", "nowhere"


class Closed(Policy):
    """Lets no user in anywhere."""

    def user_may(self, user: Any, permission: str, path: str) -> bool:
        return False

    def user_workspaces(self, user: Any, permission: str) -> QuerySet[Workspace] | None:
        return Workspace.objects.none()


class OwnersBackend(BaseBackend):
    """Gives whoever a workspace is named after the right to read it and to add to it."""

    allowed = ("view_note", "view_workspace", "add_note")

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return (
            isinstance(obj, Workspace)
            and obj.path == user_obj.username
            and perm.removeprefix("agent_memory.") in self.allowed
        )


class OwnersPolicy(Policy):
    """Knows which workspaces the backend would allow."""

    def object_workspaces(self, user: Any, permission: str) -> QuerySet[Workspace]:
        mine = Workspace.objects.filter(path=user.username)
        return mine if permission in OwnersBackend.allowed else mine.none()


@pytest.fixture
def workspaces(db: None) -> None:
    for path in (HERE, THERE):
        WorkspaceFactory(path=path)


def allowed(policy: Policy, user: Any, path: str) -> set[str]:
    """Return what the user may do there, having asked in each of the ways there are."""
    may = {permission for permission in PERMISSIONS if policy.user_may(user, permission, path)}
    for permission in PERMISSIONS:
        lacks = policy.missing(user, [permission], path=path)
        assert (lacks is None) == (permission in may)
        shown = policy.visible(
            user, Workspace.objects.filter(path=path), workspace="pk", permissions=[permission]
        )
        assert shown.exists() == (permission in may and path != NOWHERE)
    assert policy.knows_of(user, path) == bool(may)
    return may


def test_a_user_without_any_right(workspaces: None) -> None:
    for user in (UserFactory(), AnonymousUser()):
        for path in (HERE, NOWHERE, "", "a//b", "*", "%"):
            assert allowed(Policy(), user, path) == set()


def test_what_no_database_can_hold_is_no_path() -> None:
    user = UserFactory()
    for path in ("\x00", "a\ud800"):
        assert not Policy().knows_of(user, path)
        assert not Policy().user_may(user, "view_note", path)


@pytest.mark.parametrize("permission", PERMISSIONS)
def test_a_model_permission_holds_everywhere(workspaces: None, permission: str) -> None:
    user = UserFactory(permissions=[permission])
    for path in (HERE, THERE, NOWHERE):
        assert allowed(Policy(), user, path) == {permission}


@pytest.mark.parametrize(
    ("permission", "given"), [("read_notes", READS), ("write_notes", (*READS, *WRITES))]
)
def test_a_permission_for_all_notes_holds_everywhere(
    workspaces: None, permission: str, given: tuple[str, ...]
) -> None:
    user = UserFactory(permissions=[permission])
    assert allowed(Policy(), user, NOWHERE) == set(given)


@pytest.mark.parametrize("through_group", [False, True])
@pytest.mark.parametrize(("access", "given"), [("read", READS), ("read-write", (*READS, *WRITES))])
def test_a_grant_holds_in_its_workspace(
    workspaces: None, access: str, given: tuple[str, ...], through_group: bool
) -> None:
    user, group = UserFactory(), Group.objects.create(name="desk")
    user.groups.add(group)
    grantee = {"group": group} if through_group else {"user": user}
    Grant.objects.give(workspace=HERE, access=access, **grantee)
    assert allowed(Policy(), user, HERE) == set(given)
    for elsewhere in (THERE, NOWHERE, "core/sub", "CORE"):
        assert allowed(Policy(), user, elsewhere) == set()
    assert allowed(Policy(), UserFactory(), HERE) == set()


def test_the_widest_of_several_grants_counts(workspaces: None) -> None:
    user, group = UserFactory(), Group.objects.create(name="desk")
    user.groups.add(group)
    Grant.objects.give(workspace=HERE, user=user)
    Grant.objects.give(workspace=HERE, group=group, access="read-write")
    assert allowed(Policy(), user, HERE) == {*READS, *WRITES}


def test_a_grant_adds_to_a_model_permission(workspaces: None) -> None:
    user = UserFactory(permissions=["view_note"])
    Grant.objects.give(workspace=HERE, user=user, access="read-write")
    assert allowed(Policy(), user, HERE) == {*READS, *WRITES}
    assert allowed(Policy(), user, THERE) == {"view_note"}


def test_a_damaged_access_gives_nothing(workspaces: None) -> None:
    user = UserFactory()
    Grant.objects.give(workspace=HERE, user=user)
    Grant.objects.update(access="root")
    assert allowed(Policy(), user, HERE) == set()


def test_an_inactive_user_has_nothing(workspaces: None, settings: Any) -> None:
    settings.AUTHENTICATION_BACKENDS = ["tests.test_policy.OwnersBackend"]
    user = UserFactory(username=HERE, is_active=False, is_superuser=True)
    Grant.objects.give(workspace=HERE, user=user, access="read-write")
    assert allowed(OwnersPolicy(), user, HERE) == set()


def test_object_permissions(workspaces: None, settings: Any) -> None:
    settings.AUTHENTICATION_BACKENDS = [
        "django.contrib.auth.backends.ModelBackend",
        "tests.test_policy.OwnersBackend",
    ]
    user = UserFactory(username=HERE)
    assert allowed(OwnersPolicy(), user, HERE) == set(OwnersBackend.allowed)
    assert allowed(OwnersPolicy(), user, THERE) == set()
    assert allowed(OwnersPolicy(), UserFactory(username=NOWHERE), NOWHERE) == set()
    assert OwnersPolicy().missing(user, ["view_note"], path=None) is None
    lacks = OwnersPolicy().missing(user, ["add_note", "change_note"], path=None)
    assert lacks == "You lack the permission agent_memory.change_note."
    # Without the list of them they count where the workspace is named.
    assert Policy().user_may(user, "view_note", HERE)
    assert Policy().missing(user, ["view_note"], path=None) is not None


def test_making_workspaces_is_no_right_in_one(workspaces: None, settings: Any) -> None:
    settings.AUTHENTICATION_BACKENDS = ["tests.test_policy.AllOnObjects"]
    user = UserFactory()
    assert allowed(AllOnObjectsPolicy(), user, HERE) == {*PERMISSIONS} - {ADDS}
    assert AllOnObjectsPolicy().missing(user, [ADDS], path=None) is not None


class AllOnObjects(BaseBackend):
    """Gives everybody everything on every object."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return obj is not None


class AllOnObjectsPolicy(Policy):
    """Knows that."""

    def object_workspaces(self, user: Any, permission: str) -> QuerySet[Workspace]:
        return Workspace.objects.all()


def test_what_gives_a_permission_on_a_workspace() -> None:
    assert permissions_giving("view_note") == ("read_notes", "write_notes")
    assert permissions_giving("delete_note") == ("write_notes",)
    assert permissions_giving("view_workspace") == ("view_workspace", "read_notes", "write_notes")
    assert permissions_giving("change_workspace") == ("change_workspace",)
    assert permissions_giving("erase_workspace") == ("erase_workspace",)


# In some workspace


def test_somewhere_is_one_workspace_with_all_of_it(workspaces: None) -> None:
    user = UserFactory()
    assert Policy().missing(user, ["view_note"], path=None) is not None
    Grant.objects.give(workspace=HERE, user=user)
    lacks = Policy().missing(user, ["view_note", "add_note", "change_note"], path=None)
    assert lacks == "You lack the permission agent_memory.add_note."
    Grant.objects.give(workspace=THERE, user=user, access="read-write")
    assert Policy().missing(user, ["view_note", "add_note"], path=None) is None


def test_what_is_visible_needs_all_permissions_in_the_same_workspace(workspaces: None) -> None:
    user = UserFactory()
    Grant.objects.give(workspace=HERE, user=user)
    Grant.objects.give(workspace=THERE, user=user, access="read-write")
    notes = {path: NoteFactory(workspace=path, key=path) for path in (HERE, THERE)}
    terms: dict[str, Any] = {"workspace": "workspace"}
    rows = Note.objects.order_by("key")
    seen = Policy().visible(user, rows, permissions=["view_note"], **terms)
    assert list(seen) == [notes[HERE], notes[THERE]]
    seen = Policy().visible(user, rows, permissions=["view_note", "add_note"], **terms)
    assert list(seen) == [notes[THERE]]


def test_a_list_is_one_statement_whatever_there_is(workspaces: None) -> None:
    user, group = UserFactory(), Group.objects.create(name="desk")
    user.groups.add(group)
    for number in range(20):
        grantee = {"group": group} if number % 2 else {"user": user}
        Grant.objects.give(workspace=f"{HERE}/{number}", **grantee)
    policy = Policy()
    policy.everywhere(user, "view_note")
    with CaptureQueriesContext(connection) as queries:
        seen = policy.visible(
            user, Workspace.objects.all(), workspace="pk", permissions=["view_note"]
        )
        assert len(seen) == 20
    assert len(queries) == 1


# Keys


@pytest.mark.parametrize("access", AgentKey.Access.values)
@pytest.mark.parametrize("tools", [None, [], ["recall"], ["forget"], ["store"], "recall", {}])
def test_the_tools_of_a_key(access: str, tools: Any) -> None:
    key = AgentKeyFactory(access=access)
    key.tools = tools
    for tool in TOOLS.values():
        may_by_access = tool.read_only or access == "read-write"
        listed = not tool.optional if tools is None else tool.name in list(tools)
        expected = may_by_access and listed and not isinstance(tools, (str, dict))
        assert Policy().may_use(key, tool) is expected, tool.name
        assert not Policy().may_use(key, tool, path=THERE)


def test_a_key_without_a_tool_reads(workspaces: None) -> None:
    key = AgentKeyFactory()
    for permission in PERMISSIONS:
        lacks = Policy().missing(key, [permission], path=None)
        assert (lacks is None) == (permission in READS)
        assert Policy().missing(key, [permission], path=THERE) is not None
    assert Policy().knows_of(key, HERE)
    assert not Policy().knows_of(key, THERE)
    rows = Workspace.objects.all()
    assert [w.path for w in Policy().visible(key, rows, workspace="pk", permissions=[])] == [HERE]


def test_optional_tools_are_not_those_of_a_user() -> None:
    user = UserFactory(is_superuser=True)
    usable = {tool.name for tool in TOOLS.values() if Policy().may_use(user, tool)}
    assert usable == {tool.name for tool in TOOLS.values() if not tool.optional}
    assert all(set(permissions_of(tool)) <= set(PERMISSIONS) for tool in TOOLS.values())


# The setting


def test_the_policy_of_the_setting(settings: Any) -> None:
    assert type(current_policy()) is Policy
    settings.AGENT_MEMORY_POLICY = "tests.test_policy.Closed"
    assert type(current_policy()) is Closed
    assert current_policy() is not current_policy()


# Agent keys and grants


@pytest.mark.parametrize("permission", OF_CREDENTIALS)
def test_what_one_may_do_with_keys_and_grants_counts_where_one_views(
    workspaces: None, permission: str
) -> None:
    user = UserFactory(permissions=[permission])
    assert Policy().missing(user, [permission], path=None) is not None
    assert not Policy().user_may(user, permission, HERE)
    Grant.objects.give(workspace=HERE, user=user)
    policy = Policy()
    assert policy.user_may(user, permission, HERE)
    assert not policy.user_may(user, permission, THERE)
    reached = policy.user_workspaces(user, permission)
    assert reached is not None
    assert [row.path for row in reached] == [HERE]
    everywhere = UserFactory(permissions=[permission, "view_workspace"])
    assert policy.everywhere(everywhere, permission)
    assert policy.user_may(everywhere, permission, NOWHERE)
    assert policy.user_workspaces(everywhere, permission) is None


def test_no_grant_gives_them(workspaces: None) -> None:
    user = UserFactory()
    Grant.objects.give(workspace=HERE, user=user, access="read-write")
    assert not any(Policy().user_may(user, name, HERE) for name in OF_CREDENTIALS)


def test_they_may_be_object_permissions(workspaces: None, settings: Any) -> None:
    settings.AUTHENTICATION_BACKENDS = ["tests.test_policy.AllOnObjects"]
    user, policy = UserFactory(), AllOnObjectsPolicy()
    assert all(policy.user_may(user, name, HERE) for name in OF_CREDENTIALS)
    assert not any(policy.user_may(user, name, NOWHERE) for name in OF_CREDENTIALS)
    reached = policy.user_workspaces(user, "view_agentkey")
    assert reached is not None
    assert set(reached) == set(Workspace.objects.all())
    # A site that does not say which there are has them where a workspace is named.
    assert Policy().user_may(user, "view_agentkey", HERE)
    found = Policy().user_workspaces(user, "view_agentkey")
    assert found is not None
    assert not found


def test_an_agent_key_has_none_of_them(workspaces: None) -> None:
    key = AgentKeyFactory(workspace=HERE)
    for permission in OF_CREDENTIALS:
        assert Policy().missing(key, [permission], path=HERE) is not None
        rows = Policy().visible(
            key, AgentKey.objects.all(), workspace="workspace", permissions=[permission]
        )
        assert not rows
    assert Policy().missing_to_give(key, "read", path=HERE) == "This access cannot be given."


@pytest.mark.parametrize("access", ["", "root", "write"])
def test_an_access_that_there_is_not_is_given_by_nobody(workspaces: None, access: str) -> None:
    root = UserFactory(is_superuser=True)
    assert Policy().missing_to_give(root, access, path=HERE) == "This access cannot be given."


def test_whom_one_may_name(workspaces: None) -> None:
    user, other = UserFactory(), UserFactory()
    policy = Policy()
    assert policy.may_name(user, None)
    assert policy.may_name(user, user.pk)
    assert not policy.may_name(user, other.pk)
    assert policy.may_name(UserFactory(is_superuser=True), other.pk)
    assert not policy.may_name(UserFactory(is_superuser=True, is_active=False), other.pk)


def test_who_reaches_anything(workspaces: None) -> None:
    assert not Policy().reaches_any(UserFactory())
    assert not Policy().reaches_any(UserFactory(permissions=["view_agentkey"]))
    assert Policy().reaches_any(UserFactory(permissions=["add_workspace"]))
    assert Policy().reaches_any(UserFactory(is_superuser=True))
    user = UserFactory()
    Grant.objects.give(workspace=HERE, user=user)
    policy = Policy()
    with CaptureQueriesContext(connection) as queries:
        assert policy.reaches_any(user)
        assert policy.reaches_any(user)
    # All permissions, and whether there is a workspace.
    assert len(queries) == 2


@pytest.mark.parametrize("granted", [False, True])
def test_what_a_policy_can_list_is_asked_alike_whether_or_not_it_exists(
    workspaces: None, settings: Any, granted: bool
) -> None:
    settings.AUTHENTICATION_BACKENDS = [f"{__name__}.OwnersBackend"]
    user = UserFactory()
    if granted:
        Grant.objects.give(workspace=HERE, user=user, access="read")
    counts = []
    for path in (THERE, "nowhere"):
        with CaptureQueriesContext(connection) as queries:
            assert not OwnersPolicy().knows_of(type(user).objects.get(pk=user.pk), path)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_as_whom_one_may_sign(workspaces: None) -> None:
    user, other = UserFactory(), UserFactory()
    policy = Policy()
    assert policy.may_sign_as(user, "desk")
    assert policy.may_sign_as(user, user.username)
    assert not policy.may_sign_as(user, other.username)
    assert policy.may_sign_as(UserFactory(is_superuser=True), other.username)
    assert not policy.may_sign_as(UserFactory(is_superuser=True, is_active=False), other.username)
