"""Sixteen processes put into one namespace at once, and nothing is lost."""

from __future__ import annotations

import pytest

from django_agent_memory import Memory
from django_agent_memory.adapters.langgraph import AgentMemoryStore
from tests.concurrency.crew import Crew

from .langgraph_tasks import EACH, put_many


@pytest.mark.django_db(transaction=True)
def test_sixteen_processes_lose_nothing(crew: Crew) -> None:
    assert crew.run(put_many, "agents") == [[]] * crew.size
    items = AgentMemoryStore("agents").search(("shared",), limit=10_000)
    assert {item.key: item.value for item in items if item.key != "one"} == {
        f"w{worker}/n{number}": {"worker": worker, "number": number}
        for worker in range(crew.size)
        for number in range(EACH)
    }
    memory = Memory("agents/shared")
    # What was overwritten is in the history: every put is there.
    assert len(memory.history("one")) == crew.size * EACH
    assert memory.revision() == 2 * crew.size * EACH
