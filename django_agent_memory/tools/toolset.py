"""The tools of one memory, for the loop that calls a model."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django_agent_memory.exceptions import AgentMemoryError
from django_agent_memory.text.rendering import sentence
from django_agent_memory.twins import twin

from .dialects import render
from .registry import TOOLS, dispatch
from .spec import Answer, ToolSpec

if TYPE_CHECKING:
    from django_agent_memory.memory import Memory

_logger = logging.getLogger("django_agent_memory.tools")

_FAILED = "error: the memory could not be reached. Try the same call again in a moment."


class Toolset:
    """Tools bound to a memory: `specs` for the model, `call` for what it answers.

    `only` names those it has, the optional ones among them; without, it has the five that every
    memory has. A read-only memory has none that write. Raises ValueError for a name that no tool
    has, and for one that writes where the memory is read-only.
    """

    def __init__(self, memory: Memory, only: Iterable[str] | None = None) -> None:
        self._memory = memory
        self._specs = {spec.name: spec for spec in _chosen(only, read_only=memory.read_only)}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._memory!r}, {', '.join(self._specs) or 'none'})"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in the order in which models are told of them."""
        return tuple(self._specs)

    def specs(self, style: str = "openai") -> list[dict[str, Any]]:
        """Return the tools as `style` has them: openai, openai-chat, anthropic or mcp."""
        return [render(spec, style) for spec in self._specs.values()]

    def answer(self, name: str, arguments: object = None) -> Answer:
        """Return text and fields, or raise an `AgentMemoryError`; None is no arguments."""
        return dispatch(self._memory, name, arguments, among=self._specs)

    def call(self, name: str, arguments: object = None) -> str:
        """Return what the model is to read; never raises.

        `arguments` is a mapping, or the JSON text that some models answer with. What is refused is
        `error: ` and one sentence that a model can act on.
        """
        if not isinstance(name, str) or name not in self._specs:
            # Of what is no string only its type: its text may be endless, or an error.
            named = name[:64] if isinstance(name, str) else type(name).__name__
            return f"error: no such tool {named!r}"
        try:
            return self.answer(name, arguments).text
        except AgentMemoryError as error:
            return f"error: {sentence(str(error))}"
        except Exception as error:
            _logger.error("The tool %s failed.", name, exc_info=error)
            return _FAILED

    acall = twin(call)


def _chosen(only: Iterable[str] | None, *, read_only: bool) -> list[ToolSpec]:
    if only is None:
        return [s for s in TOOLS.values() if not s.optional and (s.read_only or not read_only)]
    names = [only] if isinstance(only, str) else list(only)
    for name in names:
        if not isinstance(name, str) or name not in TOOLS:
            raise ValueError(f"There is no tool {name!r}; the tools are: {', '.join(TOOLS)}.")
        if read_only and not TOOLS[name].read_only:
            raise ValueError(f"The memory is read-only; {name} writes.")
    return [spec for spec in TOOLS.values() if spec.name in names]
