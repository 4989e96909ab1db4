"""An operation, and how OpenAPI writes it down."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from django_agent_memory.api.rendering import JSON

from .parts import PREFIX, Schema, ref
from .shared import (
    CSRF,
    KEY,
    SESSION,
    header,
    header_parameters,
    path_parameters,
    problem_name,
)

_ALWAYS = (400, 401, 403, 404, 413, 415, 429, 500, 503)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query parameter."""

    schema: Schema
    required: bool = False
    example: Any = None

    def as_openapi(self, name: str) -> dict[str, Any]:
        """Return the parameter object."""
        schema = dict(self.schema)
        description = schema.pop("description", "")
        return {
            "name": name,
            "in": "query",
            **({"required": True} if self.required else {}),
            **({"description": description} if description else {}),
            "schema": schema,
            **({} if self.example is None else {"example": self.example}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What one method of one address does.

    `answers` are names of components, one of which is answered with `status` (or one of the other
    `statuses`); `body_name` is what the body's schema is called among them. What the view says of
    itself (sessions, call names) is not repeated here. `problems` are statuses beside those that
    every operation may answer.
    """

    id: str
    summary: str
    tag: str
    answers: tuple[str, ...]
    status: int = 200
    statuses: tuple[int, ...] = ()
    description: str = ""
    query: dict[str, Query] = field(default_factory=dict)
    body: Schema | None = None
    body_name: str = ""
    body_required: bool = True
    example: Any = None
    shown: Any = None
    conditional: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    problems: tuple[int, ...] = ()
    for_users: bool = False
    writes: bool = True
    is_index: bool = False

    def named(self, suffix: str) -> Operation:
        """Return the operation under another name."""
        return replace(self, id=f"{self.id}{suffix}")

    def own_components(self) -> dict[str, Schema]:
        """Return the schema of the body by its full name; all others are shared."""
        return {} if self.body is None else {f"{PREFIX}{self.body_name}": self.body}

    def as_openapi(self, view: type[Any], path: str) -> dict[str, Any]:
        """Return the operation object of this address."""
        parameters = [*path_parameters(path), *self._headers_taken(view)]
        parameters += [asked.as_openapi(name) for name, asked in self.query.items()]
        return {
            "operationId": self.id,
            "summary": self.summary,
            **({"description": self.description} if self.description else {}),
            "tags": [self.tag],
            **({"parameters": parameters} if parameters else {}),
            **({} if self.body is None else {"requestBody": self._request()}),
            "security": self._security(),
            "responses": self._responses(view),
        }

    def _headers_taken(self, view: type[Any]) -> list[Schema]:
        taken = {
            "SessionName": view.takes_sessions,
            "CallName": self._is_named(view),
            "ExpectedRevision": self.conditional,
            "KnownIndex": self.is_index,
        }
        known = header_parameters()
        return [known[name] for name, is_taken in taken.items() if is_taken]

    def _is_named(self, view: type[Any]) -> bool:
        return view.takes_call_names and (self.writes or self.tag == "Tools")

    def _request(self) -> dict[str, Any]:
        shown = {} if self.example is None else {"example": self.example}
        content = {JSON: {"schema": ref(self.body_name), **shown}}
        return {**({"required": True} if self.body_required else {}), "content": content}

    def _security(self) -> list[dict[str, list[str]]]:
        user: dict[str, list[str]] = {SESSION: [], CSRF: []} if self.writes else {SESSION: []}
        return [user] if self.for_users else [{KEY: []}, user]

    def _responses(self, view: type[Any]) -> dict[str, Any]:
        headers = {shown: header(name) for shown, name in self.headers}
        problems = {*_ALWAYS, *self.problems}
        if self._is_named(view):
            headers["Idempotency-Replayed"] = header("Replayed")
            problems |= {409, 422}
        if self.body is not None:
            problems |= {411}
        answered = {
            "description": self.summary,
            **({"headers": headers} if headers else {}),
            "content": self._content(),
        }
        found = {str(status): answered for status in (self.status, *self.statuses)}
        if self.is_index:
            found["304"] = {"description": "The caller has this text.", "headers": headers}
        for status in sorted(problems):
            found[str(status)] = {"$ref": f"#/components/responses/{problem_name(status)}"}
        return found

    def _content(self) -> dict[str, Any]:
        schemas = [ref(name) for name in self.answers]
        schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        shown = {} if self.shown is None else {"example": self.shown}
        content: dict[str, Any] = {JSON: {"schema": schema, **shown}}
        if self.is_index:
            return {"text/plain": {"schema": {"type": "string"}}, **content}
        return content
