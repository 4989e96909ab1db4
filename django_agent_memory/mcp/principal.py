"""Who calls, as the engine asks of it: one workspace, the tools in it, the memory behind them."""

from __future__ import annotations

from typing import Protocol

from django_agent_memory.exceptions import NotAllowed
from django_agent_memory.journal import Calls
from django_agent_memory.memory import Memory
from django_agent_memory.tools import TOOLS, Toolset, ToolSpec


class Principal(Protocol):
    """A caller in one workspace, who may read its index."""

    @property
    def memory(self) -> Memory:
        """The memory of the workspace."""

    @property
    def call_name(self) -> str | None:
        """The idempotency key that the transport carried, None for none."""

    def tools(self) -> list[ToolSpec]:
        """Return the tools that the caller is told of."""

    def memory_for(self, spec: ToolSpec, call_name: str | None = None) -> Memory:
        """Return the memory to call the tool on, or raise `NotAllowed`.

        Its calls are recorded under `call_name`, if there is one.
        """


class LocalPrincipal:
    """Whoever started the server on their own machine: all the tools of `Memory.tools`, or these.

    Raises ValueError for a name that no tool has, and for one that writes where it is read-only.
    """

    call_name = None

    def __init__(
        self,
        path: str,
        actor: str,
        *,
        only: list[str] | None = None,
        read_only: bool = False,
    ) -> None:
        self.memory = Memory(path, actor=actor, read_only=read_only)
        self._names = Toolset(self.memory, only).names

    def tools(self) -> list[ToolSpec]:
        """Return the tools in the order in which models are told of them."""
        return [TOOLS[name] for name in self._names]

    def memory_for(self, spec: ToolSpec, call_name: str | None = None) -> Memory:
        """Return the memory, or raise `NotAllowed` for a tool that was not chosen."""
        if spec.name not in self._names:
            raise NotAllowed(f"This server does not include the tool {spec.name}.")
        if call_name is None:
            return self.memory
        kept = self.memory
        calls = Calls(f"actor:{kept.actor}", name=call_name)
        return Memory(kept.path, actor=kept.actor, read_only=kept.read_only, calls=calls)
