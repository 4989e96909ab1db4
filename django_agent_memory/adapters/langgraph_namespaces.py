"""LangGraph's namespaces as workspace paths, and back: nothing is lost, nothing meets another.

A label has no full stop, and a segment of a path may have one. So every character of a label that
no segment can have stands between two of them as its number in hexadecimal: `ann lee` is the
segment `ann.20.lee`. Wherever such a workspace is shown, it is under that name.

A segment that is no label's, such as `user.42`, is shown as it is: with its full stop it is no
label either, and LangGraph does not take it to read or write there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from django_agent_memory.exceptions import Refused
from django_agent_memory.text import gate

Namespace = tuple[str, ...]

_NOT_IN_A_SEGMENT = re.compile(r"[^A-Za-z0-9_@+-]")
_ESCAPED = re.compile(r"\.([0-9a-f]{1,5}|10[0-9a-f]{4})\.")


def path_of(namespace: Namespace, root: str) -> str:
    """Return the path of the workspace below `root`; `Refused` if it is over 255 characters."""
    return gate.check_path("/".join([root, *map(_segment, namespace)]))


@lru_cache(maxsize=1_000)
def namespace_of(path: str, root: str) -> Namespace:
    """Return the namespace of a workspace that is at or below `root`."""
    below = path[len(root) + 1 :]
    return tuple(map(_label, below.split("/"))) if below else ()


def matches(namespace: Namespace, conditions: Iterable[Any]) -> bool:
    """Whether all of LangGraph's match conditions fit; `*` is any one label."""
    return all(_fits(namespace, condition) for condition in conditions)


def _fits(namespace: Namespace, condition: Any) -> bool:
    wanted = tuple(condition.path)
    if len(namespace) < len(wanted):
        return False
    if condition.match_type == "prefix":
        part = namespace[: len(wanted)]
    elif condition.match_type == "suffix":
        part = namespace[len(namespace) - len(wanted) :]
    else:
        raise Refused("A namespace is matched by 'prefix' or by 'suffix'.")
    return all(want in ("*", label) for want, label in zip(wanted, part, strict=True))


def _segment(label: str) -> str:
    return _NOT_IN_A_SEGMENT.sub(lambda match: f".{ord(match[0]):x}.", label)


def _label(segment: str) -> str:
    label = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), segment)
    return label if _segment(label) == segment else segment
