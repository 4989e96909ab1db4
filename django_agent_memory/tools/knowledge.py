"""The tools for memory by relevance, there only if asked for: store, find, forget_matching."""

from __future__ import annotations

from typing import Any

from django_agent_memory.exceptions import Refused
from django_agent_memory.memory import Memory
from django_agent_memory.results import Found, fields_of
from django_agent_memory.text import rendering

from . import answers
from .core import KNOWN, PERSIST, remembered
from .spec import Answer, Parameter, ToolSpec

MOST_FOUND = 100


def _store(memory: Memory, **arguments: Any) -> Answer:
    return remembered(memory.store(**arguments))


def _find(memory: Memory, query: str = "", limit: int = 10, **filters: Any) -> Answer:
    if not 1 <= limit <= MOST_FOUND:
        raise Refused(f"The limit must be from 1 to {MOST_FOUND}.")
    finding = memory.finding(query, limit=limit, **filters)
    return Answer(
        text=rendering.found_answer([_block(found) for found in finding.found]),
        data={
            "query": query,
            "found": [_as_json(found) for found in finding.found],
            "shown": len(finding.found),
            "workspace_revision": finding.workspace_revision,
        },
    )


def _forget_matching(memory: Memory, query: str = "", **filters: Any) -> Answer:
    done = memory.forgetting(query, **filters)
    return Answer(
        text=rendering.forgot_matching(done.count),
        data={"forgotten": done.count, "workspace_revision": done.workspace_revision},
    )


def _block(found: Found) -> str:
    shown, _cut = rendering.excerpt(found.text, None)
    return rendering.hit_block(found.key, found.summary or "", shown)


def _as_json(found: Found) -> dict[str, Any]:
    return {
        "key": found.key,
        "summary": found.summary,
        "body": found.body,
        **fields_of(found),
        "revision": found.revision,
        "created_at": found.created_at,
        "updated_at": found.updated_at,
        "score": found.score,
        "parts": found.parts,
    }


def _filter(name: str, kind: str, description: str, *, for_models: bool = True) -> Parameter:
    return Parameter(
        name=name, kind=kind, description=description, required=False, for_models=for_models
    )


_QUESTION = (
    _filter("query", "string", "What to find, in your own words."),
    _filter("context", "strings", "Only what is tied to exactly this, or to each of these."),
    _filter("slot", "string", "Only this slot."),
    _filter("kind", "string", "Only this kind."),
    _filter("subject", "string", "Only what is about exactly this."),
    _filter("key_prefix", "string", "Only keys that start with this."),
    _filter("min_weight", "number", "Only what counts at least this much."),
    _filter("source", "string", "Only what was taken from this.", for_models=False),
)

KNOWLEDGE: tuple[ToolSpec, ...] = (
    ToolSpec(
        name="store",
        description=(
            "Add a piece of knowledge without choosing a key: a fact, a lesson, something that was "
            "said. Tie it to what it is about, so that find brings it back. Storing the same again "
            "updates it."
        ),
        parameters=(
            Parameter(name="content", kind="any", description="The knowledge: text or JSON."),
            *KNOWN,
            PERSIST,
            _filter("key", "string", "A path-like name for it; one is made without it."),
            _filter("summary", "string", "One line for the index; without it, it is not there."),
        ),
        read_only=False,
        optional=True,
        answers=answers.REMEMBERED,
        run=_store,
    ),
    ToolSpec(
        name="find",
        description=(
            "Find memories by what they are about, best first: ask in your own words, and narrow "
            "by context, slot, kind, subject or key. Needs a query or one of these. Shows 10 "
            "unless a limit is given."
        ),
        parameters=(*_QUESTION, _filter("limit", "integer", "Most to show, 1 to 100.")),
        optional=True,
        answers=answers.FOUND,
        run=_find,
    ),
    ToolSpec(
        name="forget_matching",
        description=(
            "Remove every memory that find would return for the same query and filters, without a "
            "limit: also what it finds only by what stands next to it. Call find first, with a "
            "high limit; a person can restore them."
        ),
        parameters=_QUESTION,
        read_only=False,
        optional=True,
        answers=answers.FORGOTTEN,
        run=_forget_matching,
    ),
)
