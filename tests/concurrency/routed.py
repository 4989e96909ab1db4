"""Every verb in a site whose router keeps the memory out of the default database."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.db import connections
from django.test.utils import override_settings

from django_agent_memory import Memory

from .crew import connection_to


class MemoryRouter:
    """Sends the app to the alias `memory`, and nothing else."""

    def db_for_read(self, model: type[Any], **_: Any) -> str | None:
        """Return the alias of the app's models."""
        return "memory" if model._meta.app_label == "agent_memory" else None

    db_for_write = db_for_read


def use_every_verb(worker: int) -> dict[str, Any]:
    """Use the test database as `memory` beside an empty default one; return what was seen."""
    connections.settings["memory"] = connections.settings["default"]
    connections["memory"] = connection_to(connections.settings["memory"], "memory")
    empty = {**connections.settings["default"], "ENGINE": "django.db.backends.sqlite3"}
    connections["default"] = connection_to({**empty, "NAME": ":memory:", "OPTIONS": {}})
    touched: list[str] = []

    def note(execute: Any, sql: str, *rest: Any) -> Any:
        touched.append(sql)
        return execute(sql, *rest)

    with (
        override_settings(DATABASE_ROUTERS=[MemoryRouter()]),
        connections["default"].execute_wrapper(note),
    ):
        return {**_answers(Memory("team/routed")), "statements on default": touched}


def _answers(memory: Memory) -> dict[str, Any]:
    written = [
        memory.remember("fact", "A line", "A body"),
        memory.remember("fact", "A line", "The body"),
        memory.remember("fact", "A line", "The body"),
        memory.remember("gone", "A line", "A body") and memory.forget("gone"),
        memory.forget("gone"),
    ]
    recalled = memory.recall("fact")
    again = async_to_sync(memory.arecall)("fact")
    return {
        "outcomes": [done.outcome for done in written],
        "index": memory.index_note(),
        "body": recalled and recalled.text,
        "async body": again and again.text,
        "found": [match.key for match in memory.search("body").matches],
        "history": [revised.number for revised in memory.history("fact")],
        "title": memory.configure(title="Title").title,
    }
