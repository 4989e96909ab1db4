"""One message in, one answer out: the same for every transport.

Nothing is kept between two messages. A request that says its protocol version in `_meta` is a
modern one; all others come from clients that shook hands, or are about to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django_agent_memory.exceptions import AgentMemoryError, Busy

from . import completion, discovery, prompts, resources, tools
from .envelope import Headers, check_modern, check_notification, id_in, is_modern, opened
from .principal import Principal
from .wire import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Json,
    ProtocolError,
    failure,
    status_of,
    success,
)

_METHODS: dict[str, Callable[[Json, Principal], Json]] = {
    "tools/list": tools.list_tools,
    "tools/call": tools.call_tool,
    "resources/list": resources.list_resources,
    "resources/templates/list": resources.list_templates,
    "resources/read": resources.read_resource,
    "prompts/list": prompts.list_prompts,
    "prompts/get": prompts.get_prompt,
    "completion/complete": completion.complete,
}
_MODERN = {"server/discover": discovery.discover, **_METHODS}
_HANDSHAKE = {"initialize": discovery.initialize, "ping": discovery.ping, **_METHODS}


def handle(message: Any, headers: Headers, principal: Principal) -> tuple[int, Json | None]:
    """Answer a decoded message: return the status for HTTP and the response, None for none.

    `headers` are those of HTTP, by names in any case; None where the transport has none. What a
    client sent raises nothing; what the database raises goes through.
    """
    modern = is_modern(message, headers)
    try:
        id_, method, params = opened(message)
        if id_ is None:
            check_notification(headers)
            return 202, None
        if modern:
            check_modern(method, params, headers)
        result = _called(method, params, principal, modern=modern)
    except ProtocolError as error:
        code = error.code if modern else error.before
        return status_of(code, modern=modern), failure(id_in(message), code, str(error), error.data)
    return 200, success(id_, method, result, modern=modern)


def _called(method: str, params: Json, principal: Principal, *, modern: bool) -> Json:
    call = (_MODERN if modern else _HANDSHAKE).get(method)
    if call is None:
        raise ProtocolError(METHOD_NOT_FOUND, f"There is no method '{method[:64]}'.")
    try:
        return call(params, principal)
    except AgentMemoryError as error:
        code = INTERNAL_ERROR if isinstance(error, Busy) else INVALID_PARAMS
        raise ProtocolError(code, str(error), data={"code": error.code}) from error
