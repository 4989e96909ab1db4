"""The pieces that schemas are made of. A schema is a JSON schema, as OpenAPI 3.1 has it."""

from __future__ import annotations

from typing import Any, NamedTuple

from django_agent_memory.conf import conf
from django_agent_memory.text import gate
from django_agent_memory.writing.details import (
    MAX_CONTEXT_LENGTH,
    MAX_CONTEXTS,
    MAX_NAME_LENGTH,
    MAX_SUBJECT_LENGTH,
)

Schema = dict[str, Any]

PREFIX = "Memory"
"""Of every component, so that none takes the name of one of the site's own."""

# One line of text: no control characters but tab and newline.
_LINE = r"^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f]+$"
_PATH = "^[A-Za-z0-9_.@+-]+(/[A-Za-z0-9_.@+-]+)*$"


class Limits(NamedTuple):
    """The site's limits that the description tells."""

    key: int
    summary: int
    body: int


def current_limits() -> Limits:
    """Return what the settings say now."""
    return Limits(conf.max_key_length, conf.max_summary_length, conf.max_body_length)


def ref(name: str) -> Schema:
    """Return a reference to a schema among the components."""
    return {"$ref": f"#/components/schemas/{PREFIX}{name}"}


def text(description: str = "", **terms: Any) -> Schema:
    """Return the schema of a string."""
    return said({"type": "string", **terms}, description)


def integer(description: str = "", **terms: Any) -> Schema:
    """Return the schema of a whole number of at least 0."""
    return said({"type": "integer", "minimum": 0, **terms}, description)


def number(description: str = "", **terms: Any) -> Schema:
    """Return the schema of a number."""
    return said({"type": "number", **terms}, description)


def boolean(description: str = "") -> Schema:
    """Return the schema of true and false."""
    return said({"type": "boolean"}, description)


def moment(description: str = "") -> Schema:
    """Return the schema of a time with its offset."""
    return text(description, format="date-time")


def anything(description: str = "") -> Schema:
    """Return the schema of any JSON value."""
    return said({}, description)


def primary_key() -> Schema:
    """Return the schema of the primary key of a user or group, whatever it is on the site."""
    return {"anyOf": [integer(), text()]}


def listed(items: Schema, description: str = "", **terms: Any) -> Schema:
    """Return the schema of a list."""
    return said({"type": "array", "items": items, **terms}, description)


def nullable(schema: Schema) -> Schema:
    """Return the schema that takes null too."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if "type" not in schema:
        return schema
    return {**schema, "type": [schema["type"], "null"]}


def record(
    properties: dict[str, Schema], *, optional: tuple[str, ...] = (), **terms: Any
) -> Schema:
    """Return the schema of an object in an answer; all of its fields are there but `optional`."""
    required = [name for name in properties if name not in optional]
    shape: Schema = {"type": "object", "properties": properties}
    return {**shape, **({"required": required} if required else {}), **terms}


def fields(properties: dict[str, Schema], *, required: tuple[str, ...], **terms: Any) -> Schema:
    """Return the schema of an object in a request, which takes no other fields."""
    optional = tuple(name for name in properties if name not in required)
    return record(properties, optional=optional, additionalProperties=False, **terms)


def key(limits: Limits, description: str = "A path-like name such as user/name.") -> Schema:
    """Return the schema of a key."""
    return text(description, minLength=1, maxLength=limits.key, pattern=_LINE)


def path(description: str = "The path of a workspace, such as core or tenant-7/ann.") -> Schema:
    """Return the schema of a workspace's path."""
    return text(description, minLength=1, maxLength=gate.MAX_PATH_LENGTH, pattern=_PATH)


def summary(limits: Limits) -> Schema:
    """Return the schema of a summary."""
    return text("One line; without it the note is not in the index.", maxLength=limits.summary)


def name(description: str) -> Schema:
    """Return the schema of a kind or slot."""
    return text(description, maxLength=MAX_NAME_LENGTH)


def label(description: str) -> Schema:
    """Return the schema of a subject, source or actor."""
    return text(description, maxLength=MAX_SUBJECT_LENGTH)


def contexts(description: str) -> Schema:
    """Return the schema of one context or several."""
    one = {"type": "string", "minLength": 1, "maxLength": MAX_CONTEXT_LENGTH, "pattern": _LINE}
    several = {"type": "array", "items": one, "maxItems": MAX_CONTEXTS}
    return said({"anyOf": [one, several]}, description)


def said(schema: Schema, description: str) -> Schema:
    """Return the schema with the description, if there is one."""
    return {**schema, "description": description} if description else schema
