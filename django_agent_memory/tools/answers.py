"""What tools answer beside the text, as JSON schemas."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
MOMENT: Schema = {"type": "string", "format": "date-time"}
ANYTHING: Schema = {
    "anyOf": [
        {"type": "string"},
        {"type": "object"},
        {"type": "array"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
    ]
}
"""Any JSON value. Spelled out, as clients that translate schemas may drop or refuse `{}`."""


def maybe(schema: Schema) -> Schema:
    """Return the schema with null."""
    return {"anyOf": [schema, {"type": "null"}]}


def one_of(*values: str) -> Schema:
    """Return the schema of one of these strings."""
    return {"type": "string", "enum": list(values)}


def list_of(schema: Schema) -> Schema:
    """Return the schema of a list of these."""
    return {"type": "array", "items": schema}


def fields(optional: dict[str, Schema] | None = None, /, **required: Schema) -> Schema:
    """Return the schema of an object with exactly these fields."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


REMEMBERED = fields(
    key=TEXT,
    outcome=one_of("created", "replaced", "unchanged"),
    revision=COUNT,
    workspace_revision=COUNT,
)

RECALLED = fields(
    {
        "body": ANYTHING,
        "summary": maybe(TEXT),
        "created_at": MOMENT,
        "updated_at": MOMENT,
        "revision": COUNT,
        "suggestions": list_of(TEXT),
    },
    key=TEXT,
    found=FLAG,
    workspace_revision=COUNT,
)

FORGOT = fields(
    {"revision": COUNT, "suggestions": list_of(TEXT)},
    key=TEXT,
    outcome=one_of("forgot", "was_absent"),
    workspace_revision=COUNT,
)

LISTED = fields(
    memories=list_of(fields(key=TEXT, summary=TEXT)),
    total=COUNT,
    workspace_revision=COUNT,
)

MATCHED = fields(
    pattern=TEXT,
    matches=list_of(fields(key=TEXT, summary=maybe(TEXT), excerpt=TEXT, excerpt_cut=FLAG)),
    total=COUNT,
    shown=COUNT,
    workspace_revision=COUNT,
)

FOUND = fields(
    query=TEXT,
    found=list_of(
        fields(
            key=TEXT,
            summary=maybe(TEXT),
            body=ANYTHING,
            kind=TEXT,
            slot=TEXT,
            subject=TEXT,
            weight=NUMBER,
            contexts=list_of(TEXT),
            source=TEXT,
            session=TEXT,
            happened_at=maybe(MOMENT),
            expires_at=maybe(MOMENT),
            revision=COUNT,
            created_at=MOMENT,
            updated_at=MOMENT,
            score=NUMBER,
            parts={"type": "object", "additionalProperties": NUMBER},
        )
    ),
    shown=COUNT,
    workspace_revision=COUNT,
)

FORGOTTEN = fields(forgotten=COUNT, workspace_revision=COUNT)

HISTORY = fields(
    key=TEXT,
    revisions=list_of(
        fields(
            number=COUNT,
            operation=TEXT,
            summary=maybe(TEXT),
            body=ANYTHING,
            actor=TEXT,
            reason=TEXT,
            created_at=MOMENT,
        )
    ),
    total=COUNT,
    shown=COUNT,
    workspace_revision=COUNT,
)

INDEX = fields(lines=COUNT, workspace_revision=COUNT)
