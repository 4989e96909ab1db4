"""Sources at start-up: after `migrate`, those that the setting AGENT_MEMORY_RUN_SOURCES names.

Not when a process starts: a site has many processes and one `migrate` a deployment, which comes
when the tables are there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from django.db import connections, router

from django_agent_memory.conf import conf
from django_agent_memory.exceptions import AgentMemoryError
from django_agent_memory.models import Note

from .registry import chosen
from .running import Failed, attempt


def after_migrate(
    *,
    using: str,
    verbosity: int = 1,
    plan: Sequence[tuple[Any, bool]] | None = None,
    **_: Any,
) -> None:
    """Receive `post_migrate`. `flush` sends it too, without a plan, and migrating back: not then.

    A source that fails is said and stops neither the others nor the migration.
    """
    names = conf.run_sources
    migrated_forth = plan is not None and not any(backwards for _migration, backwards in plan)
    if not names or not migrated_forth or using != router.db_for_write(Note):
        return
    if Note._meta.db_table not in connections[using].introspection.table_names():
        return
    for name in names:
        for line in _lines(name):
            if verbosity >= 1:
                sys.stdout.write(f"{line}\n")


def _lines(name: str) -> list[str]:
    try:
        source = chosen(name)
    except AgentMemoryError as error:
        return [str(error)]
    ran = attempt(source)
    return [f"{name}: {ran.sentence}"] if isinstance(ran, Failed) else list(ran.lines())
