"""What a tool is: its schema for models, and the check that its arguments pass."""

from __future__ import annotations

import copy
import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from django_agent_memory.exceptions import Refused
from django_agent_memory.text import gate

from .answers import ANYTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool says: the text for the model, and the same as fields for programs."""

    text: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument. `kind` is a JSON type, "any" for all of them, "strings" for one or several.

    A "moment" is a time with its offset, or a date, which begins at midnight in the site's zone.
    `for_models=False` marks what a program may pass and no model is told of.
    """

    name: str
    kind: str
    description: str
    required: bool = True
    for_models: bool = True

    def as_schema(self) -> dict[str, Any]:
        """Return the JSON schema of its values."""
        return {**copy.deepcopy(_TYPES[self.kind]), "description": self.description}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool: its name and description for models, its parameters, whether it only reads.

    `answers` is the JSON schema of the fields of its answer. An `optional` one is there only for
    who asks for it by name.
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    read_only: bool = True
    optional: bool = False
    answers: dict[str, Any] = field(repr=False)
    run: Callable[..., Answer] = field(repr=False)

    @property
    def shown(self) -> list[Parameter]:
        """What models are told of."""
        return [parameter for parameter in self.parameters if parameter.for_models]

    @property
    def required(self) -> list[str]:
        """The names of the arguments that may not be missing."""
        return [parameter.name for parameter in self.parameters if parameter.required]

    def as_json(self) -> dict[str, Any]:
        """Return name, description, read_only and the JSON schema of the arguments."""
        return {
            "name": self.name,
            "description": self.description,
            "read_only": self.read_only,
            "parameters": {
                "type": "object",
                "properties": {parameter.name: parameter.as_schema() for parameter in self.shown},
                "required": self.required,
                "additionalProperties": False,
            },
        }


def checked(spec: ToolSpec, arguments: object) -> dict[str, Any]:
    """Return the arguments by name, or raise `Refused` with what is wrong about them.

    None is no arguments, on every surface.
    """
    if isinstance(arguments, str):
        # What models answer with that have no arguments to give.
        arguments = gate.parse_json(arguments) if arguments.strip() else {}
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, Mapping):
        raise Refused(f"The arguments of {spec.name} must be a JSON object.")
    allowed = {parameter.name: parameter for parameter in spec.parameters}
    unknown = [str(name) for name in arguments if name not in allowed]
    if unknown:
        raise Refused(_unknown_arguments(spec, unknown))
    given = {
        name: value
        for name, value in arguments.items()
        # Models that have to fill in every argument say null for what they leave out.
        if value is not None or allowed[name].required
    }
    for parameter in spec.parameters:
        if parameter.name in given:
            given[parameter.name] = _checked_value(parameter, given[parameter.name])
        elif parameter.required:
            raise Refused(f"{spec.name} needs the argument '{parameter.name}'.")
    return given


def _unknown_arguments(spec: ToolSpec, unknown: list[str]) -> str:
    names = [parameter.name for parameter in spec.parameters if parameter.for_models]
    takes = f"only {', '.join(names)}" if names else "no arguments"
    return f"{spec.name} takes {takes}; it does not know '{unknown[0][:64]}'."


def _checked_value(parameter: Parameter, value: Any) -> Any:
    accepted = _KINDS[parameter.kind]
    if accepted is not None and type(value) not in accepted:
        raise Refused(f"The argument '{parameter.name}' must be {_ARTICLES[parameter.kind]}.")
    return _moment(parameter.name, value) if parameter.kind == "moment" else value


def _moment(name: str, text: str) -> datetime.datetime:
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is not None and _DATE.fullmatch(text):
        return timezone.make_aware(moment, timezone.get_default_timezone())
    if moment is None or timezone.is_naive(moment):
        raise Refused(f"The argument '{name}' must be {_ARTICLES['moment']}.")
    return moment


_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)

_KINDS: dict[str, tuple[type, ...] | None] = {
    "string": (str,),
    "strings": (str, list),
    "moment": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "any": None,
}
_ARTICLES = {
    "string": "a string",
    "strings": "a string or a list of strings",
    "moment": "a date such as 2026-11-30, or a time with its offset such as 2026-11-30T08:15:00Z",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
}
_TYPES: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "strings": {"type": "array", "items": {"type": "string"}},
    "moment": {"type": "string"},
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "any": ANYTHING,
}
