"""The resources as operations: what their view sets say of themselves, and the bodies of writes.

What is written of agent keys and grants is in `credentials`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from django_agent_memory.api import resources
from django_agent_memory.api.credentials import AgentKeyViewSet, GrantViewSet
from django_agent_memory.api.filters import PAGING
from django_agent_memory.api.pagination import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from django_agent_memory.writing.channel import MAX_REASON_LENGTH
from django_agent_memory.writing.workspaces import (
    MAX_BUDGET,
    MAX_DESCRIPTION_LENGTH,
    MAX_TITLE_LENGTH,
)

from . import parts
from .components import expected, known, row_name
from .credentials import credential_operation
from .operation import Operation, Query
from .parts import Limits, Schema, anything, integer, moment, nullable, text


class Rows(NamedTuple):
    """What the rows of a view set are called, one and several of them."""

    one: str
    several: str
    for_users: bool = False
    shown_to_users_only: bool = False


RESOURCES: dict[type[resources.Resource], Rows] = {
    resources.WorkspaceViewSet: Rows("workspace", "workspaces", for_users=True),
    resources.NoteViewSet: Rows("note", "notes"),
    resources.IndexEntryViewSet: Rows("index_entry", "index_entries"),
    resources.RevisionViewSet: Rows("revision", "revisions"),
    AgentKeyViewSet: Rows("agent_key", "agent_keys", shown_to_users_only=True),
    GrantViewSet: Rows("grant", "grants", shown_to_users_only=True),
}
"""Every view set; `for_users` are those that no agent key may write."""

_SAID = {
    "path": "Of exactly this path.",
    "path_within": "Of this path and all below it.",
    "workspace": "In the workspace of exactly this path.",
    "workspace_within": "In the workspace of this path and all below it.",
    "key": "With exactly this key.",
    "key_prefix": "Whose key starts with this.",
    "search": "That the tool search would find.",
    "actor": "Written by exactly this actor.",
    "context": "Tied to exactly this.",
    "has_summary": "Whether it is in the index.",
    "never_recalled": "Whether it was never recalled, as far as recalls are written.",
    "expired": "Whether it is past its expiry; without this filter none is.",
    "size_min": "With a body of at least so many code points.",
    "size_max": "With a body of at most so many code points.",
}
_SHOWN = {
    "path": "core",
    "path_within": "core",
    "workspace": "core",
    "workspace_within": "core",
    "key": "user/tea",
    "key_prefix": "user/",
    "search": "sugar",
    "operation": "remember",
    "has_summary": "true",
    "size_min": 5,
    "created_after": "2026-01-01T00:00:00Z",
}


def resource_operation(view: type[Any], action: str, limits: Limits) -> Operation:
    """Return what the action of the view set does; raises `LookupError` where that is unknown."""
    rows = RESOURCES[view]
    if rows.shown_to_users_only and action not in ("list", "retrieve"):
        return credential_operation(view, action)
    return _ACTIONS[action](view, rows, limits)


def reason() -> Schema:
    """Return the field `reason`."""
    return text("Why, for the history.", maxLength=MAX_REASON_LENGTH)


def _list(view: type[Any], rows: Rows, limits: Limits) -> Operation:
    return Operation(
        id=f"list_{rows.several}",
        summary=f"List {rows.several}".replace("_", " "),
        tag="Resources",
        description="A page of those that pass every filter that is given.",
        answers=(f"{row_name(view.line)}Page",),
        query={**_filters(view, limits), **_paging(view)},
        writes=False,
        for_users=rows.shown_to_users_only,
    )


def _filters(view: type[Any], limits: Limits) -> dict[str, Query]:
    kinds: dict[str, Schema] = {
        "text": text(minLength=1),
        "any": text(),
        "path": parts.path(""),
        "key": parts.key(limits, ""),
        "key_prefix": text(maxLength=limits.key),
        "moment": moment(),
        "number": integer(maximum=10**18 - 1),
        "person": text(minLength=1, maxLength=200),
        "flag": text(enum=["true", "false"]),
        "name": {**parts.name(""), "minLength": 1},
        "label": {**parts.label(""), "minLength": 1},
        "context": text(minLength=1, maxLength=512),
    }
    return {
        name: Query(
            schema=parts.said(
                text(enum=given.values) if given.kind == "choice" else kinds[given.kind],
                _SAID.get(name, _said_of(name)),
            ),
            example=_SHOWN.get(name),
        )
        for name, given in view.filters.base_filters.items()
    }


def _said_of(name: str) -> str:
    what, _, side = name.rpartition("_")
    if side == "after":
        return f"With {what}_at at this time or later."
    if side == "before":
        return f"With {what}_at before this time."
    return f"With exactly this {name}."


def _paging(view: type[Any]) -> dict[str, Query]:
    names = [name.removeprefix("-") for name in view.orderings]
    both = [sign + name for name in names for sign in ("", "-")]
    size = f"Rows of a page, {DEFAULT_PAGE_SIZE} without; over {MAX_PAGE_SIZE} is {MAX_PAGE_SIZE}."
    described = {
        "cursor": Query(schema=text("Where the page begins, as 'next' has it.", minLength=1)),
        "page_size": Query(schema=integer(size, minimum=1), example=20),
        "ordering": Query(
            schema=text("With - in front descending.", enum=both, default=view.orderings[0]),
            example=both[1],
        ),
    }
    return {name: described[name] for name in PAGING if name in described}


def _retrieve(view: type[Any], rows: Rows, limits: Limits) -> Operation:
    return Operation(
        id=f"get_{rows.one}",
        summary=f"One {rows.one}, whole".replace("_", " "),
        tag="Resources",
        answers=(row_name(view.whole),),
        writes=False,
        for_users=rows.shown_to_users_only,
    )


def _written(view: type[Any]) -> tuple[str, ...]:
    """Return what a write answers: the row, or what a writer who may not read learns of it."""
    return (row_name(view.whole), row_name(view.receipt))


def _create(view: type[Any], rows: Rows, limits: Limits) -> Operation:
    of_workspace = view is resources.WorkspaceViewSet
    return Operation(
        id=f"create_{rows.one}",
        summary=f"Make a {rows.one}",
        tag="Resources",
        description="409 if there is one already.",
        answers=_written(view),
        status=201,
        statuses=() if of_workspace else (200,),
        body=_workspace_body(new=True) if of_workspace else _note_body(limits, new=True),
        body_name="NewWorkspace" if of_workspace else "NewNote",
        example=_NEW_WORKSPACE if of_workspace else _NEW_NOTE,
        conditional=not of_workspace,
        problems=(409,),
        for_users=rows.for_users,
    )


def _update(view: type[Any], rows: Rows, limits: Limits) -> Operation:
    return Operation(
        id=f"replace_{rows.one}",
        summary="Replace summary and body",
        tag="Resources",
        description="What else is known stays unless it is sent.",
        answers=_written(view),
        body=_note_body(limits, required=("body",)),
        body_name="NoteReplacement",
        example={"summary": "Green tea", "body": "No sugar, no milk."},
        conditional=True,
        problems=(409,),
    )


def _partial_update(view: type[Any], rows: Rows, limits: Limits) -> Operation:
    of_workspace = view is resources.WorkspaceViewSet
    return Operation(
        id=f"change_{rows.one}",
        summary=f"Change what is sent of a {rows.one}",
        tag="Resources",
        answers=_written(view),
        body=_workspace_body(new=False) if of_workspace else _note_body(limits),
        body_name="WorkspaceChange" if of_workspace else "NoteChange",
        example={"index_budget": 4000} if of_workspace else {"summary": "Green tea only"},
        conditional=not of_workspace,
        problems=() if of_workspace else (409,),
        for_users=rows.for_users,
    )


def _destroy(view: type[Any], rows: Rows, limits: Limits) -> Operation:
    return Operation(
        id=f"forget_{rows.one}",
        summary=f"Forget a {rows.one}",
        tag="Resources",
        answers=("NoteForgotten",),
        body=parts.fields({"expected_revision": expected(), "reason": reason()}, required=()),
        body_name="NoteForgetting",
        body_required=False,
        example={"reason": "She said so."},
        conditional=True,
        problems=(409,),
    )


_ACTIONS = {
    "list": _list,
    "retrieve": _retrieve,
    "create": _create,
    "update": _update,
    "partial_update": _partial_update,
    "destroy": _destroy,
}
_NEW_WORKSPACE = {"path": "tenant-7/ann", "title": "What Ann knows"}
_NEW_NOTE = {"key": "user/pets", "summary": "Likes cats", "body": "And owls."}


def _workspace_body(*, new: bool) -> Schema:
    properties = {
        "title": text(maxLength=MAX_TITLE_LENGTH),
        "description": text(maxLength=MAX_DESCRIPTION_LENGTH),
        "index_budget": nullable(
            integer("Most characters of the index; null for no limit.", maximum=MAX_BUDGET)
        ),
    }
    if new:
        return parts.fields({"path": parts.path(), **properties}, required=("path",))
    return parts.fields(properties, required=(), minProperties=1)


def _note_body(limits: Limits, *, new: bool = False, required: tuple[str, ...] = ()) -> Schema:
    properties = {
        "body": anything("The whole memory: text, or any JSON value."),
        **known(limits),
        "expected_revision": expected(),
        "reason": reason(),
    }
    if new:
        place = {"workspace": nullable(parts.path("Which a user has to name."))}
        properties = {**place, "key": parts.key(limits), **properties}
        return parts.fields(properties, required=("key", "body"))
    return parts.fields(properties, required=required)
