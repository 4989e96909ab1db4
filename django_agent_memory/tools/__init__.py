"""The tools as models see them, and the one way to call them by name.

A `ToolSpec` is the single source: its schema, its checks and its text come from here for every
edge. No tool has a workspace argument; the memory it is called on is the caller's choice.
"""

from __future__ import annotations

from django_agent_memory.exceptions import Refused
from django_agent_memory.memory import Memory

from .core import CORE
from .knowledge import KNOWLEDGE
from .spec import Answer, Parameter, ToolSpec, checked

__all__ = ["TOOLS", "Answer", "Parameter", "ToolSpec", "dispatch"]

TOOLS: dict[str, ToolSpec] = {spec.name: spec for spec in (*CORE, *KNOWLEDGE)}


def dispatch(memory: Memory, name: str, arguments: object) -> Answer:
    """Call the tool on `memory`. Arguments that come as a JSON string are decoded once.

    Raises `Refused` for an unknown tool and unfit arguments, and whatever the verb raises.
    """
    spec = TOOLS.get(name)
    if spec is None:
        names = [spec.name for spec in TOOLS.values() if not spec.optional]
        raise Refused(f"There is no tool '{name[:64]}'; the tools are: {', '.join(names)}.")
    return spec.run(memory, **checked(spec, arguments))
