"""Two tools that only read, there only if asked for: history and index."""

from __future__ import annotations

from django_agent_memory.memory import Memory
from django_agent_memory.text import rendering

from . import answers
from .core import KEY
from .spec import Answer, ToolSpec

MOST_REVISIONS = 20


def _history(memory: Memory, key: str) -> Answer:
    revisions = memory.history(key)
    shown = revisions[-MOST_REVISIONS:]
    return Answer(
        text=rendering.history_answer(key, memory.lines_of(shown), len(revisions)),
        data={
            "key": key,
            "revisions": [
                {
                    "number": revised.number,
                    "operation": revised.operation,
                    "summary": revised.summary,
                    "body": revised.body,
                    "actor": revised.actor,
                    "reason": revised.reason,
                    "created_at": revised.created_at,
                }
                for revised in shown
            ],
            "total": len(revisions),
            "shown": len(shown),
            "workspace_revision": memory.revision(),
        },
    )


def _index(memory: Memory) -> Answer:
    index = memory.index()
    return Answer(
        text=index.text or rendering.memory_list([]),
        data={"lines": index.lines, "workspace_revision": index.workspace_revision},
    )


READING: tuple[ToolSpec, ...] = (
    ToolSpec(
        name="history",
        description=(
            "Show how the memory under a key came to be: what it said before, when, and who "
            f"changed it. One line each, oldest first, the last {MOST_REVISIONS}."
        ),
        parameters=(KEY,),
        optional=True,
        answers=answers.HISTORY,
        run=_history,
    ),
    ToolSpec(
        name="index",
        description=(
            "Show the memory index: one line for every memory that has a summary. For agents "
            "whose context does not hold it already."
        ),
        optional=True,
        answers=answers.INDEX,
        run=_index,
    ),
)
