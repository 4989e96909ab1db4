"""The schemas that operations refer to by name: rows, answers, what a request says, problems."""

from __future__ import annotations

import inspect
from typing import Any

from rest_framework import serializers as rest

from django_agent_memory.api import serializers
from django_agent_memory.api.codes import CODES
from django_agent_memory.models import Revision
from django_agent_memory.text.rendering import SENTENCE_SHOWN

from . import parts
from .parts import (
    Limits,
    Schema,
    anything,
    boolean,
    integer,
    listed,
    moment,
    nullable,
    number,
    primary_key,
    record,
    ref,
    text,
)
from .tool_answers import REVISION, tool_answers

_KINDS: tuple[tuple[type[Any], Schema], ...] = (
    (rest.IntegerField, integer()),
    (rest.FloatField, number()),
    (rest.BooleanField, boolean()),
    (rest.DateTimeField, moment()),
    (rest.ListField, listed(text())),
    (rest.CharField, text()),
    (serializers.PrimaryKey, primary_key()),
)
_RETURNED = {"str": text(), "bool": boolean(), "int": integer()}

ROWS: dict[str, type[Any]] = {
    "Workspace": serializers.WorkspaceSerializer,
    "WorkspaceReceipt": serializers.WorkspaceReceiptSerializer,
    "NoteLine": serializers.NoteLineSerializer,
    "Note": serializers.NoteSerializer,
    "NoteReceipt": serializers.NoteReceiptSerializer,
    "IndexEntry": serializers.IndexEntrySerializer,
    "RevisionLine": serializers.RevisionLineSerializer,
    "Revision": serializers.RevisionSerializer,
    "AgentKey": serializers.AgentKeySerializer,
    "AgentKeyReceipt": serializers.AgentKeyReceiptSerializer,
    "Grant": serializers.GrantSerializer,
}
"""What the rows of the resources are called; a page of them has `Page` behind its name."""

OUTCOMES = {
    "Written": ("created", "replaced", "unchanged"),
    "Gone": ("forgot", "was_absent"),
    "Back": ("restored", "unchanged"),
    "Applied": ("created", "replaced", "unchanged", "forgot", "was_absent", "restored"),
}


def row_name(serializer: type[Any]) -> str:
    """Return the name of the rows that the serializer makes."""
    return next(name for name, known in ROWS.items() if known is serializer)


def components(limits: Limits) -> dict[str, Schema]:
    """Return every schema by its name, without the prefix."""
    return {
        **_rows(),
        **_enums(),
        **tool_answers(),
        **_answers(),
        **_changes(limits),
        **_problem(),
    }


def known(limits: Limits) -> dict[str, Schema]:
    """Return what a request may say of a note beside its text."""
    return {
        "summary": nullable(parts.summary(limits)),
        "kind": parts.name("What sort of memory it is, such as episodic or semantic."),
        "slot": parts.name("Where in a prompt it goes, such as system."),
        "subject": parts.label("Whom or what it is about, or who said it."),
        "weight": number("How much it counts: 1 as usual.", minimum=0),
        "context": parts.contexts("What it is tied to, such as file paths or projects."),
        "source": parts.label("What it was taken from."),
        "happened_at": nullable(moment("When it happened; null for no time.")),
        "expires_at": nullable(moment("From when on it is gone; null for never.")),
    }


def expected() -> Schema:
    """Return the field `expected_revision`."""
    said = "The note's last revision as the caller knows it, 0 for none. If-Match says the same."
    return nullable(integer(said))


def page_of(row: str) -> Schema:
    """Return the schema of a page of these rows."""
    return record(
        {
            "results": listed(ref(row)),
            "next": nullable(text("The address of the next page, null on the last.")),
            "workspace_revision": nullable(
                integer("Of the key's workspace; null for a user, who may reach several.")
            ),
        }
    )


