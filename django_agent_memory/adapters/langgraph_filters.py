"""LangGraph's filters: a value is looked into by name, with `$eq $ne $gt $gte $lt $lte`.

As in its `InMemoryStore`, but for what that one raises for: a value that is missing or cannot be
compared is not greater and not less.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from django_agent_memory.exceptions import Refused

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_OPERATORS = {"$eq", "$ne", *_ORDERS}


def check_filter(wanted: Any) -> None:
    """Raise `Refused` for what is no filter."""
    if wanted is None:
        return
    if not isinstance(wanted, Mapping):
        raise Refused("A filter is a dict of names and what their values are to be.")
    for condition in wanted.values():
        _check_condition(condition)


def fits(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether all conditions of a filter hold for the value."""
    return all(_holds(value.get(name), condition) for name, condition in (wanted or {}).items())


def _check_condition(condition: Any) -> None:
    if isinstance(condition, (list, tuple)):
        for part in condition:
            _check_condition(part)
    if not isinstance(condition, dict):
        return
    if not _has_operators(condition):
        check_filter(condition)
        return
    for name in condition:
        if name not in _OPERATORS:
            raise Refused(
                f"A filter has no operator {str(name)[:64]!r}; "
                "use $eq, $ne, $gt, $gte, $lt or $lte."
            )


def _has_operators(condition: dict[Any, Any]) -> bool:
    return any(isinstance(name, str) and name.startswith("$") for name in condition)


def _holds(found: Any, condition: Any) -> bool:
    if isinstance(condition, dict):
        if _has_operators(condition):
            return all(_compares(found, name, value) for name, value in condition.items())
        return isinstance(found, dict) and fits(found, condition)
    if isinstance(condition, (list, tuple)):
        return (
            isinstance(found, list)
            and len(found) == len(condition)
            and all(map(_holds, found, condition))
        )
    return bool(found == condition)


def _compares(found: Any, name: str, value: Any) -> bool:
    if name == "$eq":
        return bool(found == value)
    if name == "$ne":
        return bool(found != value)
    compare = _ORDERS[name]
    numbers = _number(found), _number(value)
    if None not in numbers:
        return bool(compare(*numbers))
    if isinstance(found, str) and isinstance(value, str):
        return bool(compare(found, value))
    return False


def _number(value: Any) -> float | None:
    """Return a number, or one that is written in a string; Python compares them exactly."""
    if isinstance(value, (int, float)):
        return value
    try:
        return float(value) if isinstance(value, str) else None
    except ValueError:
        return None
