"""What a request says: its JSON body, its query, its preconditions; read strictly or refused.

The body is read from the stream, with our own limit: neither Django's
`DATA_UPLOAD_MAX_MEMORY_SIZE` nor what REST framework makes of it takes part.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import parse_qsl

from django.core.exceptions import ValidationError
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from django.http.request import UnreadablePostError
from rest_framework.exceptions import APIException, UnsupportedMediaType
from rest_framework.parsers import BaseParser

from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Refused
from django_agent_memory.text import gate

_MOST_PARAMETERS = 100
_LARGEST_NUMBER = 10**18 - 1
_LARGEST_KEY = 2**63 - 1  # what the databases hold
_DRAINED_AT_A_TIME = 65_536
_DRAINED_LIMITS = 4
_BROKEN_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_SESSION = re.compile(r"[\x21-\x2b\x2d-\x7e]{1,200}")
_IF_MATCH = re.compile(r'\s*"(\d{1,19})"\s*')


class LengthRequired(APIException):
    """The body has no length and the server does not hand over bodies without one."""

    status_code = 411
    default_code = "length_required"


class JSONParser(BaseParser):
    """The only parser of every endpoint: reads `request.data` the way `read_json` does."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        """Return the JSON body of the request in `parser_context`."""
        return read_json(parser_context["request"]._request)


def read_json(request: HttpRequest, *, unique_names: bool = False) -> Any:
    """Return the parsed JSON body, {} without one; `unique_names` is that of `gate.parse_json`.

    Raises `TooLarge` over `conf.max_request_bytes` (before reading, if the length is declared),
    `UnsupportedMediaType` for anything but plain UTF-8 JSON by its headers, `Refused` for what is
    not UTF-8 or not JSON, `UnreadablePostError` for a body that ends too early. A UTF-8 byte order
    mark is skipped.
    """
    _check_size(request, _declared_length(request))
    raw = _read(request)
    if len(raw) < _declared_length(request):
        raise UnreadablePostError("shorter than declared")
    if not raw:
        return {}
    check_media_type(request)
    _check_size(request, len(raw))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"The request body is not UTF-8 (byte {error.start}).") from None
    return gate.parse_json(text, unique_names=unique_names)


def check_media_type(request: HttpRequest) -> None:
    """Raise `UnsupportedMediaType` unless the headers declare JSON, in UTF-8, not compressed."""
    kind = request.content_type or ""
    if kind not in ("", "application/json"):
        _refuse_type(kind, "Send the body as JSON, with Content-Type: application/json.")
    charset = (request.content_params or {}).get("charset", "utf-8")
    if charset.lower() not in ("utf-8", "utf8", "us-ascii"):
        _refuse_type(kind, "Send the body in UTF-8, the only charset that is read.")
    if request.META.get("HTTP_CONTENT_ENCODING", "identity").lower() != "identity":
        _refuse_type(kind, "Send the body without a Content-Encoding; it is not unpacked.")


def read_query(request: HttpRequest) -> dict[str, str]:
    """Return the query parameters; raises `Refused` for one given twice and for broken escapes.

    Nothing is decoded leniently: a key with a replacement character in it would be another key.
    """
    raw = request.META.get("QUERY_STRING", "")
    if not raw:
        return {}
    if _BROKEN_ESCAPE.search(raw):
        raise Refused("The query string has a '%' without two hexadecimal digits behind it.")
    try:
        if isinstance(request, WSGIRequest):
            raw = raw.encode("latin-1").decode()
        pairs = parse_qsl(
            raw, keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS
        )
    except UnicodeError:
        raise Refused("The query string is not UTF-8.") from None
    except ValueError:
        raise Refused(f"The query has more than {_MOST_PARAMETERS} parameters.") from None
    query = dict(pairs)
    if len(query) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Refused(f"The query parameter '{twice[:64]}' is given more than once.")
    return query


def refuse_query(request: HttpRequest) -> None:
    """Raise `Refused` for any query parameter, where an address takes none."""
    for name in read_query(request):
        raise Refused(f"The query parameter '{name[:64]}' is unknown; this address takes none.")


def refuse_precondition(request: HttpRequest) -> None:
    """Raise `Refused` for an `If-Match` where there is no revision to match."""
    if "HTTP_IF_MATCH" in request.META:
        raise Refused("If-Match is for notes; what is at this address has no revision.")


def read_fields(data: object, *, required: Collection[str], optional: Collection[str]) -> Any:
    """Return the JSON object `data`; raises `Refused` for missing and for unknown fields."""
    if not isinstance(data, dict):
        raise Refused("The request body must be a JSON object.")
    for name in data:
        if name not in required and name not in optional:
            known = ", ".join([*required, *optional]) or "none"
            raise Refused(f"The field '{name[:64]}' is unknown; the fields are: {known}.")
    for name in required:
        if name not in data:
            raise Refused(f"The field '{name}' is missing.")
    return data


def expected_revision(request: HttpRequest, fields: Mapping[str, Any]) -> Any:
    """Return the revision a write expects, from `If-Match` or the field `expected_revision`.

    None if neither is given. Raises `Refused` if they differ. The field is checked by the write.
    """
    header = request.META.get("HTTP_IF_MATCH")
    in_body = fields.get("expected_revision")
    if header is None:
        return in_body
    matched = _IF_MATCH.fullmatch(header)
    if matched is None:
        raise Refused('If-Match must be one revision number in quotes, such as "3".')
    number = int(matched[1])
    if in_body is not None and (type(in_body) is not int or in_body != number):
        raise Refused("If-Match and expected_revision differ; send one of them.")
    return number


def call_name(request: HttpRequest) -> str | None:
    """Return the `Idempotency-Key`, quoted or bare, None without one; its use checks the rest.

    Raises `Refused` for what may be two of them: servers join headers by a comma.
    """
    header = request.headers.get("Idempotency-Key")
    if header is None:
        return None
    name, separator = header.strip(), ","
    if len(name) >= 2 and name[0] == name[-1] == '"':
        name, separator = name[1:-1], '"'
    if separator in name:
        raise Refused("Idempotency-Key must be one name; one with a comma stands in quotes.")
    return name


def session_name(request: HttpRequest) -> str | None:
    """Return the `Memory-Session`, None without one; raises `Refused` for a malformed one."""
    name = request.headers.get("Memory-Session")
    if name is not None and not _SESSION.fullmatch(name):
        raise Refused("Memory-Session must be 1 to 200 visible ASCII characters, no comma.")
    return name


def refuse_session(request: HttpRequest) -> None:
    """Raise `Refused` for a `Memory-Session` where it would be ignored, and trusted."""
    if "Memory-Session" in request.headers:
        raise Refused("Memory-Session is not for this address, which shows what all share.")


def refuse_call_name(request: HttpRequest) -> None:
    """Raise `Refused` for an `Idempotency-Key` where it would be ignored, and trusted."""
    if "Idempotency-Key" in request.headers:
        raise Refused(
            "Idempotency-Key is for tools/, values/, apply/, restore/ and end-session/; "
            "this address does not take it."
        )


def whole_number(digits: str, *, name: str) -> int:
    """Return the number of a query parameter; raises `Refused` for anything but 1 to 18 digits."""
    if not re.fullmatch("[0-9]{1,18}", digits):
        raise Refused(f"{name} must be a whole number from 0 to {_LARGEST_NUMBER}.")
    return int(digits)


def primary_key(model: Any, value: object, *, name: str) -> Any:
    """Return the value as a primary key of the model; raises `Refused` for what can be none."""
    if isinstance(value, (str, int)) and not isinstance(value, bool) and len(str(value)) <= 200:
        try:
            if gate.is_storable(str(value)):
                key = model._meta.pk.to_python(value)
                # Python reads " 5", "+5" and "0_5" as 5 too.
                if not isinstance(key, int) or (
                    0 <= key <= _LARGEST_KEY and str(key) == str(value)
                ):
                    return key
        except ValidationError:
            pass
    raise Refused(f"{name} must be the id of a {name}.")


def number(digits: str, *, name: str) -> float:
    """Return the number of a query parameter, of at least 0, such as 2 or 0.5."""
    if not re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,18})?", digits):
        raise Refused(f"{name} must be a number such as 2 or 0.5.")
    return float(digits)


def declares_body(request: HttpRequest) -> bool:
    """Whether the headers say that a body comes."""
    return _declared_length(request) > 0 or "HTTP_TRANSFER_ENCODING" in request.META


def _declared_length(request: HttpRequest) -> int:
    digits = request.META.get("CONTENT_LENGTH") or "0"
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def _read(request: HttpRequest) -> bytes:
    """Read one byte more than is allowed at most."""
    return _take(request, conf.max_request_bytes + 1)


def _take(request: HttpRequest, size: int) -> bytes:
    """Read up to so many bytes of the body, whether or not it has a length."""
    chunked = "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH")
    if chunked and isinstance(request, WSGIRequest):
        # Django reads a body without a length as empty; some servers say where it ends.
        if not request.META.get("wsgi.input_terminated"):
            raise LengthRequired("Send the body with a Content-Length.")
        return _from_server(request.META["wsgi.input"], size)
    return bytes(request.read(size))


def _from_server(stream: Any, size: int) -> bytes:
    try:
        return bytes(stream.read(size))
    except Exception as error:
        # Each server has exceptions of its own for a body that is broken or cut.
        raise UnreadablePostError(*error.args) from error


def _check_size(request: HttpRequest, size: int) -> None:
    limit = conf.max_request_bytes
    if size > limit:
        _drain(request, size)
    gate.check_length(size, name="request body", limit=limit, unit="bytes")


def _drain(request: HttpRequest, size: int) -> None:
    """Take in what is moderately too large: closed on unread data, the client sees no answer."""
    left = _DRAINED_LIMITS * conf.max_request_bytes
    if size > left:
        return
    while left > 0:
        chunk = _take(request, min(left, _DRAINED_AT_A_TIME))
        if not chunk:
            return
        left -= len(chunk)


def _refuse_type(kind: str, sentence: str) -> None:
    raise UnsupportedMediaType(kind, detail=sentence)
