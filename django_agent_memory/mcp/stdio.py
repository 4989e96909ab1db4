"""The engine on standard input and output: a message a line, for agents on the same machine."""

from __future__ import annotations

import logging
from typing import IO, Any

from django.db import OperationalError, close_old_connections

from django_agent_memory.conf import conf
from django_agent_memory.encoding import encode
from django_agent_memory.exceptions import Refused, TooLarge
from django_agent_memory.text import gate
from django_agent_memory.writing.locking import is_contention

from .engine import handle
from .envelope import id_in
from .principal import Principal
from .wire import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, Json, failure

_FAILED = "The server failed to answer; its log says why. Try again later."
_BUSY = "The database is busy and could not be read. Try the same call again in a moment."
_logger = logging.getLogger("django_agent_memory.mcp")


def serve(source: IO[bytes], sink: IO[bytes], principal: Principal) -> None:
    """Answer every line of `source` on `sink`, until it ends.

    Between two messages the connections to the database are kept as between two requests.
    """
    while line := _line(source):
        if not line.strip():
            continue
        close_old_connections()
        answer = _answer(line, principal)
        close_old_connections()
        if answer is not None:
            sink.write(encode(answer) + b"\n")
            sink.flush()


def _line(source: IO[bytes]) -> bytes:
    """Return the next line; of one that is over the limit, the start that shows that it is."""
    limit = conf.max_request_bytes + 2
    line = rest = source.readline(limit)
    while len(rest) == limit and not rest.endswith(b"\n"):
        rest = source.readline(limit)
    return line


def _answer(line: bytes, principal: Principal) -> Json | None:
    try:
        message = _message(line.rstrip(b"\r\n"))
    except Refused as error:
        code = INVALID_REQUEST if isinstance(error, TooLarge) else PARSE_ERROR
        return failure(None, code, str(error), {"code": error.code})
    try:
        return handle(message, None, principal)[1]
    except OperationalError as error:
        if is_contention(error):
            return failure(id_in(message), INTERNAL_ERROR, _BUSY, {"code": "busy"})
        return _unforeseen(message, error)
    except Exception as error:  # noqa: BLE001  (it is logged, and the server lives on)
        return _unforeseen(message, error)


def _message(line: bytes) -> Any:
    gate.check_length(len(line), name="message", limit=conf.max_request_bytes, unit="bytes")
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise Refused(f"The message is not UTF-8 (byte {error.start}).") from None
    return gate.parse_json(text)


def _unforeseen(message: Any, error: Exception) -> Json:
    _logger.error("A message could not be answered.", exc_info=error)
    return failure(id_in(message), INTERNAL_ERROR, _FAILED, {"code": "internal_error"})
