"""Changes to a workspace itself: what people call it, and its index budget."""

from __future__ import annotations

from typing import TypedDict, Unpack

from django.db import IntegrityError, router, transaction
from django.utils import timezone

from django_agent_memory.exceptions import Conflict, Refused
from django_agent_memory.models import Workspace
from django_agent_memory.models.workspace import new_index_version
from django_agent_memory.text import gate

from .locking import lock, run_serialised

MAX_TITLE_LENGTH = 200
MAX_DESCRIPTION_LENGTH = 10_000
MAX_BUDGET = 2_147_483_647


class WorkspaceValues(TypedDict, total=False):
    """What can be set: title ≤ 200 cp, description ≤ 10,000 cp, index budget in cp or None."""

    title: str
    description: str
    index_budget: int | None


def configure(
    path: str, *, using: str | None = None, **values: Unpack[WorkspaceValues]
) -> Workspace:
    """Set the values given, making the workspace if it is missing, and return it.

    A new budget is a new index text. Raises `Refused` and `Busy`.
    """
    gate.check_path(path)
    _check(values)
    alias = using or router.db_for_write(Workspace)

    def write() -> Workspace:
        workspace = lock(path, using=alias, create=True)
        assert workspace is not None  # noqa: S101  (it was made if it was missing)
        _set(workspace, values)
        return workspace

    return run_serialised(alias, write)


def create_workspace(
    path: str, *, using: str | None = None, **values: Unpack[WorkspaceValues]
) -> Workspace:
    """Make the workspace with these values and return it.

    Raises `Conflict` if there is one, also of two who make it at once; `Refused` and `Busy`.
    """
    gate.check_path(path)
    _check(values)
    alias = using or router.db_for_write(Workspace)
    workspaces = Workspace.objects.using(alias)

    def write() -> Workspace | None:
        try:
            with transaction.atomic(using=alias):
                return workspaces.create(path=path, **values)
        except IntegrityError:
            return None

    made = run_serialised(alias, write)
    if made is None:
        raise Conflict(
            "There is a workspace with this path already; change it instead.",
            current_revision=workspaces.last_revision(path),
        )
    return made


def _set(workspace: Workspace, values: WorkspaceValues) -> None:
    changed = {name for name, value in values.items() if getattr(workspace, name) != value}
    if not changed:
        return
    for name, value in values.items():
        setattr(workspace, name, value)
    if "index_budget" in changed:
        workspace.index_version = new_index_version()
    workspace.updated_at = timezone.now()
    workspace.save(update_fields=[*changed, "index_version", "updated_at"])


def _check(values: WorkspaceValues) -> None:
    unknown = values.keys() - WorkspaceValues.__annotations__
    if unknown:
        raise TypeError(f"A workspace has no {min(unknown)!r} to set.")
    if "title" in values:
        gate.check_text(values["title"], name="title", limit=MAX_TITLE_LENGTH)
    if "description" in values:
        gate.check_text(values["description"], name="description", limit=MAX_DESCRIPTION_LENGTH)
    budget = values.get("index_budget")
    if budget is not None and (type(budget) is not int or not 0 <= budget <= MAX_BUDGET):
        raise Refused(f"The index budget must be a whole number from 0 to {MAX_BUDGET}, or null.")
