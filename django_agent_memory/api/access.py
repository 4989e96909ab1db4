"""What a caller may do, asked by every endpoint: a key by its own terms, a user by permissions.

Both fail closed. What one may not know of is answered exactly as what does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from django.db import router
from django.db.models import QuerySet

from django_agent_memory.exceptions import NotAllowed, Refused
from django_agent_memory.journal import Calls
from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey, Workspace
from django_agent_memory.tools import TOOLS, ToolSpec
from django_agent_memory.writing import MAX_ACTOR_LENGTH

from .problems import no_such_workspace

_APP = "agent_memory"
_READS = ("view_note",)
_WRITES: dict[str, tuple[str, ...]] = {
    "remember": ("add_note", "change_note"),
    "forget": ("delete_note",),
    "store": ("add_note", "change_note"),
    "forget_matching": ("delete_note",),
}
_ADDS = "add_workspace"
_EVERY_WRITE = ("add_note", "change_note", "delete_note")


class Access(Protocol):
    """What the endpoints ask of a credential; `NotAllowed` names what is missing."""

    @property
    def workspace_revision(self) -> int | None:
        """The revision of the credential's only workspace, None if it reaches several."""

    def memory(self, path: str | None, *, place: str = "", call_name: str | None = None) -> Memory:
        """Return the memory at `path`, or the credential's own; raises 404 for a foreign one.

        It is in the session that the request names, which is the credential's alone.

        `place` is where a caller names the workspace. The calls of the memory are recorded under
        `call_name`, the caller's idempotency key, if there is one.
        """

    def require_workspace(self, memory: Memory) -> None:
        """Raise `NotAllowed` unless the workspace is there, or the caller may make it."""

    def may_use(self, spec: ToolSpec) -> bool:
        """Whether the tool is among those of this credential."""

    def require_tool(self, spec: ToolSpec) -> None:
        """Raise unless `may_use`."""

    def require(self, *permissions: str, tool: str | None = None) -> None:
        """Raise unless a user has the model permissions, or a key may use the tool.

        Without a tool, every key may read and none may write.
        """

    def visible(self, rows: QuerySet[Any], workspace: str) -> QuerySet[Any]:
        """Return the rows that are in reach; `workspace` is the lookup of their workspace."""


@dataclass(frozen=True, slots=True)
class KeyAccess:
    """An agent key: its workspace and no other, its access, its tools."""

    key: AgentKey
    session: str | None = None

    @property
    def workspace_revision(self) -> int | None:
        """The revision its workspace had when the request came in."""
        return self.key.workspace.revision

    def memory(self, path: str | None, *, place: str = "", call_name: str | None = None) -> Memory:
        """Return the memory of the key's workspace; the key's name signs what it writes."""
        if path is not None and path != self.key.workspace.path:
            raise no_such_workspace()
        calls = Calls(f"key:{self.key.pk}", name=call_name) if call_name is not None else None
        session = _scoped(f"key:{self.key.pk}", self.session)
        return Memory(self.key.workspace, actor=self.key.name, session=session, calls=calls)

    def require_workspace(self, memory: Memory) -> None:
        """Do nothing: the key's workspace is there."""

    def may_use(self, spec: ToolSpec) -> bool:
        """Whether its access and its list of tools, if it has one, allow the tool."""
        return (spec.read_only or self._may_write()) and self._lists(spec)

    def require_tool(self, spec: ToolSpec) -> None:
        """Raise `NotAllowed` unless `may_use`."""
        if not spec.read_only and not self._may_write():
            raise NotAllowed(
                f"This agent key has read access only; {spec.name} needs read-write access."
            )
        if not self._lists(spec):
            raise NotAllowed(f"This agent key does not include the tool {spec.name}.")

    def require(self, *permissions: str, tool: str | None = None) -> None:
        """Raise `NotAllowed` unless it may use the tool; without one, any key may read."""
        if tool is not None:
            self.require_tool(TOOLS[tool])
        elif not all(permission.startswith("view_") for permission in permissions):
            raise NotAllowed(
                f"An agent key cannot do this; it takes a user with {_named(permissions[0])}."
            )

    def visible(self, rows: QuerySet[Any], workspace: str) -> QuerySet[Any]:
        """Return the rows of the key's workspace."""
        return rows.filter(**{workspace: self.key.workspace_id})

    def _may_write(self) -> bool:
        return self.key.access == AgentKey.Access.READ_WRITE

    def _lists(self, spec: ToolSpec) -> bool:
        tools = self.key.tools
        if tools is None:
            return not spec.optional
        return isinstance(tools, list) and spec.name in tools


@dataclass(frozen=True, slots=True)
class UserAccess:
    """A logged-in user: every workspace, as far as Django's model permissions go."""

    user: Any
    session: str | None = None

    @property
    def workspace_revision(self) -> int | None:
        """None: a user reaches several workspaces."""
        return None

    def memory(self, path: str | None, *, place: str = "", call_name: str | None = None) -> Memory:
        """Return the memory at `path`, which a user has to name; the username signs the writes."""
        if path is None:
            raise Refused(f"A user has to name the workspace: {place}.")
        calls = Calls(f"user:{self.user.pk}", name=call_name) if call_name is not None else None
        actor = str(self.user.get_username())[:MAX_ACTOR_LENGTH]
        session = _scoped(f"user:{self.user.pk}", self.session)
        return Memory(path, actor=actor, session=session, calls=calls)

    def require_workspace(self, memory: Memory) -> None:
        """Ask for add_workspace where the first write would make the workspace."""
        if self._has(_ADDS):
            return
        rows = Workspace.objects.using(router.db_for_write(Workspace))
        if not rows.filter(path=memory.path).exists():
            raise NotAllowed(
                f"There is no such workspace yet, and you lack the permission {_named(_ADDS)}."
            )

    def may_use(self, spec: ToolSpec) -> bool:
        """Whether the user has every permission that the tool takes; optional ones go unnamed."""
        return not spec.optional and all(self._has(permission) for permission in _permissions(spec))

    def require_tool(self, spec: ToolSpec) -> None:
        """Raise `NotAllowed` unless `may_use`."""
        self.require(*_permissions(spec))

    def require(self, *permissions: str, tool: str | None = None) -> None:
        """Raise `NotAllowed` with the first of the permissions that the user lacks."""
        for permission in permissions:
            if not self._has(permission):
                raise NotAllowed(f"You lack the permission {_named(permission)}.")

    def visible(self, rows: QuerySet[Any], workspace: str) -> QuerySet[Any]:
        """Return all rows: model permissions hold for every workspace."""
        return rows

    def _has(self, permission: str) -> bool:
        return bool(self.user.has_perm(_named(permission)))


def _scoped(caller: str, session: str | None) -> str | None:
    """Return a session's name as that of this credential: no other one reaches it by its name."""
    return None if session is None else f"{caller}:{session}"


def _permissions(spec: ToolSpec) -> tuple[str, ...]:
    return _READS if spec.read_only else _WRITES.get(spec.name, _EVERY_WRITE)


def _named(permission: str) -> str:
    return f"{_APP}.{permission}"
