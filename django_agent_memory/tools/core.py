"""The five tools of every memory: remember, recall, forget, list_memories, search."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django_agent_memory.memory import Memory
from django_agent_memory.results import Forgot, Match, Remembered, Unknown
from django_agent_memory.text import rendering

from . import answers
from .spec import Answer, Parameter, ToolSpec


def _remember(memory: Memory, key: str, **arguments: Any) -> Answer:
    return remembered(memory.remember(key, **arguments))


def remembered(done: Remembered) -> Answer:
    """Return what is said of a note that was saved."""
    texts = {
        "created": rendering.saved(done.key),
        "replaced": rendering.saved(done.key, replaced_revision=done.replaced_revision),
        "unchanged": rendering.unchanged(done.key),
    }
    return Answer(
        text=texts[done.outcome],
        data={
            "key": done.key,
            "outcome": done.outcome,
            "revision": done.revision,
            "workspace_revision": done.workspace_revision,
        },
    )


def _recall(memory: Memory, key: str) -> Answer:
    note = memory.lookup(key)
    if isinstance(note, Unknown):
        return Answer(
            text=rendering.unknown_key(key, note.suggestions),
            data={
                "key": key,
                "found": False,
                "suggestions": list(note.suggestions),
                "workspace_revision": note.workspace_revision,
            },
        )
    return Answer(
        text=note.text,
        data={
            "key": key,
            "found": True,
            "body": note.body,
            "summary": note.summary,
            "created_at": note.created_at,
            "updated_at": note.updated_at,
            "revision": note.revision,
            "workspace_revision": note.workspace_revision,
        },
    )


def _forget(memory: Memory, key: str, **arguments: Any) -> Answer:
    done = memory.forget(key, **arguments)
    data = {"key": key, "outcome": done.outcome, "workspace_revision": done.workspace_revision}
    if isinstance(done, Forgot):
        return Answer(text=rendering.forgot(key), data={**data, "revision": done.revision})
    return Answer(
        text=rendering.was_absent(key, done.suggestions),
        data={**data, "suggestions": list(done.suggestions)},
    )


def _list_memories(memory: Memory) -> Answer:
    listing = memory.listing()
    lines = listing.lines
    return Answer(
        text=rendering.memory_list(line.line for line in lines),
        data={
            "memories": [{"key": line.key, "summary": line.summary} for line in lines],
            "total": len(lines),
            "workspace_revision": listing.workspace_revision,
        },
    )


def _search(memory: Memory, pattern: str) -> Answer:
    result = memory.search(pattern)
    return Answer(
        text=rendering.search_answer(pattern, [_block(m) for m in result.matches], result.total),
        data={
            "pattern": pattern,
            "matches": [
                {
                    "key": match.key,
                    "summary": match.summary,
                    "excerpt": match.excerpt,
                    "excerpt_cut": match.excerpt_cut,
                }
                for match in result.matches
            ],
            "total": result.total,
            "shown": len(result.matches),
            "workspace_revision": result.workspace_revision,
        },
    )


def _block(match: Match) -> str:
    return rendering.hit_block(match.key, match.summary or "", match.excerpt)


def _optional(name: str, kind: str, description: str) -> Parameter:
    return Parameter(name=name, kind=kind, description=description, required=False)


KNOWN = (
    _optional("context", "strings", "What it is tied to, such as file paths or projects."),
    _optional("kind", "string", "What sort of memory it is, such as episodic or semantic."),
    _optional("slot", "string", "Where in a prompt it goes, such as system."),
    _optional("subject", "string", "Whom or what it is about, or who said it."),
    _optional("weight", "number", "How much it counts: 1 as usual, more for what matters more."),
    _optional("happened_at", "moment", "When it happened: a date, or a time with its offset."),
    _optional("expires_at", "moment", "From when on it is to be gone; the same form."),
    replace(_optional("source", "string", "What it was taken from."), for_models=False),
)
"""What can be said of a memory beside its text."""

KEY = Parameter(name="key", kind="string", description="The exact key.")

_EXPECTED_REVISION = Parameter(
    name="expected_revision",
    kind="integer",
    description="The note's last revision as the caller knows it, 0 for none.",
    required=False,
    for_models=False,
)

PERSIST = Parameter(
    name="persist",
    kind="boolean",
    description="Whether others see it; if not, it is gone when the session ends.",
    required=False,
    for_models=False,
)

CORE: tuple[ToolSpec, ...] = (
    ToolSpec(
        name="remember",
        description=(
            "Save a memory under a key, or replace the one that is there. Save durable facts, "
            "preferences and decisions, not scratch work. The summary is the one line you see "
            "on every turn until you recall the key, so make it say what matters. Write "
            "absolute dates, never 'yesterday'. What is replaced is kept as a revision."
        ),
        parameters=(
            Parameter(
                name="key",
                kind="string",
                description=(
                    "Path-like name such as user/name, at most 512 characters. "
                    "Reuse the key to update a memory."
                ),
            ),
            Parameter(
                name="summary",
                kind="string",
                description="One line; the index shows its first 120 characters.",
            ),
            Parameter(
                name="body",
                kind="any",
                description="The whole memory: text, or any JSON value.",
            ),
            _EXPECTED_REVISION,
            PERSIST,
            *(replace(parameter, for_models=False) for parameter in KNOWN),
        ),
        read_only=False,
        answers=answers.REMEMBERED,
        run=_remember,
    ),
    ToolSpec(
        name="recall",
        description=(
            "Read the whole memory saved under a key, exactly as it was saved. The index shows "
            "the keys; an unknown key is answered with the nearest ones."
        ),
        parameters=(KEY,),
        answers=answers.RECALLED,
        run=_recall,
    ),
    ToolSpec(
        name="forget",
        description=(
            "Remove the memory under a key, its summary and its body. Forget what is stale or "
            "wrong. Keys below it stay; a person can restore it."
        ),
        parameters=(
            KEY,
            _EXPECTED_REVISION,
        ),
        read_only=False,
        answers=answers.FORGOT,
        run=_forget,
    ),
    ToolSpec(
        name="list_memories",
        description="List every memory that has a summary, one line each: its key and summary.",
        answers=answers.LISTED,
        run=_list_memories,
    ),
    ToolSpec(
        name="search",
        description=(
            "Find memories whose key, summary or body contains a text. Plain text, upper and "
            "lower case alike, no wildcards. Shows the first 8 and the total."
        ),
        parameters=(
            Parameter(
                name="pattern", kind="string", description="The text to look for, literally."
            ),
        ),
        answers=answers.MATCHED,
        run=_search,
    ),
)
