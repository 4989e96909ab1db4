"""A tool as each kind of model is told of it: one `ToolSpec`, four dialects.

Nothing in them is a limit that a dialect would drop: limits are in the descriptions, and looked at
when the tool is called.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .spec import Parameter, ToolSpec

_NULL = {"type": "null"}


def render(spec: ToolSpec, style: str) -> dict[str, Any]:
    """Return the tool in one of the `STYLES`; raises ValueError for another."""
    renderer = _RENDERERS.get(style)
    if renderer is None:
        raise ValueError(f"There is no style {style!r}; the styles are: {', '.join(STYLES)}.")
    return renderer(spec)


def _openai(spec: ToolSpec) -> dict[str, Any]:
    """For the Responses API, strict: every argument is required, and what may be missing is null.

    https://platform.openai.com/docs/guides/function-calling
    """
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": _object(spec, _strict, [parameter.name for parameter in spec.shown]),
        "strict": True,
    }


def _openai_chat(spec: ToolSpec) -> dict[str, Any]:
    """For Chat Completions: the same one level deeper."""
    function = {name: value for name, value in _openai(spec).items() if name != "type"}
    return {"type": "function", "function": function}


def _anthropic(spec: ToolSpec) -> dict[str, Any]:
    """For the Messages API. https://docs.claude.com/en/docs/agents-and-tools/tool-use"""
    return {
        "name": spec.name,
        "description": spec.description,
        "input_schema": _object(spec, _texts, spec.required),
    }


def _mcp(spec: ToolSpec) -> dict[str, Any]:
    """For `tools/list` of the Model Context Protocol.

    No write destroys anything: what is replaced or forgotten is a revision that can be restored. A
    write that comes again changes nothing more.
    """
    return {
        "name": spec.name,
        "title": spec.name.replace("_", " ").capitalize(),
        "description": spec.description,
        "inputSchema": _object(spec, _plain, spec.required),
        "outputSchema": copy.deepcopy(spec.answers),
        "annotations": {
            "readOnlyHint": spec.read_only,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }


def _object(
    spec: ToolSpec, render_one: Callable[[Parameter], dict[str, Any]], required: list[str]
) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {parameter.name: render_one(parameter) for parameter in spec.shown},
        "required": required,
        "additionalProperties": False,
    }


def _plain(parameter: Parameter) -> dict[str, Any]:
    return parameter.as_schema()


def _texts(parameter: Parameter) -> dict[str, Any]:
    """Of any JSON value, which these dialects have no schema for, the text."""
    if parameter.kind == "any":
        return {"type": "string", "description": parameter.description}
    return parameter.as_schema()


def _strict(parameter: Parameter) -> dict[str, Any]:
    schema = _texts(parameter)
    if parameter.required:
        return schema
    description = schema.pop("description")
    return {"anyOf": [schema, _NULL], "description": description}


_RENDERERS: dict[str, Callable[[ToolSpec], dict[str, Any]]] = {
    "openai": _openai,
    "openai-chat": _openai_chat,
    "anthropic": _anthropic,
    "mcp": _mcp,
}
STYLES = tuple(_RENDERERS)
