"""Who may do what in which workspace: one class decides it for every surface.

A site that has tenants or roles of its own puts a subclass behind the setting AGENT_MEMORY_POLICY.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from django.contrib.auth import get_permission_codename, get_user_model
from django.db import router
from django.db.models import Q, QuerySet
from django.utils.module_loading import import_string

from .conf import conf
from .exceptions import Refused
from .models import AgentKey, Grant, Workspace
from .permissions import read_at_once
from .text import gate
from .tools import TOOLS, ToolSpec
from .writing import MAX_ACTOR_LENGTH

READS = ("view_note", "view_indexentry", "view_revision", "view_workspace")
WRITES = ("add_note", "change_note", "delete_note")
ADDS = "add_workspace"
# What cannot be undone: no grant gives it, nor does any other permission.
REDACTS, ERASES = "redact_workspace", "erase_workspace"
PERMISSIONS = (*READS, *WRITES, "change_workspace", REDACTS, ERASES, ADDS)
# What one may do with agent keys and grants; it counts only where one may view the workspace.
OF_CREDENTIALS = tuple(
    f"{verb}_{model}"
    for model in ("agentkey", "grant")
    for verb in ("view", "add", "change", "delete")
)
# Backends such as django-guardian give on a workspace only permissions of its own model.
_GIVEN_BY = {"read_notes": READS, "write_notes": (*READS, *WRITES)}

_APP = "agent_memory"
_VIEW = "view_workspace"
_OF_TOOLS: dict[str, tuple[str, ...]] = {
    "remember": ("add_note", "change_note"),
    "forget": ("delete_note",),
    "store": ("add_note", "change_note"),
    "forget_matching": ("delete_note",),
    "history": ("view_revision",),
    "index": ("view_indexentry",),
}


def current_policy() -> Policy:
    """Return a new policy of the class that the setting AGENT_MEMORY_POLICY names."""
    policy: Policy = import_string(conf.policy)()
    return policy


def permissions_of(tool: ToolSpec) -> tuple[str, ...]:
    """Return the permissions a user needs to call the tool."""
    return _OF_TOOLS.get(tool.name, ("view_note",) if tool.read_only else WRITES)


def signature_of(caller: Any) -> str:
    """Return the actor of what an agent key or a user writes: the key's name, or the username."""
    name = caller.name if isinstance(caller, AgentKey) else caller.get_username()
    return str(name)[:MAX_ACTOR_LENGTH]


def permissions_of_grant(access: str) -> tuple[str, ...]:
    """Return the permissions that a grant gives in its workspace; none for an unknown access."""
    if access == Grant.Access.READ_WRITE:
        return (*READS, *WRITES)
    return READS if access == Grant.Access.READ else ()


def permissions_giving(permission: str) -> tuple[str, ...]:
    """Return those permissions of the model Workspace that give this one where they are held."""
    wider = tuple(name for name, given in _GIVEN_BY.items() if permission in given)
    return (permission, *wider) if permission.endswith("_workspace") else wider


def named(permission: str) -> str:
    """Return the permission as Django names it: `agent_memory.view_note`."""
    return f"{_APP}.{permission}"


