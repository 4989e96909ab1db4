"""What the processes of the crew do with the store; Django is set up before this runs."""

from __future__ import annotations

EACH = 4


def put_many(worker: int, root: str) -> list[str]:
    """Put into a namespace that all share; return the errors."""
    from django_agent_memory.adapters.langgraph import AgentMemoryStore

    store = AgentMemoryStore(root, actor=f"worker-{worker}")
    errors = []
    for number in range(EACH):
        try:
            store.put(("shared",), f"w{worker}/n{number}", {"worker": worker, "number": number})
            store.put(("shared",), "one", {"content": f"{worker} {number}"})
        except Exception as error:  # noqa: BLE001  (the test shows it)
            errors.append(repr(error))
    return errors
