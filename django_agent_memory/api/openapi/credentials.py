"""Agent keys and grants as operations: for users alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django_agent_memory.api.credentials import (
    MAX_OVERLAP_HOURS,
    AgentKeyViewSet,
    GrantViewSet,
)
from django_agent_memory.key_terms import MAX_NAME_LENGTH
from django_agent_memory.models import AgentKey, Grant
from django_agent_memory.tools import TOOLS

from . import parts
from .operation import Operation
from .parts import Schema, integer, moment, nullable, primary_key, text

_TAG = "Access"


def access(choices: type[AgentKey.Access | Grant.Access]) -> Schema:
    """Return the schema of an access."""
    return text(enum=[str(value) for value in choices.values])


def _issue() -> Operation:
    name = text("It signs what is written.", minLength=1, maxLength=MAX_NAME_LENGTH)
    tools = {"type": "array", "items": text(enum=list(TOOLS)), "minItems": 1}
    terms = {
        "workspace": parts.path(),
        "name": name,
        "access": access(AgentKey.Access),
        "tools": parts.said(nullable(tools), "Only these; null for all of its access."),
        "user": parts.said(
            nullable(primary_key()), "Whose it is: it works as long as they may log in."
        ),
        "expires_at": nullable(moment("From when on it works no more; null for never.")),
    }
    return Operation(
        id="issue_agent_key",
        summary="Issue an agent key",
        tag=_TAG,
        description="The secret is in this answer and nowhere else.",
        answers=("IssuedAgentKey",),
        status=201,
        body=parts.fields(terms, required=("workspace", "name")),
        body_name="NewAgentKey",
        example={"workspace": "core", "name": "desk", "access": "read", "tools": ["recall"]},
        for_users=True,
    )


def _revoke() -> Operation:
    return Operation(
        id="revoke_agent_key",
        summary="Revoke an agent key",
        tag=_TAG,
        description="For good; the row stays.",
        answers=("AgentKey", "AgentKeyReceipt"),
        for_users=True,
    )


def _rotate() -> Operation:
    hours = integer("How long the old one works on; 24 without.", maximum=MAX_OVERLAP_HOURS)
    return Operation(
        id="rotate_agent_key",
        summary="Issue another key on the same terms",
        tag=_TAG,
        description="The secret is in this answer and nowhere else.",
        answers=("IssuedAgentKey",),
        status=201,
        body=parts.fields({"overlap_hours": hours}, required=()),
        body_name="Rotation",
        body_required=False,
        example={"overlap_hours": 48},
        for_users=True,
    )


def _give() -> Operation:
    terms = {
        "workspace": parts.path(),
        "user": nullable(primary_key()),
        "group": nullable(primary_key()),
        "access": access(Grant.Access),
    }
    return Operation(
        id="give_grant",
        summary="Give a user or a group access to a workspace",
        tag=_TAG,
        description="Either to a user or to a group; 409 if they have a grant there already.",
        answers=("Grant",),
        status=201,
        body=parts.fields(terms, required=("workspace", "access")),
        body_name="NewGrant",
        example={"workspace": "core", "user": 1, "access": "read"},
        problems=(409,),
        for_users=True,
    )


def _change() -> Operation:
    return Operation(
        id="change_grant",
        summary="Change the access of a grant",
        tag=_TAG,
        answers=("Grant",),
        body=parts.fields({"access": access(Grant.Access)}, required=("access",)),
        body_name="GrantChange",
        example={"access": "read-write"},
        for_users=True,
    )


def _take_back() -> Operation:
    return Operation(
        id="take_back_grant",
        summary="Take a grant back",
        tag=_TAG,
        answers=("GrantDeleted",),
        for_users=True,
    )


_OPERATIONS: dict[tuple[type[Any], str], Callable[[], Operation]] = {
    (AgentKeyViewSet, "create"): _issue,
    (AgentKeyViewSet, "destroy"): _revoke,
    (AgentKeyViewSet, "rotate"): _rotate,
    (GrantViewSet, "create"): _give,
    (GrantViewSet, "partial_update"): _change,
    (GrantViewSet, "destroy"): _take_back,
}


def credential_operation(view: type[Any], action: str) -> Operation:
    """Return what the action does to keys or grants; raises `LookupError` where that is unknown."""
    return _OPERATIONS[view, action]()
