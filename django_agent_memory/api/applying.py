"""Several changes over HTTP in one critical section: all of them, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from django_agent_memory import writing
from django_agent_memory.exceptions import Refused
from django_agent_memory.memory import Memory
from django_agent_memory.results import Forgot, Outcome, Remembered, Restored
from django_agent_memory.text import gate

from .base import Endpoint
from .known import KNOWN, read_known
from .parsing import call_name, read_fields, read_json
from .rendering import json_answer, replay_headers

MOST_CHANGES = 1_000
"""Changes of one request; a program that has more sends several."""

_SAID = ("summary", *KNOWN, "expected_revision")

# The fields of each kind of change that have to be there, and those that may be.
_FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "save": (("op", "key", "body"), _SAID),
    "store": (("op", "body"), ("key", *_SAID)),
    "drop": (("op", "key"), ("expected_revision",)),
    "restore": (("op", "key", "revision"), ("expected_revision",)),
}
# What a user needs for it, and the tool that an agent key needs.
_NEEDS: dict[str, tuple[tuple[str, ...], str]] = {
    "save": (("add_note", "change_note"), "remember"),
    "store": (("add_note", "change_note"), "store"),
    "drop": (("delete_note",), "forget"),
    "restore": (("add_note", "change_note", "delete_note"), "remember"),
}


class ApplyView(Endpoint):
    """`POST apply/` with `changes`, 1 to 1,000, and `reason`: `Memory.apply`, all or nothing.

    A change is an object with `op` and what the verb takes: `save` (key, body), `store` (body),
    `drop` (key), `restore` (key, revision), each with its own `expected_revision`. Answers an
    outcome each, in order. A change that can never be accepted is named by its number, from 1. A
    save without a summary leaves the index, as it does in Python.

    A kind of change takes what its tool takes: remember, store, forget, and remember for a restore.
    """

    http_method_names = ["post"]
    takes_call_names = True

    def post(self, request: Request, workspace: str | None = None) -> HttpResponse:
        """Apply the changes."""
        name = call_name(request._request)
        memory = self.access.memory(workspace, place="apply/<workspace>/", call_name=name)
        _refuse_precondition(request._request)
        fields = read_fields(
            read_json(request._request, unique_names=True),
            required=("changes",),
            optional=("reason",),
        )
        given = _changes(fields["changes"])
        for op in dict.fromkeys(change["op"] for change in given):
            permissions, tool = _NEEDS[op]
            self.access.require(*permissions, tool=tool)
        self.access.require_workspace(memory)
        changes = [_numbered(number, _change, change) for number, change in enumerate(given, 1)]
        try:
            outcomes = memory.apply(changes, reason=fields.get("reason", ""))
        except Refused:
            # Nothing is written. Which one it was is looked for only now: checking costs.
            for number, change in enumerate(changes, 1):
                _numbered(number, writing.check, change)
            raise
        return _answer(memory, outcomes)


def _refuse_precondition(request: HttpRequest) -> None:
    if "HTTP_IF_MATCH" in request.META:
        raise Refused("If-Match is for one note; here each change has its expected_revision.")


def _changes(value: object) -> list[dict[str, Any]]:
    """Return the changes, each an object with an `op` that there is."""
    if not isinstance(value, list) or not value:
        raise Refused("changes must be a list of one or more changes.")
    gate.check_length(len(value), name="list of changes", limit=MOST_CHANGES, unit="changes")
    for number, change in enumerate(value, 1):
        _numbered(number, _check_op, change)
    return value


def _check_op(change: object) -> None:
    if not isinstance(change, dict):
        raise Refused("A change must be a JSON object.")
    op = change.get("op")
    if not isinstance(op, str) or op not in _FIELDS:
        raise Refused(f"op must be one of: {', '.join(_FIELDS)}.")


def _numbered(number: int, step: Callable[[Any], Any], change: object) -> Any:
    """Return what the step makes of the change; what it refuses is said with the number."""
    try:
        return step(change)
    except Refused as refused:
        raise type(refused)(f"Change {number}: {refused}") from None


def _change(given: dict[str, Any]) -> writing.Change:
    """Return the change with the fields that its kind takes; `apply` checks what they hold."""
    required, optional = _FIELDS[given["op"]]
    if "persist" in given:
        raise Refused("persist is for the tools; apply/ writes what all share.")
    fields = read_fields(given, required=required, optional=optional)
    key: Any = fields.get("key")
    expected = fields.get("expected_revision")
    if fields["op"] == "drop":
        return writing.Drop(key=key, expected_revision=expected)
    if fields["op"] == "restore":
        if fields["revision"] == 0:
            raise Refused("There is no revision 0; revisions are numbered from 1.")
        return writing.Restore(key=key, revision=fields["revision"], expected_revision=expected)
    said: dict[str, Any] = {
        "body": fields["body"],
        "summary": fields.get("summary"),
        "expected_revision": expected,
        **read_known(fields),
    }
    if fields["op"] == "save":
        return writing.Save(key=key, **said)
    return writing.Store(key=key, **said)


def _answer(memory: Memory, outcomes: list[Outcome]) -> HttpResponse:
    answer = {
        "outcomes": [_as_json(outcome) for outcome in outcomes],
        "workspace_revision": outcomes[-1].workspace_revision,
    }
    return json_answer(answer, headers=replay_headers(memory))


def _as_json(outcome: Outcome) -> dict[str, Any]:
    said: dict[str, Any] = {"key": outcome.key, "outcome": outcome.outcome}
    if isinstance(outcome, (Remembered, Forgot, Restored)):
        said["revision"] = outcome.revision
    if isinstance(outcome, Restored):
        said |= {"restored_revision": outcome.restored_revision, "exists": outcome.exists}
    return said
