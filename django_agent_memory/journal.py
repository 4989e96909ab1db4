"""Record and replay: a call made again is answered again, byte for byte, and not done again.

A caller names each call. The first call of a name is executed and its result is stored in the
transaction of the write; the same name with the same verb and arguments gets the stored result,
without a look at the memory. Only results of executed calls are kept.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from itertools import count
from typing import Any

from django.db import IntegrityError, connections, transaction

from . import results
from .exceptions import Refused, ReplayMismatch
from .models import RecordedCall, Workspace
from .results import Outcome
from .text import gate
from .writing.channel import Then
from .writing.locking import locked, run_serialised

MAX_NAME_LENGTH = 255


class AlreadyRecorded(Exception):  # noqa: N818
    """Another call of the same name was recorded first; what was done for this one is undone."""


@dataclass(frozen=True, slots=True)
class Call:
    """One named call: who makes it, what it does, and the digest of verb and arguments."""

    path: str
    caller: str
    name: str
    verb: str
    key: str
    digest: str


class Calls:
    """Hands out the names of a memory's calls: `run/1`, `run/2`, … of a `run`, or one `name`."""

    def __init__(self, caller: str, *, run: str | None = None, name: str | None = None) -> None:
        given = run if run is not None else name
        gate.check_text(given, name="call name", limit=MAX_NAME_LENGTH - 12)
        if not given:
            raise Refused("The call name is empty; give it 1 or more characters.")
        self.caller = caller
        self._names = (f"{run}/{n}" for n in count(1)) if run is not None else _once(given)

    def next(self, path: str, verb: str, arguments: dict[str, Any]) -> Call:
        """Return the next call, which does `verb` with `arguments` (JSON values)."""
        text = json.dumps([verb, arguments], separators=(",", ":"), default=repr)
        return Call(
            path=path,
            caller=self.caller,
            name=next(self._names),
            verb=verb,
            key=arguments.get("key", ""),
            digest=hashlib.sha256(text.encode()).hexdigest(),
        )


def _once(name: str) -> Iterator[str]:
    yield name
    raise Refused("One idempotency key names one call; name the next one differently.")


def find(call: Call, *, using: str, locking: bool = False) -> tuple[bool, Any]:
    """Return `(True, the stored result)`, or `(False, None)` if the call is new. One indexed read.

    Raises `ReplayMismatch` where the name stands for another call. `locking` sees what a snapshot
    of an outer transaction hides.
    """
    rows = _find_locked(call, using) if locking else _find(call, using)
    for digest, answer in rows:
        if not answer:
            raise Refused(f'The recorded answer to "{call.name}" was redacted; use a new name.')
        if digest != call.digest:
            raise ReplayMismatch(
                f'"{call.name}" already names another call; give a new call a new name.'
            )
        return True, decode(answer)
    return False, None


def _find(call: Call, using: str) -> list[tuple[str, str]]:
    """Return digest and answer by the unique index.

    Written out, because it stands before every recorded call: the ORM takes longer to compose it
    than the database to answer it.
    """
    with connections[using].cursor() as cursor:
        cursor.execute(
            "SELECT r.digest, r.answer FROM agent_memory_recordedcall r"
            " JOIN agent_memory_workspace w ON w.id = r.workspace_id"
            " WHERE w.path = %s AND r.caller = %s AND r.name = %s",
            [call.path, call.caller, call.name],
        )
        return list(cursor.fetchall())


def _find_locked(call: Call, using: str) -> list[tuple[str, str]]:
    rows = RecordedCall.objects.using(using).filter(
        workspace__path=call.path, caller=call.caller, name=call.name
    )
    return list(locked(rows, using).values_list("digest", "answer"))


def answer_read(call: Call, read: Callable[[], Any], *, using: str) -> tuple[Any, bool]:
    """Return the result of a read and whether it is a stored one; a fresh one is stored."""
    known, result = find(call, using=using)
    if known:
        return result, True
    result = read()

    def store() -> None:
        workspace, _made = Workspace.objects.using(using).get_or_create(path=call.path)
        _record(call, result, workspace=workspace, using=using)

    try:
        run_serialised(using, store)
    except AlreadyRecorded:
        return _recorded_by_another(call, using), True
    return result, False


def answer_write(
    call: Call,
    write: Callable[[Then], Any],
    finish: Callable[[list[Outcome]], Any],
    *,
    using: str,
) -> tuple[Any, bool]:
    """Return the result of a write and whether it is a stored one.

    A fresh one, made by `finish` of the outcomes, is stored in the transaction of the write.
    """
    known, result = find(call, using=using)
    if known:
        return result, True
    fresh: list[Any] = []

    def then(workspace: Workspace, outcomes: list[Outcome]) -> None:
        fresh.append(finish(outcomes))
        _record(call, fresh[-1], workspace=workspace, using=using)

    try:
        write(then)
    except AlreadyRecorded:
        return _recorded_by_another(call, using), True
    return fresh[-1], False


def _recorded_by_another(call: Call, using: str) -> Any:
    """Return what the call that was first got; a locking read sees past an outer snapshot."""
    with transaction.atomic(using=using):
        _known, result = find(call, using=using, locking=True)
    return result


def _record(call: Call, result: Any, *, workspace: Workspace, using: str) -> None:
    """Store the result; a name that is taken undoes the transaction by `AlreadyRecorded`."""
    row = RecordedCall(
        workspace=workspace,
        caller=call.caller,
        name=call.name,
        verb=call.verb,
        key=call.key,
        digest=call.digest,
        answer=encode(result),
    )
    try:
        # One row, by the shorter of the ORM's two ways to insert.
        RecordedCall.objects.using(using).bulk_create([row])
    except IntegrityError:
        raise AlreadyRecorded from None


def encode(result: Any) -> str:
    """Return a result (None, plain data, a dataclass of `results`, a tuple of them) as JSON."""
    return json.dumps(_encoded(result), ensure_ascii=False, separators=(",", ":"))


def decode(answer: str) -> Any:
    """Return the result that `encode` was given; raises `Refused` for one that is damaged."""
    try:
        return _decoded(json.loads(answer))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise Refused(
            "The recorded answer to this call is damaged; make it under a new name."
        ) from None


def _encoded(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: _encoded(getattr(value, field.name)) for field in fields(value)}
        return [type(value).__name__, parts]
    if isinstance(value, tuple):
        return ["tuple", [_encoded(item) for item in value]]
    if isinstance(value, datetime.datetime):
        return ["datetime", value.isoformat()]
    return ["json", value]


def _decoded(encoded: Any) -> Any:
    kind, value = encoded
    if kind == "json":
        return value
    if kind == "datetime":
        return datetime.datetime.fromisoformat(value)
    if kind == "tuple":
        return tuple(_decoded(item) for item in value)
    result = getattr(results, kind)
    return result(**{name: _decoded(part) for name, part in value.items()})
