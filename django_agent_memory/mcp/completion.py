"""Completion of the one variable there is: the key in the address of a note."""

from __future__ import annotations

from django_agent_memory.tools import TOOLS

from .principal import Principal
from .resources import notes_template
from .wire import INVALID_PARAMS, Json, ProtocolError, object_of, text_of

_MOST = 100


def complete(params: Json, principal: Principal) -> Json:
    """Answer `completion/complete` with the first keys that begin as the value does.

    Only for whoever may list the memories; to others nothing is suggested.
    """
    reference, argument = object_of(params, "ref"), object_of(params, "argument")
    variable, start = text_of(argument, "name"), text_of(argument, "value")
    if reference.get("type") != "ref/resource" or reference.get("uri") != notes_template(principal):
        raise ProtocolError(INVALID_PARAMS, "Nothing but the key of a note can be completed.")
    if variable != "key":
        raise ProtocolError(INVALID_PARAMS, "The template has no variable but 'key'.")
    listing = TOOLS["list_memories"]
    if listing not in principal.tools():
        return _completion(())
    return _completion(principal.memory_for(listing).keys(start, limit=_MOST + 1))


def _completion(keys: tuple[str, ...]) -> Json:
    return {"completion": {"values": list(keys[:_MOST]), "hasMore": len(keys) > _MOST}}
