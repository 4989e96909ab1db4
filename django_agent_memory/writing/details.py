"""The gate for what a note has beside its text: names, weight, contexts, dates."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Literal

from django.utils import timezone

from django_agent_memory.exceptions import Refused
from django_agent_memory.models.details import stored
from django_agent_memory.text import gate

MAX_NAME_LENGTH = 64
"""Of a kind and a slot, in code points."""

MAX_SUBJECT_LENGTH = 255
"""Of a subject, a source and a session."""

MAX_CONTEXT_LENGTH = 512
MAX_CONTEXTS = 100


class _Keep(Enum):
    """Stands for "as the note has it"; None would be "none"."""

    KEEP = "keep"


KEEP: Final = _Keep.KEEP
Keep = Literal[_Keep.KEEP]

Contexts = str | list[str] | tuple[str, ...]
"""One context or several."""


def check_details(given: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return what is given (not `KEEP`) as rows hold it, or raise `Refused`."""
    return tuple(
        ("contexts" if name == "context" else name, _CHECKS[name](value, name))
        for name, value in given.items()
        if value is not KEEP
    )


def check_name(value: object, name: str) -> str:
    """Return a kind or slot: 0 to 64 code points."""
    return gate.check_text(value, name=name, limit=MAX_NAME_LENGTH)


def check_label(value: object, name: str) -> str:
    """Return a subject, source or session: 0 to 255 code points."""
    return gate.check_text(value, name=name, limit=MAX_SUBJECT_LENGTH)


def check_weight(value: object, name: str = "weight") -> float:
    """Return a weight: a finite number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused(f"The {name} must be a number of at least 0.")
    try:
        weight = float(value)
    except OverflowError:
        weight = math.inf
    if not math.isfinite(weight) or weight < 0:
        raise Refused(f"The {name} must be a finite number of at least 0.")
    return weight + 0.0  # a negative zero is written as zero


def check_contexts(value: Any, name: str = "context") -> tuple[str, ...]:
    """Return the contexts, each once, in code-point order: at most 100 of 1 to 512 code points."""
    if isinstance(value, str):
        value = (value,)
    elif not isinstance(value, (list, tuple)):
        raise Refused(f"The {name} must be a string or a list of strings.")
    contexts = sorted({_check_context(context, name) for context in value})
    if len(contexts) > MAX_CONTEXTS:
        raise Refused(f"There are {len(contexts)} contexts, the limit is {MAX_CONTEXTS}.")
    return tuple(contexts)


def _check_context(value: object, name: str) -> str:
    if value == "":
        raise Refused(f"A {name} is empty; give it 1 or more characters, or leave it out.")
    checked = gate.check_text(value, name=name, limit=MAX_CONTEXT_LENGTH)
    gate.check_line_characters(checked, name=name)
    return checked


def check_moment(value: object, name: str) -> datetime.datetime | None:
    """Return an aware datetime as rows hold it; None is none."""
    if value is None:
        return None
    if not isinstance(value, datetime.datetime) or timezone.is_naive(value):
        raise Refused(f"{name} must be a date and time with its offset, or null for none.")
    return stored(value)


_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "kind": check_name,
    "slot": check_name,
    "subject": check_label,
    "weight": check_weight,
    "context": check_contexts,
    "source": check_label,
    "session": check_label,
    "happened_at": check_moment,
    "expires_at": check_moment,
}

GIVEN = tuple(_CHECKS)
"""The arguments that say them."""
