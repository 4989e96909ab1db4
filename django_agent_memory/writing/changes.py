"""What can be asked of the channel, and the gate each change passes before the lock is taken."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Refused
from django_agent_memory.models import Revision
from django_agent_memory.models.details import PLAIN, fingerprint
from django_agent_memory.results import Details
from django_agent_memory.text import gate

from .details import GIVEN, KEEP, Contexts, Keep, check_details

MADE_KEYS = "notes/"
"""What keys begin with that are made for knowledge stored without one."""

_BATCH_CHANGES = 500
_LARGEST_NUMBER = 2**63 - 1  # what the databases hold; a larger one is beyond the end as well
_BATCH_CHARACTERS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """Store `body` (text or any JSON value) and `summary` under `key`, over whatever is there.

    `summary=None` stores a note without an index entry; `KEEP` leaves the summary as it is found
    inside the lock. `expected_revision` is the note's own last revision number, 0 for "must not
    exist"; None asks nothing.

    All else stays as the note has it, unless it is given: `kind` and `slot` (≤ 64 cp), `subject`,
    `source` and `session` (≤ 255 cp), `weight` (finite, at least 0), `context` (one or several of 1
    to 512 cp, at most 100; () for none), `happened_at` and `expires_at` (aware, None for none). A
    new note, and one in the place of an expired one, has the defaults of `results.Details`.
    """

    key: str
    body: Any
    summary: str | None | Keep = None
    expected_revision: int | None = None
    kind: str | Keep = KEEP
    slot: str | Keep = KEEP
    subject: str | Keep = KEEP
    weight: float | Keep = KEEP
    context: Contexts | Keep = KEEP
    source: str | Keep = KEEP
    session: str | Keep = KEEP
    happened_at: datetime.datetime | None | Keep = KEEP
    expires_at: datetime.datetime | None | Keep = KEEP


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Add knowledge: `body`, with all that `Save` lets be kept.

    Without a `key` it goes to the note of the same body, contexts, slot, source and session, or
    else under a key made for it, `notes/` and 32 hexadecimal digits. `summary=None` leaves the
    summary that the note has; all else is set.
    """

    body: Any
    key: str | None = None
    summary: str | None = None
    expected_revision: int | None = None
    kind: str = ""
    slot: str = ""
    subject: str = ""
    weight: float = 1.0
    context: Contexts = ()
    source: str = ""
    session: str = ""
    happened_at: datetime.datetime | None = None
    expires_at: datetime.datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Remove the note and the index entry under `key`; `expected_revision` as in `Save`."""

    key: str
    expected_revision: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """Bring back, in a new revision, what `key` said as of `revision`, 0 for "nothing"."""

    key: str
    revision: int
    expected_revision: int | None = None


Change = Save | Store | Drop | Restore


class Checked(NamedTuple):
    """A change that passed the gate; `text` is None where it leaves nothing.

    `details` are complete, or None where they are those of the note with `given` set. Of a restore
    only `restores` is known until the revision is read inside the lock.
    """

    operation: str
    key: str
    expected_revision: int | None
    text: str | None = None
    is_json: bool = False
    summary: str | None = None
    restores: int = 0
    details: Details | None = PLAIN
    given: tuple[tuple[str, Any], ...] = ()
    keeps_summary: bool = False
    fingerprint: str = ""
    """Of a Store without a key: what is the same goes to the same key."""


def check(change: Change) -> Checked:
    """Return the change as rows hold it, or raise `Refused`."""
    if not isinstance(change, (Save, Store, Drop, Restore)):
        raise Refused(f"A change is a Save, a Drop or a Restore, not a {type(change).__name__}.")
    made = isinstance(change, Store) and change.key is None
    key = _new_key() if made else gate.check_key(change.key, limit=conf.max_key_length)
    expected = change.expected_revision
    if expected is not None:
        check_revision(expected, name="expected_revision")
    if isinstance(change, Drop):
        return Checked(Revision.Operation.FORGET, key, expected)
    if isinstance(change, Restore):
        check_revision(change.revision, name="revision")
        number = min(change.revision, _LARGEST_NUMBER)
        return Checked(Revision.Operation.RESTORE, key, expected, restores=number)
    return _check_text(change, key)


def _check_text(change: Save | Store, key: str) -> Checked:
    summary = None if change.summary is KEEP else change.summary
    if summary is not None:
        gate.check_text(summary, name="summary", limit=conf.max_summary_length)
    text, is_json = gate.check_body(change.body, limit=conf.max_body_length)
    checked = Checked(
        Revision.Operation.REMEMBER,
        key,
        change.expected_revision,
        text,
        is_json,
        summary,
        details=None,
        given=check_details({name: getattr(change, name) for name in GIVEN}),
        keeps_summary=change.summary is (None if isinstance(change, Store) else KEEP),
    )
    if not isinstance(change, Store) or change.key is not None:
        return checked
    details = Details(**dict(checked.given))
    return checked._replace(fingerprint=fingerprint(text, details, is_json=is_json))


def _new_key() -> str:
    return f"{MADE_KEYS}{uuid.uuid4().hex}"


def check_revision(number: object, *, name: str) -> None:
    """Raise `Refused` unless `number` is an int of at least 0 (a bool is none)."""
    if type(number) is not int or number < 0:
        raise Refused(f"{name} must be a whole number of at least 0.")


def batches(changes: Iterable[Checked]) -> Iterator[list[Checked]]:
    """Cut `changes` into runs of at most 500 and about 2,000,000 cp, so that memory stays flat."""
    batch: list[Checked] = []
    characters = 0
    for change in changes:
        batch.append(change)
        characters += len(change.text or "") + len(change.summary or "")
        if len(batch) >= _BATCH_CHANGES or characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
