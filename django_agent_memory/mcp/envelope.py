"""What a message says of itself, before anything is done: is it one, which era, does it agree."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from .wire import (
    CLIENT_CAPABILITIES,
    HANDSHAKE,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MODERN,
    NAMED_BY,
    PROTOCOL_VERSION,
    Id,
    Json,
    ProtocolError,
    unsupported,
)

Headers = Mapping[str, str] | None
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")
_VERSION_HEADER = "MCP-Protocol-Version"


def id_in(message: Any) -> Id | None:
    """Return the id of a request, None where there is none that an answer could carry."""
    id_ = message.get("id") if isinstance(message, dict) else None
    return id_ if type(id_) in (str, int) else None


def opened(message: Any) -> tuple[Id | None, str, Json]:
    """Return id, method and params of a request, or raise; a notification has the id None."""
    if isinstance(message, list):
        raise _malformed("Send one message; batches are not taken.")
    if not isinstance(message, dict):
        raise _malformed("A message must be a JSON object.")
    if message.get("jsonrpc") != "2.0":
        raise _malformed('A message must have "jsonrpc": "2.0".')
    if not isinstance(message.get("method"), str):
        raise _malformed("A message must have a method, which is a string.")
    if "id" in message and id_in(message) is None:
        raise _malformed("The id must be a string or a whole number.")
    params = message.get("params")
    if params is not None and not isinstance(params, dict):
        raise _malformed("The params must be an object.")
    return id_in(message), message["method"], params or {}


def is_modern(message: Any, headers: Headers) -> bool:
    """Whether the client speaks without a handshake, or claims to."""
    if not isinstance(message, dict):
        return False
    if headers is None and message.get("method") == "initialize":
        # On a pipe, a client that tried the other era before may still say so.
        return False
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if isinstance(meta, dict) and PROTOCOL_VERSION in meta:
        return True
    version = headers.get(_VERSION_HEADER) if headers is not None else None
    if version is not None and message.get("method") != "initialize":
        return version not in HANDSHAKE
    return message.get("method") == "server/discover"


def check_notification(headers: Headers) -> None:
    """Raise for a version that is not served; a notification asks for nothing else."""
    version = headers.get(_VERSION_HEADER) if headers is not None else None
    if version not in (None, MODERN, *HANDSHAKE):
        raise unsupported(str(version))


def check_modern(method: str, params: Json, headers: Headers) -> None:
    """Raise unless a modern request says its version, one that is served, as its headers do."""
    if headers is not None and "_meta" not in params:
        _check_version(headers.get(_VERSION_HEADER, MODERN))
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        raise ProtocolError(INVALID_PARAMS, "The params must have a _meta, which is an object.")
    for name in (PROTOCOL_VERSION, CLIENT_CAPABILITIES):
        if name not in meta:
            raise ProtocolError(INVALID_PARAMS, f"The _meta must have {name}.")
    if headers is not None:
        _check_headers(method, params, meta[PROTOCOL_VERSION], headers)
    if not isinstance(meta[PROTOCOL_VERSION], str):
        raise ProtocolError(INVALID_PARAMS, f"{PROTOCOL_VERSION} must be a string.")
    _check_version(meta[PROTOCOL_VERSION])
    if not isinstance(meta[CLIENT_CAPABILITIES], dict):
        raise ProtocolError(INVALID_PARAMS, f"{CLIENT_CAPABILITIES} must be an object.")


def _check_version(version: str) -> None:
    if version != MODERN:
        raise unsupported(version)


def _check_headers(method: str, params: Json, version: object, headers: Mapping[str, str]) -> None:
    """Raise unless the headers, by which proxies route, say what the body says."""
    said = headers.get(_VERSION_HEADER)
    if said is None or said != version:
        raise _differs(_VERSION_HEADER, PROTOCOL_VERSION)
    if headers.get("Mcp-Method") != method:
        raise _differs("Mcp-Method", "method")
    named_by = NAMED_BY.get(method)
    name = params.get(named_by) if named_by is not None else None
    if name is not None and _decoded(headers.get("Mcp-Name")) != name:
        raise _differs("Mcp-Name", str(named_by))


def _decoded(value: str | None) -> str | None:
    """Return a header's value, which may be UTF-8 in base64; None for none and for a broken one."""
    encoded = _ENCODED.fullmatch(value or "")
    if encoded is None:
        return value
    try:
        raw = base64.b64decode(encoded[1], validate=True)
        text = raw.decode()
    except (binascii.Error, ValueError):
        return None
    # Only the one spelling of it, as no two readers may take a name for two.
    return text if base64.b64encode(raw).decode() == encoded[1] else None


def _malformed(sentence: str) -> ProtocolError:
    return ProtocolError(INVALID_REQUEST, sentence)


def _differs(header: str, member: str) -> ProtocolError:
    return ProtocolError(
        HEADER_MISMATCH, f"The header {header} must be there and equal the {member} of the body."
    )
