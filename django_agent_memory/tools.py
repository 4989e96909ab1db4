"""The tools as models see them, and the one way to call them by name.

A `ToolSpec` is the single source: its schema, its checks and its text come from here for every
edge. No tool has a workspace argument; the memory it is called on is the caller's choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .exceptions import Refused
from .memory import Memory
from .results import Forgot, Match, Unknown
from .text import gate, rendering


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool says: the text for the model, and the same as fields for programs."""

    text: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument. `kind` is a JSON type, "any" for all of them.

    `for_models=False` marks what a program may pass and no model is told of.
    """

    name: str
    kind: str
    description: str
    required: bool = True
    for_models: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool: its name and description for models, its parameters, whether it only reads."""

    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    read_only: bool = True
    run: Callable[..., Answer] = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return name, description, read_only and the JSON schema of the arguments."""
        shown = [parameter for parameter in self.parameters if parameter.for_models]
        return {
            "name": self.name,
            "description": self.description,
            "read_only": self.read_only,
            "parameters": {
                "type": "object",
                "properties": {parameter.name: _schema(parameter) for parameter in shown},
                "required": [parameter.name for parameter in shown if parameter.required],
                "additionalProperties": False,
            },
        }


def dispatch(memory: Memory, name: str, arguments: object) -> Answer:
    """Call the tool on `memory`. Arguments that come as a JSON string are decoded once.

    Raises `Refused` for an unknown tool and unfit arguments, and whatever the verb raises.
    """
    spec = TOOLS.get(name)
    if spec is None:
        raise Refused(f"There is no tool '{name[:64]}'; the tools are: {', '.join(TOOLS)}.")
    return spec.run(memory, **_checked(spec, arguments))


def _checked(spec: ToolSpec, arguments: object) -> dict[str, Any]:
    """Return the arguments by name, or raise `Refused` with what is wrong about them."""
    if isinstance(arguments, str):
        arguments = gate.parse_json(arguments)
    if not isinstance(arguments, Mapping):
        raise Refused(f"The arguments of {spec.name} must be a JSON object.")
    allowed = {parameter.name: parameter for parameter in spec.parameters}
    unknown = [str(name) for name in arguments if name not in allowed]
    if unknown:
        raise Refused(_unknown_arguments(spec, unknown))
    for parameter in spec.parameters:
        if parameter.name in arguments:
            _check_kind(parameter, arguments[parameter.name])
        elif parameter.required:
            raise Refused(f"{spec.name} needs the argument '{parameter.name}'.")
    return dict(arguments)


def _unknown_arguments(spec: ToolSpec, unknown: list[str]) -> str:
    names = [parameter.name for parameter in spec.parameters if parameter.for_models]
    takes = f"only {', '.join(names)}" if names else "no arguments"
    return f"{spec.name} takes {takes}; it does not know '{unknown[0][:64]}'."


def _check_kind(parameter: Parameter, value: object) -> None:
    accepted = _KINDS[parameter.kind]
    if accepted is not None and type(value) not in accepted:
        raise Refused(f"The argument '{parameter.name}' must be {_ARTICLES[parameter.kind]}.")


def _schema(parameter: Parameter) -> dict[str, Any]:
    described = {"description": parameter.description}
    return described if parameter.kind == "any" else {"type": parameter.kind, **described}


_KINDS: dict[str, tuple[type, ...] | None] = {
    "string": (str,),
    "integer": (int, type(None)),
    "any": None,
}
_ARTICLES = {"string": "a string", "integer": "a whole number"}


def _remember(memory: Memory, key: str, **arguments: Any) -> Answer:
    done = memory.remember(key, **arguments)
    texts = {
        "created": rendering.saved(key),
        "replaced": rendering.saved(key, replaced_revision=done.replaced_revision),
        "unchanged": rendering.unchanged(key),
    }
    return Answer(
        text=texts[done.outcome],
        data={
            "key": key,
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


_EXPECTED_REVISION = Parameter(
    name="expected_revision",
    kind="integer",
    description="The note's last revision as the caller knows it, 0 for none.",
    required=False,
    for_models=False,
)

TOOLS: dict[str, ToolSpec] = {
    spec.name: spec
    for spec in (
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
            ),
            read_only=False,
            run=_remember,
        ),
        ToolSpec(
            name="recall",
            description=(
                "Read the whole memory saved under a key, exactly as it was saved. The index shows "
                "the keys; an unknown key is answered with the nearest ones."
            ),
            parameters=(Parameter(name="key", kind="string", description="The exact key."),),
            run=_recall,
        ),
        ToolSpec(
            name="forget",
            description=(
                "Remove the memory under a key, its summary and its body. Forget what is stale or "
                "wrong. Keys below it stay; a person can restore it."
            ),
            parameters=(
                Parameter(name="key", kind="string", description="The exact key."),
                _EXPECTED_REVISION,
            ),
            read_only=False,
            run=_forget,
        ),
        ToolSpec(
            name="list_memories",
            description="List every memory that has a summary, one line each: its key and summary.",
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
            run=_search,
        ),
    )
}
