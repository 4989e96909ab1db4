"""Changes to a workspace itself: what people call it, and its index budget."""

from __future__ import annotations

from typing import Any

from django.db import router
from django.utils import timezone

from django_agent_memory.exceptions import Refused
from django_agent_memory.models import Workspace
from django_agent_memory.models.workspace import new_index_version
from django_agent_memory.text import gate

from .locking import lock, run_serialised

_UNSET: Any = object()
_MAX_TITLE_LENGTH = 200
_MAX_DESCRIPTION_LENGTH = 10_000
_MAX_BUDGET = 2_147_483_647


def configure(
    path: str,
    *,
    title: str = _UNSET,
    description: str = _UNSET,
    index_budget: int | None = _UNSET,
    using: str | None = None,
) -> Workspace:
    """Set what is given, making the workspace if it is missing, and return it.

    `title` ≤ 200 cp, `description` ≤ 10,000 cp, `index_budget` in cp or None for none. A new budget
    is a new index text. Raises `Refused` and `Busy`.
    """
    gate.check_path(path)
    given = {"title": title, "description": description, "index_budget": index_budget}
    values = {name: value for name, value in given.items() if value is not _UNSET}
    _check(values)
    alias = using or router.db_for_write(Workspace)

    def write() -> Workspace:
        workspace = lock(path, using=alias, create=True)
        assert workspace is not None  # noqa: S101  (it was just made)
        changed = {k: v for k, v in values.items() if getattr(workspace, k) != v}
        if changed:
            if "index_budget" in changed:
                changed["index_version"] = new_index_version()
            changed["updated_at"] = timezone.now()
            for name, value in changed.items():
                setattr(workspace, name, value)
            workspace.save(using=alias, update_fields=changed)
        return workspace

    return run_serialised(alias, write)


def _check(values: dict[str, Any]) -> None:
    if "title" in values:
        gate.check_text(values["title"], name="title", limit=_MAX_TITLE_LENGTH)
    if "description" in values:
        gate.check_text(values["description"], name="description", limit=_MAX_DESCRIPTION_LENGTH)
    budget = values.get("index_budget")
    if budget is not None and (type(budget) is not int or not 0 <= budget <= _MAX_BUDGET):
        raise Refused(f"The index budget must be a whole number from 0 to {_MAX_BUDGET}, or null.")
