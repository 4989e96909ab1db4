"""`Values`: the notes of a workspace as a mapping from key to JSON value."""

from __future__ import annotations

import re
from collections.abc import ItemsView, Iterator, MutableMapping, ValuesView
from copy import copy
from typing import TYPE_CHECKING, Any, cast

from .exceptions import Busy, Conflict, Refused
from .history import Moment
from .results import Forgot, Remembered
from .text import gate
from .twins import twin
from .writing import KEEP, Drop, Save

if TYPE_CHECKING:
    from .memory import Memory

_DEFAULT_NAMESPACE = "default"
_NOT_IN_A_NAMESPACE = re.compile(r"[^A-Za-z0-9_-]")
_TRIES = 10
_MISSING: Any = object()
_GONE: Any = object()


class Values(MutableMapping[str, Any]):
    """The bodies of all notes of `memory`, by key; the order is that of the keys.

    A value is the body of a note: text is a string, anything else the JSON value it was. So every
    note is a value, whoever wrote it, and a value that is set is a note: searched, versioned,
    restored and replayed as any other. One that is new has no index entry and costs no context;
    over a note with a summary the summary stays. Values that must not be mixed with the memories of
    a model belong in a `namespace`.

    JSON's null cannot be set, but may be there: it is None, and in the mapping, as in a dict.
    A key that no note can have raises `Refused`, and a key that is not there `KeyError`. Every
    write is one critical section and raises as those of `Memory` do. Each named method has an async
    twin: `await values.aset(…)`.
    """

    def __init__(self, memory: Memory, *, namespaces: bool = True) -> None:
        self.memory = memory
        self._namespaces = namespaces

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.memory!r})"

    # By name

    def set(
        self, key: str, value: Any, *, expected_revision: int | None = None, reason: str = ""
    ) -> Remembered:
        """Store `value` under `key`; what is exactly so already is left alone.

        `expected_revision` is as in `Memory.remember`. None is refused: `get` could not tell it
        from a key that is not there.
        """
        save = _save(key, value, expected_revision)
        (outcome,) = self.memory.apply([save], reason=reason)
        return cast("Remembered", outcome)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value under exactly `key`, or `default`."""
        found = self.memory.recall(key)
        return default if found is None else found.body

    def delete(self, key: str, *, expected_revision: int | None = None, reason: str = "") -> bool:
        """Forget what is under exactly `key`; return whether anything was."""
        drop = Drop(key=key, expected_revision=expected_revision)
        (outcome,) = self.memory.apply([drop], reason=reason)
        return isinstance(outcome, Forgot)

    def list(self, prefix: str = "") -> list[dict[str, Any]]:
        """Return `{"key": …, "value": …}` of all keys that start with exactly `prefix`, in order.

        One statement, whole: its size is that of the values.
        """
        return [{"key": key, "value": value} for key, value in self.memory.items(prefix)]

    def keys(self, prefix: str = "") -> tuple[str, ...]:  # type: ignore[override]
        """Return the keys that start with exactly `prefix`, in key order."""
        return self.memory.keys(prefix)

    def clear(self, *, reason: str = "") -> int:  # type: ignore[override]
        """Forget every note of the workspace, those of a model too; return how many there were."""
        return self.memory.clear(reason=reason).notes

    # As a mapping: what its base class would do in several writes or reads is one here

    def update(self, other: Any = (), /, **more: Any) -> None:
        """Set the values of a mapping or of pairs, all or nothing, in one critical section."""
        changes = [_save(key, value) for key, value in dict(other, **more).items()]
        self.memory.apply(changes)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value under `key`; set and return `default` if it is not there."""
        for _ in range(_TRIES):
            found = self.get(key, _MISSING)
            if found is not _MISSING:
                return found
            try:
                self.set(key, default, expected_revision=0)
            except Conflict:
                continue
            return default
        raise _contended(key)

    def pop(self, key: str, default: Any = _MISSING) -> Any:
        """Forget what is under `key` and return exactly that; of two callers one gets it."""
        for _ in range(_TRIES):
            found = self.memory.recall(key)
            if found is None:
                if default is _MISSING:
                    raise KeyError(key)
                return default
            try:
                self.delete(key, expected_revision=found.revision)
            except Conflict:
                continue
            return found.body
        raise _contended(key)

    def popitem(self) -> tuple[str, Any]:
        """Forget the first key and return it with its value; `KeyError` if there is none."""
        for key in self.keys():
            value = self.pop(key, _GONE)
            if value is not _GONE:
                return key, value
        raise KeyError("There are no values.")

    def items(self) -> ItemsView[str, Any]:
        """Return a view of keys and values; each iteration over it is one statement."""
        return _Items(self)

    def values(self) -> ValuesView[Any]:
        """Return a view of the values in key order; each iteration over it is one statement."""
        return _Bodies(self)

    def __getitem__(self, key: str) -> Any:
        value = self.get(key, _MISSING)
        if value is _MISSING:
            raise KeyError(key)
        return value

    def __setitem__(self, key: str, value: Any) -> None:
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        if not self.delete(key):
            raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    # Other stores

    def namespace(self, name: str = _DEFAULT_NAMESPACE) -> Values:
        """Return an isolated store in a workspace below this one; "default" is this one.

        The name is one segment of the path, each character outside `A-Z a-z 0-9 _ -` made `_`:
        names that differ in such characters alone are one namespace. Refused if it is empty.
        """
        if not isinstance(name, str):
            raise Refused("The name of a namespace must be a string.")
        if not name:
            raise Refused("The name of the namespace is empty; give it 1 or more characters.")
        if name == _DEFAULT_NAMESPACE:
            return self
        if not self._namespaces:
            raise Refused("The past is that of one workspace; take the namespace first, then at().")
        memory = copy(self.memory)  # with its actor, its database and its run
        memory.path = gate.check_path(f"{memory.path}/{_NOT_IN_A_NAMESPACE.sub('_', name)}")
        memory.replayed = False
        return Values(memory)

    def at(self, moment: Moment) -> Values:
        """Return the values as they were, read-only; see `Memory.at`."""
        return self.memory.at(moment).values

    # Async twins

    aset = twin(set)  # noqa: A003  (the verb above)
    aget = twin(get)
    adelete = twin(delete)
    alist = twin(list)  # noqa: A003  (the verb above)
    akeys = twin(keys)
    aclear = twin(clear)
    aupdate = twin(update)
    asetdefault = twin(setdefault)
    apop = twin(pop)
    apopitem = twin(popitem)
    aat = twin(at)


class _Items(ItemsView[str, Any]):
    """Read in one statement; the base class reads each value by itself."""

    _mapping: Values

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(self._mapping.memory.items())


class _Bodies(ValuesView[Any]):
    """Read in one statement, as `_Items`."""

    _mapping: Values

    def __iter__(self) -> Iterator[Any]:
        return (value for _key, value in self._mapping.memory.items())

    def __contains__(self, value: object) -> bool:
        return any(value is body or value == body for body in self)


def _save(key: str, value: Any, expected_revision: int | None = None) -> Save:
    if value is None:
        raise Refused(
            "A value cannot be null, which reads as a key that is not there; delete the key."
        )
    return Save(key=key, body=value, summary=KEEP, expected_revision=expected_revision)


def _contended(key: str) -> Busy:
    return Busy(f'"{key}" is written to all the time; nothing was done. Try again in a moment.')
