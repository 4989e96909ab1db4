"""Every operation there is, found by its view: tools, resources, and those that stand alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django_agent_memory.api.applying import MOST_CHANGES, ApplyView
from django_agent_memory.api.composing import ComposeView
from django_agent_memory.api.index import IndexView
from django_agent_memory.api.past import AsOfView, HistoryView, RestoreView, RollbackView
from django_agent_memory.api.resources import Resource
from django_agent_memory.api.sessions import EndSessionView
from django_agent_memory.api.stats import StatsView
from django_agent_memory.api.tools import ToolsView, ToolView
from django_agent_memory.api.values import ValuesView
from django_agent_memory.tools import STYLES
from django_agent_memory.tools.knowledge import MOST_FOUND

from . import parts
from .components import expected, known
from .lists import reason, resource_operation
from .operation import Operation, Query
from .parts import Limits, Schema, anything, integer, moment, nullable, number, ref, text
from .tools import tool_operation

_REVISION_SHOWN = ("Workspace-Revision", "WorkspaceRevision")


def operation_of(view: Any, method: str, path: str, limits: Limits) -> Operation | None:
    """Return what the view does by the method at this path; None where that is always refused.

    Raises `LookupError` where nothing is known of it.
    """
    kind = type(view)
    if issubclass(kind, Resource):
        return resource_operation(kind, view.action, limits)
    if issubclass(kind, ToolView):
        tool = path.rstrip("/").rpartition("/")[2]
        found = tool_operation(tool, method, limits)
    else:
        found = _STANDING_ALONE[kind, method](limits)
    if "{workspace}" in path:
        return found and found.named("_in_workspace")
    # It is for users, who have to name a workspace.
    return None if kind is RollbackView else found


def _tools(limits: Limits) -> Operation:
    return Operation(
        id="list_tools",
        summary="The tools of this credential",
        tag="Tools",
        description="Each with the JSON schema of its arguments, for the model.",
        answers=("Tools", "ToolsOfStyle"),
        query={"style": Query(schema=text("As models of this take them.", enum=list(STYLES)))},
        writes=False,
    )


def _index(limits: Limits) -> Operation:
    return Operation(
        id="index",
        summary="The text for the model's context",
        tag="Index",
        description="The text itself; with Accept: application/json the text and its sizes.",
        answers=("Index",),
        headers=(("ETag", "IndexTag"), _REVISION_SHOWN),
        writes=False,
        is_index=True,
    )


def _stats(limits: Limits) -> Operation:
    return Operation(
        id="stats",
        summary="What the index costs on every turn, and what it gains a day",
        tag="Index",
        answers=("Stats",),
        headers=(_REVISION_SHOWN,),
        writes=False,
    )


def _apply(limits: Limits) -> Operation:
    changes = parts.listed(
        {"anyOf": [ref(f"{op}Change") for op in ("Save", "Store", "Drop", "Restore")]},
        "Done in order, all of them or none.",
        minItems=1,
        maxItems=MOST_CHANGES,
    )
    return Operation(
        id="apply",
        summary="Several changes at once",
        tag="Several changes",
        answers=("Outcomes",),
        body=parts.fields({"changes": changes, "reason": reason()}, required=("changes",)),
        body_name="Changes",
        example={
            "changes": [
                {"op": "save", "key": "team/rota", "summary": "Who is on call", "body": ["Ada"]},
                {"op": "drop", "key": "user/tea", "expected_revision": 1},
            ],
            "reason": "Tidied up.",
        },
        problems=(410,),
    )


def _compose(limits: Limits) -> Operation:
    details = known(limits)
    filters: dict[str, Schema] = {
        "slot": details["slot"],
        "context": details["context"],
        "kind": details["kind"],
        "subject": details["subject"],
        "source": details["source"],
        "key_prefix": text(maxLength=limits.key),
        "min_weight": number(minimum=0),
        "limit": integer("Most to find; 10 without.", minimum=1, maximum=MOST_FOUND),
    }
    prompt = text("What to ask, and to find by.", maxLength=limits.body)
    free = {name: nullable(schema) for name, schema in filters.items()}
    return Operation(
        id="compose",
        summary="A prompt with what is known in front of it",
        tag="Prompts",
        answers=("Composed",),
        body=parts.fields({"prompt": prompt, **free}, required=("prompt",)),
        body_name="Composition",
        example={"prompt": "Which tea, and with sugar?", "limit": 1},
    )


def _get_values(limits: Limits) -> Operation:
    one = parts.key(limits, "The key of one value, which is answered alone.")
    prefix = text("Only values whose key starts with this.", maxLength=limits.key)
    return Operation(
        id="get_values",
        summary="One value, or all that a prefix has",
        tag="Values",
        answers=("Value", "Values"),
        query={"key": Query(schema=one, example="user/tea"), "prefix": Query(schema=prefix)},
        headers=(_REVISION_SHOWN,),
        writes=False,
    )


def _set_value(limits: Limits) -> Operation:
    properties = {
        "key": parts.key(limits),
        "value": anything("Any JSON value."),
        "expected_revision": expected(),
        "reason": reason(),
    }
    return Operation(
        id="set_value",
        summary="Set a value",
        tag="Values",
        answers=("ValueSet",),
        body=parts.fields(properties, required=("key", "value")),
        body_name="NewValue",
        example={"key": "theme", "value": {"dark": True}},
        conditional=True,
        headers=(_REVISION_SHOWN,),
    )


def _set_value_by_post(limits: Limits) -> Operation:
    return _set_value(limits).named("_by_post")


def _delete_value(limits: Limits) -> Operation:
    whole = parts.path("In place of a key: the workspace's own path, to forget all of its notes.")
    return Operation(
        id="delete_value",
        summary="Delete a value, or all",
        tag="Values",
        description="The fields may stand in a JSON body instead.",
        answers=("ValueDeleted", "ValuesCleared"),
        query={
            "key": Query(schema=parts.key(limits), example="user/tea"),
            "clear": Query(schema=whole),
            "expected_revision": Query(schema=integer(maximum=10**18 - 1)),
            "reason": Query(schema=reason()),
        },
        conditional=True,
        headers=(_REVISION_SHOWN,),
    )


def _history(limits: Limits) -> Operation:
    return Operation(
        id="history",
        summary="Every revision of a key",
        tag="The past",
        answers=("History",),
        query={"key": Query(schema=parts.key(limits), required=True, example="user/tea")},
        writes=False,
    )


def _as_of(limits: Limits) -> Operation:
    number_of = integer("The moment as a revision number.", maximum=10**18 - 1)
    return Operation(
        id="as_of",
        summary="The memory as it was, or one key of it",
        tag="The past",
        description="Either revision or at says when.",
        answers=("StateThen", "NoteThen", "NoNoteThen"),
        query={
            "revision": Query(schema=number_of, example=1),
            "at": Query(schema=moment("The moment as a time.")),
            "key": Query(schema=parts.key(limits, "Only what this key said."), example="user/tea"),
        },
        problems=(410,),
        writes=False,
    )


def _restore(limits: Limits) -> Operation:
    properties = {
        "key": parts.key(limits),
        "revision": integer("As of which the key is to say what it said; 0 for nothing."),
        "expected_revision": expected(),
        "reason": reason(),
    }
    return Operation(
        id="restore",
        summary="Bring back what a key said",
        tag="The past",
        answers=("Restored",),
        body=parts.fields(properties, required=("key", "revision")),
        body_name="Restoration",
        example={"key": "user/tea", "revision": 1, "reason": "It was right."},
        conditional=True,
        problems=(410,),
    )


def _rollback(limits: Limits) -> Operation:
    since = {"anyOf": [integer(), moment()]}
    properties = {
        "actor": parts.label("Whose writes are undone."),
        "since": parts.said(since, "From this revision number or time on."),
        "reason": reason(),
    }
    return Operation(
        id="rollback",
        summary="Undo what an actor wrote",
        tag="The past",
        description="Keys that others wrote since are left alone.",
        answers=("RolledBack",),
        body=parts.fields(properties, required=("actor", "since")),
        body_name="Rollback",
        example={"actor": "scribe", "since": 1, "reason": "It went astray."},
        problems=(409, 410),
        for_users=True,
    )


def _end_session(limits: Limits) -> Operation:
    return Operation(
        id="end_session",
        summary="Forget what a session has to itself",
        tag="Sessions",
        description="The header Memory-Session names it.",
        answers=("SessionEnded",),
    )


_STANDING_ALONE: dict[tuple[type[Any], str], Callable[[Limits], Operation]] = {
    (ToolsView, "get"): _tools,
    (IndexView, "get"): _index,
    (StatsView, "get"): _stats,
    (ApplyView, "post"): _apply,
    (ComposeView, "post"): _compose,
    (ValuesView, "get"): _get_values,
    (ValuesView, "put"): _set_value,
    (ValuesView, "post"): _set_value_by_post,
    (ValuesView, "delete"): _delete_value,
    (HistoryView, "get"): _history,
    (AsOfView, "get"): _as_of,
    (RestoreView, "post"): _restore,
    (RollbackView, "post"): _rollback,
    (EndSessionView, "post"): _end_session,
}