def answer(properties: dict[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an answer about one workspace."""
    return record({**properties, "workspace_revision": integer(REVISION)}, optional=optional)


def _rows() -> dict[str, Schema]:
    rows = {name: _row(serializer) for name, serializer in ROWS.items()}
    pages = {f"{name}Page": page_of(name) for name in rows if not name.endswith("Receipt")}
    issued = rows["AgentKey"]["properties"] | {"secret": text("Shown this once.")}
    return {
        **rows,
        **pages,
        "IssuedAgentKey": record(issued, description="A new agent key with its secret."),
        "GrantDeleted": record({"id": integer(), "deleted": boolean()}),
    }


def _row(serializer: type[Any]) -> Schema:
    properties = {name: _field(field) for name, field in serializer().fields.items()}
    shape = record(properties, description=inspect.getdoc(serializer))
    if "operation" in properties:
        properties["operation"] = ref("WriteOperation")
    return shape


def _field(field: rest.Field) -> Schema:  # type: ignore[type-arg]
    if isinstance(field, rest.SerializerMethodField):
        method = getattr(field.parent, str(field.method_name))
        return _RETURNED[str(inspect.signature(method).return_annotation)]
    schema = next((schema for kind, schema in _KINDS if isinstance(field, kind)), anything())
    return nullable(schema) if field.allow_null else dict(schema)


def _enums() -> dict[str, Schema]:
    outcomes = {
        f"Outcome{name}": {"type": "string", "enum": list(values)}
        for name, values in OUTCOMES.items()
    }
    operations = {"type": "string", "enum": [str(value) for value in Revision.Operation.values]}
    codes = {"type": "string", "enum": list(CODES)}
    return {**outcomes, "WriteOperation": operations, "ProblemCode": codes}


def _details() -> dict[str, Schema]:
    """Return what answers show of what is known beside the text."""
    return {
        "kind": text(),
        "slot": text(),
        "subject": text(),
        "weight": number(),
        "contexts": listed(text()),
        "source": text(),
        "happened_at": nullable(moment()),
        "expires_at": nullable(moment()),
    }


def _answers() -> dict[str, Schema]:
    revised = {
        "number": integer(),
        "operation": ref("WriteOperation"),
        "exists": boolean("False after a forget."),
        "summary": nullable(text()),
        "body": anything(),
        **_details(),
        "redacted": boolean(),
        "actor": text(),
        "reason": text(),
        "created_at": moment(),
    }
    found: dict[str, Schema] = {"key": text(), "found": {"type": "boolean", "const": True}}
    absent: dict[str, Schema] = {"key": text(), "found": {"type": "boolean", "const": False}}
    tool = record(
        {
            "name": text(),
            "description": text("For the model."),
            "read_only": boolean(),
            "parameters": {
                "type": "object",
                "additionalProperties": {},
                "description": "The JSON schema of the arguments.",
            },
        }
    )
    per_day = {f"{what}_per_day": number() for what in ("lines", "characters", "tokens")}
    return {
        "Tool": tool,
        "Tools": record(
            {"tools": listed(ref("Tool")), "workspace_revision": nullable(integer(REVISION))}
        ),
        "ToolsOfStyle": record(
            {
                "tools": listed({"type": "object"}, "As models of this style take them."),
                "workspace_revision": nullable(integer(REVISION)),
            }
        ),
        "Index": answer(
            {
                "text": text(),
                "lines": integer(),
                "characters": integer(),
                "estimated_tokens": integer(),
            }
        ),
        "Stats": answer(
            {
                **{name: integer() for name in ("notes", "lines", "shown", "characters", "tokens")},
                "index_budget": nullable(integer("In characters; null for none.")),
                "growth_days": number("Over how many days growth is measured, 1 to 30."),
                **per_day,
            }
        ),
        "SessionEnded": answer({"ended": integer("How many notes the session had to itself.")}),
        "Value": answer(
            {
                "key": text(),
                "value": anything(),
                "revision": integer(),
                "created_at": moment(),
                "updated_at": moment(),
            }
        ),
        "ListedValue": record({"key": text(), "value": anything()}),
        "Values": answer({"values": listed(ref("ListedValue"))}),
        "ValueSet": answer(
            {"key": text(), "outcome": ref("OutcomeWritten"), "revision": integer()}
        ),
        "ValueDeleted": answer(
            {"key": text(), "deleted": boolean(), "revision": nullable(integer())}
        ),
        "ValuesCleared": answer({"cleared": integer("How many notes that were.")}),
        "Outcome": record(
            {
                "key": text(),
                "outcome": ref("OutcomeApplied"),
                "revision": integer(),
                "restored_revision": integer(),
                "exists": boolean(),
            },
            optional=("revision", "restored_revision", "exists"),
        ),
        "Outcomes": answer({"outcomes": listed(ref("Outcome"), "One each, in order.")}),
        "Composed": answer({"text": text("The prompt with what is known in front of it.")}),
        "Revised": record(revised),
        "History": answer(
            {
                "text": text("The revisions as lines."),
                "key": text(),
                "revisions": listed(ref("Revised"), "Oldest first."),
            }
        ),
        "StateThen": answer(
            {
                "text": text("The index of then."),
                "keys": listed(text()),
                "revision": integer("The last revision of then."),
            }
        ),
        "NoteThen": answer({**found, **revised}),
        "NoNoteThen": answer(absent),
        "Restored": answer(
            {
                "key": text(),
                "outcome": ref("OutcomeBack"),
                "exists": boolean("False where it brought back that nothing was there."),
                "revision": integer(),
                "restored_revision": integer(),
            }
        ),
        "RolledBack": answer(
            {
                "restored": listed(text(), "The keys that say again what they said before."),
                "left_alone": listed(text(), "The keys that others wrote since."),
            }
        ),
        "NoteForgotten": answer(
            {"key": text(), "outcome": ref("OutcomeGone"), "revision": integer()},
            optional=("revision",),
        ),
    }


def _changes(limits: Limits) -> dict[str, Schema]:
    """Return the kinds of changes of `apply/`."""
    body = anything("The whole memory: text, or any JSON value.")
    said = {**known(limits), "expected_revision": expected()}
    free_key = nullable(parts.key(limits, "One is made without it."))
    shapes: dict[str, tuple[dict[str, Schema], tuple[str, ...]]] = {
        "save": ({"key": parts.key(limits), "body": body, **said}, ("key", "body")),
        "store": ({"key": free_key, "body": body, **said}, ("body",)),
        "drop": ({"key": parts.key(limits), "expected_revision": expected()}, ("key",)),
        "restore": (
            {
                "key": parts.key(limits),
                "revision": integer("Whose state to bring back.", minimum=1),
                "expected_revision": expected(),
            },
            ("key", "revision"),
        ),
    }
    return {
        f"{op.title()}Change": parts.fields(
            {"op": {"type": "string", "const": op}, **properties}, required=("op", *required)
        )
        for op, (properties, required) in shapes.items()
    }


def _problem() -> dict[str, Schema]:
    problem = record(
        {
            "type": text(),
            "title": text(),
            "status": integer(),
            "detail": text("One sentence that a model can act on.", maxLength=SENTENCE_SHOWN),
            "code": ref("ProblemCode"),
            "current_revision": integer("Of a conflict: the revision of the note, 0 for none."),
        },
        optional=("current_revision",),
        description="A problem document (RFC 9457).",
    )
    return {"Problem": problem}
