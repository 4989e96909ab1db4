"""The one prompt: the index, for clients that let a person put it into a conversation."""

from __future__ import annotations

from django_agent_memory.text import rendering

from .principal import Principal
from .wire import INVALID_PARAMS, Json, ProtocolError, check_cursor, text_of

NAME = "memory_index"
_DESCRIPTION = "What is remembered: one line for each memory, its key and summary."


def list_prompts(params: Json, _principal: Principal) -> Json:
    """Answer `prompts/list`."""
    check_cursor(params)
    return {"prompts": [{"name": NAME, "title": "Memory index", "description": _DESCRIPTION}]}


def get_prompt(params: Json, principal: Principal) -> Json:
    """Answer `prompts/get` with the index as it is now."""
    name = text_of(params, "name")
    if name != NAME:
        raise ProtocolError(INVALID_PARAMS, f"There is no prompt '{name[:64]}', only {NAME}.")
    if params.get("arguments") not in (None, {}):
        raise ProtocolError(INVALID_PARAMS, f"The prompt {NAME} takes no arguments.")
    text = principal.memory.index_note() or rendering.memory_list([])
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": _DESCRIPTION, "messages": [message]}
