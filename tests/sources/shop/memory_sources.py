"""What an app registers; found by its name when sources are asked for."""

from __future__ import annotations

from django_agent_memory.sources import SourceMemory, memory_source

RULES = ["Ask before a refund.", "Never ship on Sundays."]


@memory_source("rules", workspace="shop/rules")
def rules(memory: SourceMemory) -> None:
    """The shop's rules.

    There are few.
    """
    for rule in RULES:
        memory.store(rule, slot="system", weight=2)


@memory_source("anywhere")
def anywhere(memory: SourceMemory) -> None:
    memory.store("It is written.", key="written")
