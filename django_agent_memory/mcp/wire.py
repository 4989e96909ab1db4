"""The shapes on the wire: versions, codes, and what every message, result and error has.

Revision 2026-07-28 has no handshake: each request says its version and what the client can do.
Those before begin with `initialize`. https://modelcontextprotocol.io/specification
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django_agent_memory import __version__
from django_agent_memory.text.rendering import sentence

MODERN = "2026-07-28"
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26")
"""The revisions that begin with `initialize`, newest first."""

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
IDEMPOTENCY_KEY = "django-agent-memory/idempotency-key"
REPLAYED = "django-agent-memory/idempotency-replayed"
ERROR = "django-agent-memory/error"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002
"""Only before 2026-07-28, which says `INVALID_PARAMS`."""
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

_MALFORMED = {PARSE_ERROR: 400, INVALID_REQUEST: 400, UNSUPPORTED_VERSION: 400}
_MODERN_STATUS = {**_MALFORMED, INVALID_PARAMS: 400, HEADER_MISMATCH: 400, METHOD_NOT_FOUND: 404}

_LISTS = 60_000
CACHED_FOR = {
    "server/discover": 3_600_000,
    "tools/list": _LISTS,
    "resources/list": _LISTS,
    "resources/templates/list": _LISTS,
    "resources/read": 0,
    "prompts/list": _LISTS,
}
"""Milliseconds for which a client may keep a result; memories may change at any moment."""

NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that the header `Mcp-Name` repeats."""

Json = dict[str, Any]
Id = str | int


class ProtocolError(Exception):
    """What is answered with a JSON-RPC error: its code, one sentence, and data for programs.

    `before` is the code of the revisions that begin with a handshake, where it is another one.
    """

    def __init__(
        self, code: int, message: str, *, data: Any = None, before: int | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.data = data
        self.before = code if before is None else before


def status_of(code: int, *, modern: bool) -> int:
    """Return the HTTP status of an error; to a client that shook hands, a fit message gets 200."""
    return (_MODERN_STATUS if modern else _MALFORMED).get(code, 200)


def server_info() -> Json:
    """Return who answers."""
    return {"name": "django-agent-memory", "title": "Agent memory", "version": __version__}


def unsupported(requested: str) -> ProtocolError:
    """Return the error for a version that is not served."""
    return ProtocolError(
        UNSUPPORTED_VERSION,
        f"The protocol version {requested[:32]} is not supported; use {MODERN}.",
        data={"supported": [MODERN], "requested": requested[:32]},
    )


def success(id_: Id, method: str, result: Json, *, modern: bool) -> Json:
    """Return the response; a modern one says how it ends, for how long it holds, who answers."""
    if modern:
        result = {**result, "resultType": "complete"}
        if method in CACHED_FOR:
            result |= {"ttlMs": CACHED_FOR[method], "cacheScope": "private"}
        result["_meta"] = {**result.get("_meta", {}), SERVER_INFO: server_info()}
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def failure(id_: Id | None, code: int, message: str, data: Any = None) -> Json:
    """Return the error response; the id is None where the message had none that fits."""
    error = {"code": code, "message": sentence(message)}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": id_, "error": error}


def text_of(params: Mapping[str, Any], name: str) -> str:
    """Return a parameter that has to be a string."""
    value = params.get(name)
    if not isinstance(value, str):
        raise ProtocolError(INVALID_PARAMS, f"The parameter '{name}' must be a string.")
    return value


def object_of(params: Mapping[str, Any], name: str) -> Json:
    """Return a parameter that has to be an object."""
    value = params.get(name)
    if not isinstance(value, dict):
        raise ProtocolError(INVALID_PARAMS, f"The parameter '{name}' must be an object.")
    return value


def meta_of(params: Mapping[str, Any]) -> Json:
    """Return the `_meta` of a request, {} without one."""
    return {} if params.get("_meta") is None else object_of(params, "_meta")


def check_cursor(params: Mapping[str, Any]) -> None:
    """Raise for any cursor: no list here has a second page."""
    if params.get("cursor") is not None:
        raise ProtocolError(INVALID_PARAMS, "There is no such cursor; the list has one page.")
