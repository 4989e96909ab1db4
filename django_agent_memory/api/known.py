"""What is known of a note beside its text, as the fields of a request give it."""

from __future__ import annotations

from typing import Any

from django_agent_memory.exceptions import Refused
from django_agent_memory.results import Details

from .moments import parse_aware_moment

KNOWN = (
    "kind",
    "slot",
    "subject",
    "weight",
    "context",
    "source",
    "happened_at",
    "expires_at",
)


def known_fields(details: Details) -> dict[str, Any]:
    """Return what is known as the fields of an answer."""
    return {
        "kind": details.kind,
        "slot": details.slot,
        "subject": details.subject,
        "weight": details.weight,
        "contexts": list(details.contexts),
        "source": details.source,
        "happened_at": details.happened_at,
        "expires_at": details.expires_at,
    }


def read_known(fields: dict[str, Any]) -> dict[str, Any]:
    """Return those of the fields that say it, times read; null is no time. Others stay unsaid.

    Rows show the contexts as `contexts`, all of them; `context` is one or several.
    """
    known = {name: fields[name] for name in KNOWN if name in fields}
    for name in ("happened_at", "expires_at"):
        if known.get(name) is not None:
            if not isinstance(known[name], str):
                raise Refused(f"{name} must be a time with its offset, or null for none.")
            known[name] = parse_aware_moment(known[name], name=name)
    return known
