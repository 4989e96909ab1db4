"""Every tool there is, and the one way to call one by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django_agent_memory.exceptions import Refused

from .core import CORE
from .knowledge import KNOWLEDGE
from .reading import READING
from .spec import Answer, ToolSpec, checked

if TYPE_CHECKING:
    from django_agent_memory.memory import Memory

TOOLS: dict[str, ToolSpec] = {spec.name: spec for spec in (*CORE, *KNOWLEDGE, *READING)}


def dispatch(
    memory: Memory, name: str, arguments: object, *, among: Mapping[str, ToolSpec] = TOOLS
) -> Answer:
    """Call the tool on `memory`. Arguments that come as a JSON string are decoded once.

    Raises `Refused` for a tool that is not `among` those there are and for unfit arguments, and
    whatever the verb raises.
    """
    spec = among.get(name)
    if spec is None:
        # Optional ones are named only to those who asked for them.
        names = [s.name for s in among.values() if among is not TOOLS or not s.optional]
        raise Refused(f"There is no tool '{name[:64]}'; the tools are: {', '.join(names)}.")
    return spec.run(memory, **checked(spec, arguments))
