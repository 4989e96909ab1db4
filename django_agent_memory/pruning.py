"""Rules that say which notes may go, and forgetting those that a rule finds.

Only what all share is pruned; what a session has to itself ends with the session.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from django.db import router
from django.utils import timezone

from . import duplicates, writing
from .associations import tied_to
from .exceptions import Refused
from .memory import Memory
from .models import Note
from .models.note import NoteQuerySet
from .results import Forgot
from .writing import details

MOST_DAYS = 36_500
MOST_CHARACTERS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRule:
    """What must be true of a note that may go: all that is given; at least one has to be.

    It was last written more than `older_than_days` (1 to 36,500) ago; it was neither written nor
    recalled for `unrecalled_days` (as many); its weight is below `weight_below` (above 0); its body
    has more than `size_above` characters (0 to 1,000,000,000); it has this `kind`, this `slot`, is
    tied to this `context`; it has `expired`; of `duplicates`, which say the same (body, contexts,
    slot and source) in one workspace, it is not the one written last. Raises `Refused`.
    """

    older_than_days: int | None = None
    unrecalled_days: int | None = None
    weight_below: float | None = None
    size_above: int | None = None
    kind: str | None = None
    slot: str | None = None
    context: str | None = None
    expired: bool = False
    duplicates: bool = False

    def __post_init__(self) -> None:
        given = self.as_dict()
        if not given:
            raise Refused("Say which notes may go: give the rule at least one condition.")
        for name, value in given.items():
            _CHECKS[name](value, name)

    def as_dict(self) -> dict[str, Any]:
        """Return what is given, as JSON; `rule_of` makes the rule of it again."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: said for name, said in values.items() if said is not None and said is not False
        }


def rule_of(given: object) -> PruneRule:
    """Return the rule that JSON says, as `PruneRule.as_dict` does, or raise `Refused`."""
    if not isinstance(given, dict):
        raise Refused("A rule is an object of conditions.")
    unknown = given.keys() - _CHECKS.keys()
    if unknown:
        raise Refused(f"A rule has no condition {min(map(str, unknown))!r}.")
    return PruneRule(**given)


def fitting(
    path: str,
    rule: PruneRule,
    *columns: str,
    now: datetime.datetime | None = None,
    using: str | None = None,
) -> list[tuple[Any, ...]]:
    """Return these columns of the notes of the workspace that the rule finds as of `now`, by key.

    One statement, and with `duplicates` one more before it, which reads no text; see `duplicates`.
    """
    moment, alias = now or timezone.now(), using or router.db_for_write(Note)
    repeated = duplicates.repeated_later(path, using=alias) if rule.duplicates else None
    notes = Note.objects.using(alias).filter(workspace__path=path).seen_in("")
    for name, value in rule.as_dict().items():
        if name in _FITTING:
            notes = _FITTING[name](notes, value, moment)
    # Each once: older versions of Django leave out a column that is named twice.
    names = list(dict.fromkeys(("pk", "revision", *columns)))
    places = [names.index(name) for name in columns]
    rows = notes.order_by("key").values_list(*names)
    # With its revision: what was written between the statements is not what was compared.
    return [
        tuple(row[place] for place in places)
        for row in rows
        if repeated is None or row[:2] in repeated
    ]


def prune(memory: Memory, rule: PruneRule, *, reason: str) -> list[Forgot]:
    """Forget all that the rule finds, in one write; what changes meanwhile is looked at anew.

    Each is a tombstone, and their revisions follow one another: `undoing` brings them back. Raises
    `Refused` without a reason, and what `Memory.apply` raises.
    """
    if not reason.strip():
        raise Refused("Say why: the reason is kept in the history.")

    def attempt() -> list[Forgot]:
        rows = fitting(memory.path, rule, "key", "revision", using=memory.using)
        drops = [writing.Drop(key=key, expected_revision=revision) for key, revision in rows]
        return forgotten(memory.apply(drops, reason=reason))

    return writing.replanned(attempt)


def forgotten(outcomes: list[Any]) -> list[Forgot]:
    """Return the outcomes of what was forgotten, in the order of their revisions."""
    return [outcome for outcome in outcomes if isinstance(outcome, Forgot)]


def _check_days(value: object, name: str) -> None:
    if type(value) is not int or not 1 <= value <= MOST_DAYS:
        raise Refused(f"{name} must be a whole number of days, 1 to {MOST_DAYS}.")


def _check_size(value: object, name: str) -> None:
    if type(value) is not int or not 0 <= value <= MOST_CHARACTERS:
        raise Refused(f"{name} must be a whole number of characters, 0 to {MOST_CHARACTERS}.")


def _check_weight(value: object, name: str) -> None:
    if not details.check_weight(value, name):
        raise Refused(f"{name} must be more than 0: no weight is below it.")


def _check_name(value: object, name: str) -> None:
    if not details.check_name(value, name):
        raise Refused(f"The {name} is empty; name one, or leave it out.")


def _check_context(value: object, name: str) -> None:
    details.check_contexts((value,), name)


def _check_flag(value: object, name: str) -> None:
    if value is not True:
        raise Refused(f"{name} must be true or false.")


_CHECKS: dict[str, Callable[[Any, str], None]] = {
    "older_than_days": _check_days,
    "unrecalled_days": _check_days,
    "weight_below": _check_weight,
    "size_above": _check_size,
    "kind": _check_name,
    "slot": _check_name,
    "context": _check_context,
    "expired": _check_flag,
    "duplicates": _check_flag,
}


def _unrecalled(notes: NoteQuerySet, days: int, now: datetime.datetime) -> NoteQuerySet:
    moment = now - datetime.timedelta(days=days)
    return notes.unwritten_since(moment).unrecalled_since(moment)


_FITTING: dict[str, Callable[[NoteQuerySet, Any, datetime.datetime], NoteQuerySet]] = {
    "older_than_days": lambda notes, days, now: notes.unwritten_since(
        now - datetime.timedelta(days=days)
    ),
    "unrecalled_days": _unrecalled,
    "weight_below": lambda notes, weight, _now: notes.filter(weight__lt=weight),
    "size_above": lambda notes, size, _now: notes.longer_than(size),
    "kind": lambda notes, kind, _now: notes.filter(kind=kind),
    "slot": lambda notes, slot, _now: notes.filter(slot=slot),
    "context": lambda notes, context, _now: notes.filter(tied_to(context)),
    "expired": lambda notes, _asked, now: notes.expired(now),
}
