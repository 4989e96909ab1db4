"""The tools as operations: arguments from their `ToolSpec`, one operation each."""

from __future__ import annotations

from django_agent_memory.tools import TOOLS, Parameter, ToolSpec

from . import parts
from .components import expected, known
from .operation import Operation, Query
from .parts import Limits, Schema, anything, boolean, integer, nullable, number, text

# What each tool answers, and an example of its arguments.
_ANSWERS: dict[str, tuple[str, ...]] = {
    "remember": ("ToolWritten",),
    "recall": ("ToolRecalled", "ToolUnknown"),
    "forget": ("ToolForgot",),
    "list_memories": ("ToolListing",),
    "search": ("ToolMatches",),
    "store": ("ToolWritten",),
    "find": ("ToolFinding",),
    "forget_matching": ("ToolForgotten",),
    "history": ("ToolHistory",),
    "index": ("ToolIndex",),
}
# Other addresses have their names.
_IDS = {"history": "history_tool", "index": "index_tool"}
_EXAMPLES: dict[str, dict[str, object]] = {
    "remember": {
        "key": "user/name",
        "summary": "Name is Alice; say Ali",
        "body": "Alice Liddell, prefers Ali.",
    },
    "recall": {"key": "user/tea"},
    "forget": {"key": "user/tea"},
    "list_memories": {},
    "search": {"pattern": "SUGAR"},
    "store": {"content": "Ann is allergic to nuts.", "subject": "Ann", "context": "kitchen"},
    "find": {"query": "What tea does she drink?", "limit": 3},
    "forget_matching": {"query": "sugar"},
    "history": {"key": "user/tea"},
    "index": {},
}
_SHOWN: dict[str, dict[str, object]] = {
    "remember": {
        "text": 'saved "user/name".',
        "key": "user/name",
        "outcome": "created",
        "revision": 2,
        "workspace_revision": 2,
    },
    "forget": {
        "text": 'forgot "user/tea" — its summary and its note are both gone.',
        "key": "user/tea",
        "outcome": "forgot",
        "workspace_revision": 2,
        "revision": 2,
    },
    "list_memories": {
        "text": "- user/tea: Green tea, never coffee",
        "memories": [{"key": "user/tea", "summary": "Green tea, never coffee"}],
        "total": 1,
        "workspace_revision": 1,
    },
    "search": {
        "text": "- user/tea: Green tea, never coffee\n  No sugar.",
        "pattern": "SUGAR",
        "matches": [
            {
                "key": "user/tea",
                "summary": "Green tea, never coffee",
                "excerpt": "No sugar.",
                "excerpt_cut": False,
            }
        ],
        "total": 1,
        "shown": 1,
        "workspace_revision": 1,
    },
}
_KINDS: dict[str, Schema] = {
    "string": text(),
    "moment": text(),
    "boolean": boolean(),
    "integer": integer(),
    "number": number(),
    "any": anything(),
}


def tool_operation(tool: str, method: str, limits: Limits) -> Operation | None:
    """Return what the method does with the tool; None for a GET of one that writes."""
    spec = TOOLS[tool]
    if method == "get" and not spec.read_only:
        return None
    operation = Operation(
        id=_IDS.get(tool, tool),
        summary=f"The tool {tool}",
        tag="Tools",
        description=spec.description,
        answers=_ANSWERS[tool],
        body=_arguments(spec, limits),
        body_name=f"{tool.title().replace('_', '')}Arguments",
        body_required=any(parameter.required for parameter in spec.parameters),
        example=_EXAMPLES[tool],
        shown=_SHOWN.get(tool),
        conditional=any(p.name == "expected_revision" for p in spec.parameters),
        writes=True,
    )
    return operation if method == "post" else _by_get(operation, spec, limits)


def _by_get(operation: Operation, spec: ToolSpec, limits: Limits) -> Operation:
    asked = {
        parameter.name: Query(
            schema=_in_query(parameter, limits),
            required=parameter.required,
            example=_EXAMPLES[spec.name].get(parameter.name),
        )
        for parameter in spec.parameters
    }
    return Operation(
        id=f"{operation.id}_by_get",
        summary=f"{operation.summary}, its arguments in the query",
        tag=operation.tag,
        description=operation.description,
        answers=operation.answers,
        shown=operation.shown,
        query=asked,
        writes=False,
    )


def _arguments(spec: ToolSpec, limits: Limits) -> Schema:
    """Return the schema of all arguments, also of those that no model is told of."""
    properties = {parameter.name: _argument(parameter, limits) for parameter in spec.parameters}
    required = tuple(parameter.name for parameter in spec.parameters if parameter.required)
    return parts.fields(properties, required=required)


def _argument(parameter: Parameter, limits: Limits) -> Schema:
    schema = {**_schema(parameter, limits)}
    if parameter.required:
        schema.update(description=parameter.description)
        return schema
    return {**nullable(schema), "description": parameter.description}


def _in_query(parameter: Parameter, limits: Limits) -> Schema:
    if parameter.kind == "strings":
        return parts.text(parameter.description, minLength=1)
    return {**_schema(parameter, limits), "description": parameter.description}


def _schema(parameter: Parameter, limits: Limits) -> Schema:
    """Return the schema of the kind, with the bounds that the name has."""
    if parameter.kind in ("moment", "any"):
        return _KINDS[parameter.kind]
    bounded = {
        **known(limits),
        "key": parts.key(limits),
        "key_prefix": text(maxLength=limits.key),
        "min_weight": number(minimum=0),
        "limit": integer(minimum=1, maximum=100),
        "expected_revision": expected(),
    }
    schema = bounded.get(parameter.name, _KINDS.get(parameter.kind, text()))
    kind = schema.get("type")
    return {**schema, "type": kind[0]} if isinstance(kind, list) else schema
