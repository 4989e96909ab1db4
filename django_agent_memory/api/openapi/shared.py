"""What many operations share, by name: problems, headers, credentials, parameters."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django_agent_memory.api.codes import CODES
from django_agent_memory.api.problems import PROBLEM_JSON

from .parts import PREFIX, Schema, boolean, integer, path, ref, text

MOST_CALL_NAME = 243
KEY, SESSION, CSRF = f"{PREFIX}AgentKey", f"{PREFIX}Session", f"{PREFIX}Csrf"

_REVISION_TAG = r'^\s*"[0-9]{1,19}"\s*$'


def problem_name(status: int) -> str:
    """Return the name of the answer with this status, such as `MemoryNotFound`."""
    return PREFIX + HTTPStatus(status).phrase.replace(" ", "").replace("-", "")


def responses() -> dict[str, Schema]:
    """Return the answer of each status that is a problem, by its full name."""
    return {problem_name(status): _response(status) for status in sorted(_codes_by_status())}


def headers() -> dict[str, Schema]:
    """Return the headers of answers, by their full names."""
    return {
        f"{PREFIX}RetryAfter": {
            "description": "Seconds to wait before the same request is sent again.",
            "schema": integer(minimum=1),
        },
        f"{PREFIX}Challenge": {
            "description": "Bearer: an agent key is wanted.",
            "schema": text(),
        },
        f"{PREFIX}Replayed": {
            "description": "true where this is the recorded answer to the same call.",
            "schema": boolean(),
        },
        f"{PREFIX}WorkspaceRevision": {
            "description": "The number of the workspace's last write.",
            "schema": integer(),
        },
        f"{PREFIX}IndexTag": {
            "description": "The version of this form of the index, for If-None-Match.",
            "schema": text(),
        },
    }


def header(name: str) -> Schema:
    """Return a reference to a header of answers."""
    return {"$ref": f"#/components/headers/{PREFIX}{name}"}


def header_parameters() -> dict[str, Schema]:
    """Return the headers of requests that many operations take."""
    return {
        "SessionName": _header(
            "Memory-Session",
            "The session of this caller in which the call is made: what it has to itself is seen.",
            text(pattern=r"^[!-+\--~]{1,200}$"),
            example="chat-1",
        ),
        "CallName": _header(
            "Idempotency-Key",
            "Names the call: sent again it is not done again, and answered with the same bytes. A "
            "name with a comma stands in quotes.",
            text(minLength=1, maxLength=MOST_CALL_NAME),
        ),
        "ExpectedRevision": _header(
            "If-Match",
            "The note's last revision as the caller knows it, in quotes; another one is 409.",
            text(pattern=_REVISION_TAG),
        ),
        "KnownIndex": _header("If-None-Match", "The ETag of the text that the caller has.", text()),
    }


def path_parameters(address: str) -> list[Schema]:
    """Return the parameters that stand in the address."""
    said = "The path of the workspace; its slashes may be sent as %2F."
    number = integer("The row's number.", maximum=2**63 - 1)
    known = {"workspace": path(said), "id": number, "pk": number}
    examples: dict[str, Schema] = {"workspace": {"example": "core"}, "id": {"example": 1}}
    return [
        {"name": name, "in": "path", "required": True, "schema": schema, **examples.get(name, {})}
        for name, schema in known.items()
        if f"{{{name}}}" in address
    ]


def credentials(cookie: str, csrf_header: str) -> dict[str, Schema]:
    """Return the ways to authenticate, by their full names; the arguments are Django's settings."""
    return {
        KEY: {
            "type": "http",
            "scheme": "bearer",
            "description": "An agent key (dam_…): one workspace, as its terms allow.",
        },
        SESSION: {
            "type": "apiKey",
            "in": "cookie",
            "name": cookie,
            "description": "A signed-in user of the site, as permissions and grants allow.",
        },
        CSRF: {
            "type": "apiKey",
            "in": "header",
            "name": csrf_header.removeprefix("HTTP_").replace("_", "-"),
            "description": "The CSRF token, which every write of a signed-in user needs.",
        },
    }


def _header(name: str, description: str, schema: Schema, **shown: Any) -> Schema:
    return {"name": name, "in": "header", "description": description, "schema": schema, **shown}


def _codes_by_status() -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for code, (status, _meaning) in CODES.items():
        found.setdefault(status, []).append(code)
    return found


def _response(status: int) -> Schema:
    codes = _codes_by_status()[status]
    extra: dict[str, Schema] = {}
    if status == HTTPStatus.UNAUTHORIZED:
        extra = {"WWW-Authenticate": header("Challenge")}
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        extra = {"Retry-After": header("RetryAfter")}
    return {
        "description": "  \n".join(f"`{code}`: {CODES[code].meaning}" for code in codes),
        **({"headers": extra} if extra else {}),
        "content": {PROBLEM_JSON: {"schema": ref("Problem"), "example": _example(status)}},
    }


def _example(status: int) -> dict[str, Any]:
    code = _codes_by_status()[status][0]
    shown = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": CODES[code].meaning,
        "code": code,
    }
    return {**shown, "current_revision": 3} if code == "conflict" else shown
