"""Tags that put what a memory knows into a Django template.

The memory is the variable `memory` of the template (a `Memory`, or the path of a workspace), or the
argument `memory=…`. Each tag returns text, which `as` keeps in a variable. In an HTML page it is
escaped, as everything a page shows; in a prompt it must not be: `prompts.from_template` renders
without escaping.
"""

from __future__ import annotations

from typing import Any

from django import template

from django_agent_memory import prompts
from django_agent_memory.exceptions import Refused
from django_agent_memory.memory import Memory

register = template.Library()


@register.simple_tag(takes_context=True)
def memory_index(context: template.Context, /, memory: Memory | str | None = None) -> str:
    """`{% memory_index %}`: the index, as it goes into the model's context on every turn."""
    return _memory(context, memory).index_note()


@register.simple_tag(takes_context=True)
def memory_slot(
    context: template.Context, /, slot: str, memory: Memory | str | None = None, **filters: Any
) -> str:
    """`{% memory_slot "system" min_weight=2 %}`: the notes of a slot, one a line.

    The arguments are the filters of `prompts.ask`; an empty one finds nothing.
    """
    found = prompts.ask(_memory(context, memory), slot=slot, **filters)
    return prompts.content(found)


@register.simple_tag(takes_context=True)
def memory_find(
    context: template.Context,
    /,
    query: str | None,
    memory: Memory | str | None = None,
    **filters: Any,
) -> str:
    """`{% memory_find question limit=5 context=path %}`: what is found by a query, one a line.

    A blank query, and one that is None, finds nothing, as an empty filter does.
    """
    asked = "" if query is None else query
    return prompts.content(prompts.ask(_memory(context, memory), asked, **filters))


def _memory(context: template.Context, named: Memory | str | None) -> Memory:
    """Return the memory that a tag is about; raises `Refused` where the template has none."""
    memory = named if named is not None else context.get("memory")
    if isinstance(memory, str) and memory:
        return Memory(memory, read_only=True)
    if not isinstance(memory, Memory):
        raise Refused("The template has no memory; give it one under the name 'memory'.")
    return memory