class Policy:
    """An agent key by its own terms; a user by permissions and grants; all else is refused.

    A `caller` is an `AgentKey` or a user. One policy decides one request, so that it may keep what
    it has looked up. Permissions are the codenames in `PERMISSIONS`; a user who has `read_notes` or
    `write_notes`, everywhere or on one workspace, has what a grant of that access gives.

    A path is that of a workspace, which need not be there. Nothing may depend on whether it is, but
    for who may know of it.

    Permissions on agent keys and grants, `OF_CREDENTIALS`, say what a user may do with them, and
    where is wherever the user may view the workspace. An agent key has none of them.

    To override for users: `user_may` and `user_workspaces`, which have to agree; where object
    permissions come from a backend such as django-guardian, `object_workspaces` alone.
    """

    def __init__(self) -> None:
        self._accesses: dict[tuple[Any, str], list[str]] = {}
        self._found: dict[str, Workspace | None] = {}
        self._anywhere: dict[tuple[Any, tuple[str, ...]], bool] = {}
        self._reaching: dict[Any, bool] = {}

    # What every surface asks

    def knows_of(self, caller: Any, path: str) -> bool:
        """Whether the caller may know of the workspace: else it is as one that does not exist."""
        if isinstance(caller, AgentKey):
            return bool(path == caller.workspace.path)
        # What holds everywhere comes first: it takes no look at this workspace.
        everywhere = (name for name in PERMISSIONS if self.everywhere(caller, name))
        return any(self.user_may(caller, name, path) for name in chain(everywhere, PERMISSIONS))

    def missing(
        self,
        caller: Any,
        permissions: Sequence[str],
        *,
        path: str | None,
        tool: str | None = None,
    ) -> str | None:
        """Return in one sentence what the caller lacks to do this; None if nothing.

        It is about the workspace at `path`; with None a key's own, and for users at least one. A
        user needs every one of the permissions. A key needs `tool`, the name of the tool that does
        the same; without one, every key may read and none may write.
        """
        if not isinstance(caller, AgentKey):
            return self._missing_of_user(caller, tuple(permissions), path)
        if path is not None and path != caller.workspace.path:
            return "This agent key is for another workspace."
        if tool is not None:
            return self._missing_of_key(caller, TOOLS[tool])
        if all(permission in READS for permission in permissions):
            return None
        return f"An agent key cannot do this; it takes a user with {named(permissions[0])}."

    def may_use(self, caller: Any, tool: ToolSpec, *, path: str | None = None) -> bool:
        """Whether the caller may use the tool; `path` as for `missing`.

        An optional tool is there only for the keys that list it, as far as tools are listed.
        """
        if tool.optional and not isinstance(caller, AgentKey):
            return False
        return self.missing(caller, permissions_of(tool), path=path, tool=tool.name) is None

    def visible(
        self, caller: Any, rows: QuerySet[Any], *, workspace: str, permissions: Sequence[str]
    ) -> QuerySet[Any]:
        """Return those rows in whose workspace the caller has all the permissions.

        `workspace` is the lookup from the rows to their workspace.
        """
        if isinstance(caller, AgentKey):
            if any(permission in OF_CREDENTIALS for permission in permissions):
                return rows.none()
            return rows.filter(**{workspace: caller.workspace_id})
        for permission in permissions:
            reached = self.user_workspaces(caller, permission)
            if reached is not None:
                rows = rows.filter(**{f"{workspace}__in": reached.order_by().values("pk")})
        return rows

    def everywhere(self, user: Any, permission: str) -> bool:
        """Whether a user has the permission in every workspace there is or will be."""
        return all(self._has(user, name, None) for name in _with_the_view(permission))

    def missing_to_give(self, giver: Any, access: str, *, path: str) -> str | None:
        """Return in one sentence what a user lacks to give this access to others; None if nothing.

        By a grant or by an agent key: nobody gives what they may not do themselves in the workspace
        at `path`. No agent key gives anything.
        """
        given = permissions_of_grant(access)
        if isinstance(giver, AgentKey) or not given:
            return "This access cannot be given."
        lacking = self.missing(giver, given, path=path)
        return None if lacking is None else f"You can give only what you may do there. {lacking}"

    def may_name(self, issuer: Any, user_id: Any) -> bool:
        """Whether a user may issue agent keys that belong to the user with this primary key.

        What such a key does is put down to that user, so that for others it takes what it takes to
        change them, their password included.
        """
        return user_id is None or user_id == issuer.pk or _may_change_users(issuer)

    def may_sign_as(self, issuer: Any, name: str) -> bool:
        """Whether a user may issue agent keys of this name, which signs what they write.

        That of another user would put it down to them, as `may_name` says.
        """
        users: Any = get_user_model()._base_manager.all()
        users = users.using(router.db_for_read(users.model))
        named_so = users.filter(**{users.model.USERNAME_FIELD: name}).exclude(pk=issuer.pk)
        return _may_change_users(issuer) or not named_so.exists()

    def reaches_any(self, user: Any) -> bool:
        """Whether there is, or will be, a workspace of which a user may know; one statement."""
        if user.pk not in self._reaching:
            reached, names = Q(pk__in=[]), [name for name in PERMISSIONS if name != ADDS]
            workspaces = [self.user_workspaces(user, name) for name in names]
            for found in workspaces:
                if found is not None:
                    reached |= Q(pk__in=found.order_by().values("pk"))
            is_anywhere = None in workspaces or self.everywhere(user, ADDS)
            self._reaching[user.pk] = is_anywhere or Workspace.objects.filter(reached).exists()
        return self._reaching[user.pk]

    def may_begin(self, caller: Any, path: str) -> bool:
        """Whether the first write may be the caller's: the workspace is there, or they may make it.

        That of a key is there.
        """
        if isinstance(caller, AgentKey) or self.user_may(caller, ADDS, path):
            return True
        return self.is_there(path)

    def is_there(self, path: str) -> bool:
        """Whether there is a workspace at the path; where a grant was found, nothing is asked."""
        if any(found for (_, at), found in self._accesses.items() if at == path):
            return True
        rows = Workspace.objects.using(router.db_for_write(Workspace))
        return rows.filter(path=path).exists()

    # What a site may decide otherwise

    def user_may(self, user: Any, permission: str, path: str) -> bool:
        """Whether a user has the permission in the workspace at `path`."""
        if self.everywhere(user, permission):
            return True
        if permission in OF_CREDENTIALS:
            return self._holds(user, permission, path) and self.user_may(user, _VIEW, path)
        # Nobody is given the right to make workspaces in a workspace.
        if not user.is_active or permission == ADDS or not _is_path(path):
            return False
        if any(permission in permissions_of_grant(access) for access in self._given(user, path)):
            return True
        return self._by_object(user, permission, path)

    def user_workspaces(self, user: Any, permission: str) -> QuerySet[Workspace] | None:
        """Return the workspaces in which `user_may`; None for every one, whatever will be."""
        if self.everywhere(user, permission):
            return None
        if permission in OF_CREDENTIALS:
            return self._workspaces_with_credentials(user, permission)
        workspaces = Workspace.objects.all()
        if not user.is_active or permission == ADDS:
            return workspaces.none()
        grants = Grant.objects.of(user).order_by()
        allowing = [a for a in Grant.Access.values if permission in permissions_of_grant(a)]
        granted = Q(pk__in=grants.filter(access__in=allowing).values("workspace"))
        by_object = Q(pk__in=self.object_workspaces(user, permission).order_by().values("pk"))
        return workspaces.filter(granted | by_object)

    def object_workspaces(self, user: Any, permission: str) -> QuerySet[Workspace]:
        """Return the workspaces on which the user has the permission as an object permission: none.

        Django can ask a backend about one object, but not which ones there are. A site whose
        backend knows says so here, of the permission itself and of `permissions_giving` it; else
        its object permissions count where a workspace is named, and no list shows it.
        """
        return Workspace.objects.none()

    # How

    def _holds(self, user: Any, permission: str, path: str) -> bool:
        """Whether Django's backends give the user this one, for all or on the workspace."""
        if self._has(user, permission, None):
            return True
        return bool(user.is_active and _is_path(path)) and self._by_object(user, permission, path)

    def _by_object(self, user: Any, permission: str, path: str) -> bool:
        """Whether a backend gives the user the permission on the workspace at `path`.

        Where the policy can say which ones there are, one statement asks, whether or not there is a
        workspace: what takes longer for those that exist tells that they do.
        """
        if type(self).object_workspaces is not Policy.object_workspaces:
            return self.object_workspaces(user, permission).filter(path=path).exists()
        workspace = self._workspace(path)
        return workspace is not None and self._has(user, permission, workspace)

    def _workspaces_with_credentials(
        self, user: Any, permission: str
    ) -> QuerySet[Workspace] | None:
        viewed = self.user_workspaces(user, _VIEW)
        if not user.is_active or self._has(user, permission, None):
            return viewed
        by_object = self.object_workspaces(user, permission).order_by()
        return by_object if viewed is None else viewed.filter(pk__in=by_object.values("pk"))

    def _has(self, user: Any, permission: str, workspace: Workspace | None) -> bool:
        """Whether Django's backends say so, of the permission or of one that gives it."""
        names = dict.fromkeys((permission, *permissions_giving(permission)))
        if user.is_active:
            read_at_once(user)
        return bool(user.is_active) and any(user.has_perm(named(n), workspace) for n in names)

    def _missing_of_user(
        self, user: Any, permissions: tuple[str, ...], path: str | None
    ) -> str | None:
        if path is not None:
            lacking = (name for name in permissions if not self.user_may(user, name, path))
            name = next(lacking, None)
        elif self._somewhere(user, permissions):
            name = None
        else:
            firsts = (permissions[:count] for count in range(1, len(permissions) + 1))
            name = next(some for some in firsts if not self._somewhere(user, some))[-1]
        return None if name is None else f"You lack the permission {named(name)}."

    def _somewhere(self, user: Any, permissions: tuple[str, ...]) -> bool:
        """Whether there is a workspace in which the user has all of these."""
        if all(self.everywhere(user, permission) for permission in permissions):
            return True
        asked = (user.pk, permissions)
        if asked not in self._anywhere:
            rows = Workspace.objects.order_by()
            reached = self.visible(user, rows, workspace="pk", permissions=permissions)
            self._anywhere[asked] = reached.exists()
        return self._anywhere[asked]

    def _missing_of_key(self, key: AgentKey, tool: ToolSpec) -> str | None:
        if not tool.read_only and key.access != AgentKey.Access.READ_WRITE:
            return f"This agent key has read access only; {tool.name} needs read-write access."
        listed = not tool.optional if key.tools is None else _lists(key.tools, tool)
        return None if listed else f"This agent key does not include the tool {tool.name}."

    def _given(self, user: Any, path: str) -> list[str]:
        """Return the accesses that grants give the user, in one statement."""
        asked = (user.pk, path)
        if asked not in self._accesses:
            grants = Grant.objects.of(user).filter(workspace__path=path).order_by()
            self._accesses[asked] = list(grants.values_list("access", flat=True))
        return self._accesses[asked]

    def _workspace(self, path: str) -> Workspace | None:
        if path not in self._found:
            self._found[path] = Workspace.objects.filter(path=path).first()
        return self._found[path]


def _with_the_view(permission: str) -> tuple[str, ...]:
    return (permission, _VIEW) if permission in OF_CREDENTIALS else (permission,)


def _may_change_users(user: Any) -> bool:
    opts = get_user_model()._meta
    change = f"{opts.app_label}.{get_permission_codename('change', opts)}"
    return bool(user.is_active and user.has_perm(change))


def _lists(tools: object, tool: ToolSpec) -> bool:
    return isinstance(tools, list) and tool.name in tools


def _is_path(path: str) -> bool:
    try:
        gate.check_path(path)
    except Refused:
        return False
    return True
