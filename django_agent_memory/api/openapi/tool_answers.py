"""What tools answer over HTTP: the text and the fields that their specs tell of.

A spec's own schema is closed. Here one may meet more fields, as in every answer of the API, and
what several answers share has its name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django_agent_memory.tools import TOOLS
from django_agent_memory.tools.answers import ANYTHING

from .parts import Schema, anything, listed, nullable, record, ref, said, text

REVISION = "The number of the workspace's last write."
_NEAR = "Up to 3 near keys."
_Told = Schema | str


def tool_answers() -> dict[str, Schema]:
    """Return every schema by its name, without the prefix."""
    recalled = TOOLS["recall"].answers["properties"].keys() - {"suggestions"}
    return {
        "ToolWritten": _answer("remember", {"outcome": ref("OutcomeWritten")}),
        "ToolRecalled": _answer(
            "recall",
            {
                "found": {"type": "boolean", "const": True},
                "body": "With the JSON type it was saved with.",
            },
            among=recalled,
        ),
        "ToolUnknown": _answer(
            "recall",
            {"found": {"type": "boolean", "const": False}, "suggestions": _NEAR},
            among=("key", "found", "suggestions", "workspace_revision"),
        ),
        "ToolForgot": _answer(
            "forget",
            {
                "outcome": ref("OutcomeGone"),
                "revision": "Its tombstone, where there was something to forget.",
                "suggestions": _NEAR,
            },
        ),
        "ToolListing": _answer("list_memories", {"memories": listed(ref("ListedMemory"))}),
        "ListedMemory": _row("list_memories", "memories", {}),
        "ToolMatches": _answer(
            "search",
            {"matches": listed(ref("Match")), "total": "How many notes match in all."},
        ),
        "Match": _row(
            "search",
            "matches",
            {"excerpt": "The part of the body around the hit, on one line."},
        ),
        "ToolFinding": _answer("find", {"found": listed(ref("Found"), "Best first.")}),
        "Found": _row(
            "find",
            "found",
            {
                "session": "Of a note that a session has to itself, else blank.",
                "score": "0 where nothing was asked for but filters.",
                "parts": "What the score is made of, and what decides between equals.",
            },
        ),
        "ToolHistory": _answer(
            "history",
            {
                "revisions": listed(ref("ToolRevision"), "The last of them, oldest first."),
                "total": "How many revisions there are in all.",
            },
        ),
        "ToolRevision": _row("history", "revisions", {"operation": ref("WriteOperation")}),
        "ToolIndex": _answer("index", {}),
        "ToolForgotten": _answer("forget_matching", {"forgotten": "How many notes that were."}),
    }


def _answer(tool: str, told: Mapping[str, _Told], *, among: Collection[str] = ()) -> Schema:
    """Return the schema of the tool's answer, or of that in which just the fields `among` it are.

    `told` are descriptions of fields, or the schemas that stand instead of theirs.
    """
    shape = TOOLS[tool].answers
    always = among or shape["required"]
    properties = {n: shown for n, shown in shape["properties"].items() if not among or n in among}
    fields = _as_told(properties, {"workspace_revision": REVISION, **told})
    optional = tuple(name for name in fields if name not in always)
    return record({"text": text("What the model reads."), **fields}, optional=optional)


def _row(tool: str, field: str, told: Mapping[str, _Told]) -> Schema:
    """Return the schema of one in the list that this field of the tool's answer is."""
    items: Schema = TOOLS[tool].answers["properties"][field]["items"]
    return record(_as_told(items["properties"], told))


def _as_told(properties: Mapping[str, Schema], told: Mapping[str, _Told]) -> dict[str, Schema]:
    fields = {}
    for name, shape in properties.items():
        instead = told.get(name, "")
        fields[name] = said(_as_here(shape), instead) if isinstance(instead, str) else instead
    return fields


def _as_here(shape: Schema) -> Schema:
    """Return the schema with null, and what may be anything, said the way that the API says it."""
    if shape == ANYTHING:
        return anything()
    return nullable(shape["anyOf"][0]) if "anyOf" in shape else shape
