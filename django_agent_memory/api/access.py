"""What a caller may do, asked by every endpoint; the policy decides, this asks and raises.

What one may not know of is answered exactly as what does not exist.
"""

from __future__ import annotations

from typing import Any, Protocol

from django.db.models import QuerySet

from django_agent_memory.exceptions import NotAllowed, Refused
from django_agent_memory.journal import Calls
from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey
from django_agent_memory.policy import (
    ADDS,
    Policy,
    current_policy,
    named,
    permissions_of,
    signature_of,
)
from django_agent_memory.tools import ToolSpec

from .problems import no_such_workspace


class Access(Protocol):
    """What the endpoints ask of a credential; `NotAllowed` names what is missing.

    A request is about one workspace once its address or `memory` names one. What was required
    before holds there or raises; what is required of a list, in every row's workspace.
    """

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

    def require_call(self, spec: ToolSpec, memory: Memory, *, is_recorded: bool) -> None:
        """Raise unless the tool may be called on the memory, and what it leaves may be left there.

        A recorded call, be it a read, is recorded in a workspace.
        """

    def require(self, *permissions: str, tool: str | None = None) -> None:
        """Raise unless a user has the permissions, or a key may use the tool.

        Without a tool, every key may read and none may write. Of a request that names no workspace
        (yet), a user has to have the permissions in some workspace.
        """

    def visible(self, rows: QuerySet[Any], workspace: str) -> QuerySet[Any]:
        """Return the rows where all holds that was required; `workspace` looks up theirs."""

    def require_giving(self, access: str, path: str) -> None:
        """Raise `NotAllowed` unless the caller may do all of this access in the workspace."""

    def require_naming(self, user_id: Any, name: str) -> None:
        """Raise `NotAllowed` unless the caller may issue keys of this user, and of this name."""


class _Asking:
    """What keys and users have in common: whoever they are, the policy is asked."""

    def __init__(self, caller: Any, session: str | None, workspace: str | None) -> None:
        self._caller = caller
        self._session = session
        self._path = workspace
        self._policy: Policy = current_policy()
        self._required: list[tuple[tuple[str, ...], str | None]] = []

    def may_use(self, spec: ToolSpec) -> bool:
        """Whether the policy allows the tool."""
        return self._policy.may_use(self._caller, spec, path=self._path)

    def require_tool(self, spec: ToolSpec) -> None:
        """Raise 404 for a foreign workspace, `NotAllowed` for what is missing."""
        self.require(*permissions_of(spec), tool=spec.name)

    def require_call(self, spec: ToolSpec, memory: Memory, *, is_recorded: bool) -> None:
        """Raise what `require_tool` and `require_workspace` raise."""
        self.require_tool(spec)
        if is_recorded or not spec.read_only:
            self.require_workspace(memory)

    def require_workspace(self, memory: Memory) -> None:
        """Raise `NotAllowed` where the first write would make a workspace that one may not make."""
        if not self._policy.may_begin(self._caller, memory.path):
            raise NotAllowed(
                f"There is no such workspace yet, and you lack the permission {named(ADDS)}."
            )

    def require(self, *permissions: str, tool: str | None = None) -> None:
        """Raise 404 for a foreign workspace, `NotAllowed` for what is missing."""
        self._required.append((permissions, tool))
        self._check_known()
        self._check(permissions, tool)

    def visible(self, rows: QuerySet[Any], workspace: str) -> QuerySet[Any]:
        """Return the rows that the policy shows."""
        names = dict.fromkeys(name for permissions, _ in self._required for name in permissions)
        return self._policy.visible(
            self._caller, rows, workspace=workspace, permissions=tuple(names)
        )

    def require_giving(self, access: str, path: str) -> None:
        """Raise `NotAllowed` for what the caller may not do."""
        lacking = self._policy.missing_to_give(self._caller, access, path=path)
        if lacking is not None:
            raise NotAllowed(lacking)

    def require_naming(self, user_id: Any, name: str) -> None:
        """Raise `NotAllowed` for another user, but of those who may change users."""
        if not self._policy.may_name(self._caller, user_id):
            raise NotAllowed("The key of another user takes the permission to change users.")
        if not self._policy.may_sign_as(self._caller, name):
            raise NotAllowed("A user has this name, which would sign what the key writes.")

    def _enter(self, path: str) -> None:
        """Let the request be about this workspace, with all that was required before."""
        self._path = path
        self._check_known()
        for permissions, tool in self._required:
            self._check(permissions, tool)

    def _check_known(self) -> None:
        if self._path is not None and not self._policy.knows_of(self._caller, self._path):
            raise no_such_workspace()

    def _check(self, permissions: tuple[str, ...], tool: str | None) -> None:
        lacking = self._policy.missing(self._caller, permissions, path=self._path, tool=tool)
        if lacking is not None:
            raise NotAllowed(lacking)


class KeyAccess(_Asking):
    """An agent key: its workspace and no other."""

    def __init__(self, key: AgentKey, session: str | None, workspace: str | None) -> None:
        super().__init__(key, session, key.workspace.path if workspace is None else workspace)
        self._key = key

    @property
    def workspace_revision(self) -> int | None:
        """The revision its workspace had when the request came in."""
        return self._key.workspace.revision

    def memory(self, path: str | None, *, place: str = "", call_name: str | None = None) -> Memory:
        """Return the memory of the key's workspace; the key's name signs what it writes."""
        self._enter(self._key.workspace.path if path is None else path)
        caller = f"key:{self._key.caller_id}"
        calls = Calls(caller, name=call_name) if call_name is not None else None
        session = _scoped(caller, self._session)
        actor = signature_of(self._key)
        return Memory(self._key.workspace, actor=actor, session=session, calls=calls)


class UserAccess(_Asking):
    """A logged-in user: the workspaces that the policy lets them reach."""

    @property
    def workspace_revision(self) -> int | None:
        """None: a user reaches several workspaces."""
        return None

    def memory(self, path: str | None, *, place: str = "", call_name: str | None = None) -> Memory:
        """Return the memory at `path`, which a user has to name; the username signs the writes."""
        if path is None:
            raise Refused(f"A user has to name the workspace: {place}.")
        caller = f"user:{self._caller.pk}"
        calls = Calls(caller, name=call_name) if call_name is not None else None
        actor = signature_of(self._caller)
        memory = Memory(path, actor=actor, session=_scoped(caller, self._session), calls=calls)
        self._enter(memory.path)
        return memory


def _scoped(caller: str, session: str | None) -> str | None:
    """Return a session's name as that of this credential: no other one reaches it by its name."""
    return None if session is None else f"{caller}:{session}"
