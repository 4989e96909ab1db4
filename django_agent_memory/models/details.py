"""What a note has beside its text, as rows hold it: whole in a revision, apart in a note."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from django.conf import settings
from django.utils import timezone

from django_agent_memory.exceptions import Refused
from django_agent_memory.results import Details
from django_agent_memory.text.gate import parse_json

PLAIN = Details()

COLUMNS = tuple(field.name for field in fields(Details))
"""The columns of a note that hold its details, under the same names."""

# Two days from the ends of the calendar: what every zone and every database can still hold.
_EARLIEST = datetime.datetime(datetime.MINYEAR, 1, 3, tzinfo=datetime.UTC)
_LATEST = datetime.datetime(datetime.MAXYEAR, 12, 29, tzinfo=datetime.UTC)


def stored(moment: datetime.datetime) -> datetime.datetime:
    """Return an aware datetime as this site's rows hold it.

    One at the very edge of the calendar, where no offset can be applied, is taken as the edge.
    """
    try:
        utc = min(max(moment.astimezone(datetime.UTC), _EARLIEST), _LATEST)
    except OverflowError:
        utc = _EARLIEST if moment.year == datetime.MINYEAR else _LATEST
    return utc if settings.USE_TZ else timezone.make_naive(utc)


def details_of(columns: Sequence[Any]) -> Details:
    """Return the details that the `COLUMNS` of a note hold, whatever they hold."""
    values = dict(zip(COLUMNS, columns, strict=True))
    weight = values["weight"] if math.isfinite(values["weight"]) else PLAIN.weight
    contexts = decode_contexts(values["contexts"])
    return Details(**{**values, "weight": weight, "contexts": contexts})


def note_columns(details: Details) -> dict[str, Any]:
    """Return the columns of a note that has these details."""
    values = {name: getattr(details, name) for name in COLUMNS}
    return {**values, "contexts": encode_contexts(details.contexts)}


def encode(details: Details) -> str:
    """Return what a revision keeps beside `expires_at`: compact JSON, "" where all is as usual."""
    said: dict[str, Any] = {
        name: getattr(details, name)
        for name in COLUMNS
        if name != "expires_at" and getattr(details, name) != getattr(PLAIN, name)
    }
    if details.happened_at is not None:
        said["happened_at"] = _aware(details.happened_at).isoformat()
    return _compact(said) if said else ""


def decode(text: str, expires_at: datetime.datetime | None) -> Details:
    """Return the details that a revision keeps; of damaged ones, what can be read."""
    said = _parsed(text)
    values = said if isinstance(said, dict) else {}
    known = {name: values[name] for name in COLUMNS if _fits(name, values.get(name))}
    if "happened_at" in known:
        known["happened_at"] = stored(datetime.datetime.fromisoformat(known["happened_at"]))
    if "contexts" in known:
        known["contexts"] = tuple(known["contexts"])
    return Details(**{**known, "expires_at": expires_at})


def encode_contexts(contexts: tuple[str, ...]) -> str:
    """Return contexts as one column holds them."""
    return _compact(contexts) if contexts else ""


def decode_contexts(text: str) -> tuple[str, ...]:
    """Return the contexts that a column holds; none where it is damaged."""
    said = _parsed(text)
    return tuple(said) if _fits("contexts", said) else ()


def effective_contexts(key: str, contexts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the contexts of a note: the path its key lies under, if it was given none."""
    parent = key.rpartition("/")[0]
    return contexts or ((parent,) if parent else ())


def specificity(key: str, contexts: tuple[str, ...]) -> int:
    """Return how narrow the narrowest context is, in path segments; 0 without one."""
    return max((c.count("/") + 1 for c in effective_contexts(key, contexts)), default=0)


def fingerprint(text: str, details: Details, *, is_json: bool) -> str:
    """Return the digest of what makes two stored pieces of knowledge the same one."""
    same = [text, is_json, details.contexts, details.slot, details.source, details.session]
    return hashlib.blake2b(_compact(same).encode(), digest_size=16).hexdigest()


def _fits(name: str, value: Any) -> bool:
    """Whether a damaged row may be read as having this value."""
    if name == "contexts":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if name == "weight":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if name == "happened_at":
        return isinstance(value, str) and _is_aware(value)
    return isinstance(value, str)


def _is_aware(text: str) -> bool:
    try:
        return datetime.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _parsed(text: str) -> Any:
    if not text:
        return None
    try:
        return parse_json(text)
    except Refused:
        return None


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _aware(moment: datetime.datetime) -> datetime.datetime:
    return timezone.make_aware(moment) if timezone.is_naive(moment) else moment
