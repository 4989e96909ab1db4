"""The tools, as this caller has them. What goes wrong inside one is a result that says so."""

from __future__ import annotations

from django_agent_memory.exceptions import AgentMemoryError, Conflict, Refused
from django_agent_memory.text.rendering import sentence
from django_agent_memory.tools import TOOLS, dispatch, render

from .principal import Principal
from .wire import (
    ERROR,
    IDEMPOTENCY_KEY,
    INVALID_PARAMS,
    REPLAYED,
    Json,
    ProtocolError,
    check_cursor,
    meta_of,
    text_of,
)


def list_tools(params: Json, principal: Principal) -> Json:
    """Answer `tools/list` with what the caller may use."""
    check_cursor(params)
    return {"tools": [render(spec, "mcp") for spec in principal.tools()]}


def call_tool(params: Json, principal: Principal) -> Json:
    """Answer `tools/call`: text for the model, the same as fields, or what was refused."""
    name = text_of(params, "name")
    spec = TOOLS.get(name)
    if spec is None:
        names = ", ".join(spec.name for spec in principal.tools()) or "none"
        raise ProtocolError(INVALID_PARAMS, f"There is no tool '{name[:64]}'; yours are: {names}.")
    in_meta = meta_of(params).get(IDEMPOTENCY_KEY)
    arguments = params.get("arguments")
    try:
        memory = principal.memory_for(spec, _call_name(in_meta, principal.call_name))
        answer = dispatch(memory, name, arguments)
    except AgentMemoryError as error:
        return _failed(error)
    result: Json = {
        "content": [{"type": "text", "text": answer.text}],
        "structuredContent": answer.data,
        "isError": False,
    }
    if memory.replayed:
        result["_meta"] = {REPLAYED: True}
    return result


def _call_name(in_meta: object, in_header: str | None) -> str | None:
    """Return the idempotency key, or raise `Refused` for two that differ."""
    if in_meta is None:
        return in_header
    if not isinstance(in_meta, str):
        raise Refused("The idempotency key must be a string.")
    if in_header is not None and in_header != in_meta:
        raise Refused("The idempotency keys in the header and in _meta differ; send one.")
    return in_meta


def _failed(error: AgentMemoryError) -> Json:
    """Return the sentence for the model, which can do better, and the code for programs."""
    about: Json = {"code": error.code}
    if isinstance(error, Conflict):
        about["current_revision"] = error.current_revision
    return {
        "content": [{"type": "text", "text": sentence(str(error))}],
        "isError": True,
        "_meta": {ERROR: about},
    }
