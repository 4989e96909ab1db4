"""The terms of a new agent key, checked alike wherever keys are issued; raises `Refused`."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from .exceptions import Refused
from .models import AgentKey
from .text import gate
from .tools import TOOLS

MAX_NAME_LENGTH = 200


def check_name(name: object) -> str:
    """Return the name exactly: it is the actor of every revision that the key writes."""
    checked = gate.check_text(name, name="name", limit=MAX_NAME_LENGTH)
    if not checked.strip():
        raise Refused("The name is empty; give the agent a label.")
    return checked


def check_access(access: Any, kinds: Sequence[str] = AgentKey.Access.values) -> str:
    """Return the access, one of those there are."""
    if access not in kinds:
        raise Refused(f"access must be one of: {', '.join(kinds)}.")
    return str(access)


def check_tools(names: Any, *, access: str) -> list[str] | None:
    """Return the tools without repeats; None is all that the access allows."""
    if names is None:
        return None
    if not isinstance(names, list) or not names:
        raise Refused("tools must be a list of one or more tools, or null for all of the access.")
    for name in names:
        if not isinstance(name, str) or name not in TOOLS:
            raise Refused(f"There is no tool '{name!s:.64}'; the tools are: {', '.join(TOOLS)}.")
        if access == AgentKey.Access.READ and not TOOLS[name].read_only:
            raise Refused(f"The tool '{name}' writes; a key with read access cannot use it.")
    return list(dict.fromkeys(names))


def check_expiry(expires_at: datetime.datetime | None) -> datetime.datetime | None:
    """Return the time, which must be to come; None is never."""
    if expires_at is not None and expires_at <= timezone.now():
        raise Refused("expires_at has passed: the key would never work.")
    return expires_at
