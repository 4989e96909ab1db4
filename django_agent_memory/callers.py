"""A memory and its tools for Python and adapters, as far as the policy lets a caller use them.

`Memory(path)` asks nobody: it is for code that the site trusts. Where a request, a job or a chat is
somebody's, these two ask the policy that HTTP and MCP ask.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .exceptions import NotAllowed, Refused
from .memory import Memory
from .models import AgentKey
from .policy import ADDS, READS, WRITES, Policy, current_policy, named, permissions_of, signature_of
from .text import gate
from .tools import TOOLS, Toolset, ToolSpec


def memory_for(caller: Any, path: str | None = None, **terms: Any) -> Memory:
    """Return the memory at `path` for an `AgentKey` or a user; read-only if they may not write all.

    The path of a key's own workspace is known. What is written is signed by the key's name or the
    username; `terms` are those of `Memory` but `actor` and `read_only`. Raises `NotAllowed` if the
    caller may not read all of it, and for a key that is limited to some tools: see `tools_for`.
    Raises `Refused` for what is no path and who is no caller.
    """
    policy = current_policy()
    path = _known(policy, caller, path)
    if isinstance(caller, AgentKey) and caller.tools is not None:
        raise NotAllowed("This agent key is limited to some tools; use tools_for.")
    _require(policy.missing(caller, READS, path=path))
    # A key that has every tool of its access writes all or nothing: one such tool tells which.
    lacking = policy.missing(caller, WRITES, path=path, tool="forget")
    read_only = lacking is not None or not policy.may_begin(caller, path)
    return Memory(path, actor=signature_of(caller), read_only=read_only, **terms)


def tools_for(
    caller: Any, path: str | None = None, *, only: Iterable[str] | None = None, **terms: Any
) -> Toolset:
    """Return the tools that an `AgentKey` or a user may use in the memory at `path`.

    With `only`, a name or several, they are those named, the optional ones among them; `NotAllowed`
    is raised for one that they may not use, `Refused` for one that there is not. Else as for
    `memory_for`.
    """
    policy = current_policy()
    path = _known(policy, caller, path)
    may_begin = policy.may_begin(caller, path)
    if only is None:
        specs = [spec for spec in TOOLS.values() if policy.may_use(caller, spec, path=path)]
        specs = [spec for spec in specs if spec.read_only or may_begin]
    else:
        specs = _specs_named(only)
        for spec in specs:
            _require(policy.missing(caller, permissions_of(spec), path=path, tool=spec.name))
            if not (spec.read_only or may_begin):
                raise NotAllowed(f"You lack the permission {named(ADDS)}.")
    read_only = all(spec.read_only for spec in specs)
    memory = Memory(path, actor=signature_of(caller), read_only=read_only, **terms)
    return Toolset(memory, [spec.name for spec in specs])


def _known(policy: Policy, caller: Any, path: str | None) -> str:
    """Return the path of a workspace that the caller may know of, or raise what forbids it."""
    if isinstance(caller, AgentKey):
        if not caller.is_usable:
            raise NotAllowed("This agent key is revoked or has expired.")
        path = caller.workspace.path if path is None else path
    elif not hasattr(caller, "get_username"):
        raise Refused("The caller must be an agent key or a user.")
    if path is None:
        raise Refused("A user has to name the workspace.")
    if not policy.knows_of(caller, gate.check_path(path)):
        raise NotAllowed("There is no such workspace.")
    return path


def _specs_named(only: Iterable[str]) -> list[ToolSpec]:
    """Return the tools of these names, each once."""
    if not isinstance(only, Iterable):
        raise Refused("Tools are named by a string or a list of strings.")
    names = [only] if isinstance(only, str) else list(only)
    if not all(isinstance(name, str) and name in TOOLS for name in names):
        raise Refused(f"There is such a tool only: {', '.join(TOOLS)}.")
    return [TOOLS[name] for name in dict.fromkeys(names)]


def _require(lacking: str | None) -> None:
    if lacking is not None:
        raise NotAllowed(lacking)
