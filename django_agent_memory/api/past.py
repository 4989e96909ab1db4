"""The past over HTTP: the revisions of a key, a memory at a moment, and going back to it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from django_agent_memory.exceptions import Refused
from django_agent_memory.history import Moment
from django_agent_memory.memory import Memory
from django_agent_memory.results import Revised

from .base import Endpoint
from .known import known_fields
from .moments import parse_aware_moment
from .parsing import (
    call_name,
    expected_revision,
    read_fields,
    read_json,
    read_query,
    whole_number,
)
from .rendering import json_answer, replay_headers


class HistoryView(Endpoint):
    """`GET history/?key=…`: every revision of the key, oldest first, as rows and as lines."""

    http_method_names = ["get", "head"]
    queried = ("GET", "HEAD")
    takes_sessions = True

    def get(self, request: Request, workspace: str | None = None) -> HttpResponse:
        """Return the revisions."""
        self.access.require("view_revision", tool="recall")
        memory = self.access.memory(workspace, place="history/<workspace>/")
        query = read_fields(read_query(request._request), required=("key",), optional=())
        revisions = memory.history(query["key"])
        return json_answer(
            {
                "text": "\n".join(memory.lines_of(revisions)),
                "key": query["key"],
                "revisions": [_as_json(revised) for revised in revisions],
                "workspace_revision": memory.revision(),
            }
        )


class AsOfView(Endpoint):
    """`GET as-of/?revision=…` or `?at=…` (a time with its offset): the memory as it was.

    With `key` what the key said then; without, the index text and the keys of then.
    """

    http_method_names = ["get", "head"]
    queried = ("GET", "HEAD")
    takes_sessions = True

    def get(self, request: Request, workspace: str | None = None) -> HttpResponse:
        """Return the state at the moment."""
        self.access.require("view_revision", tool="recall")
        memory = self.access.memory(workspace, place="as-of/<workspace>/")
        query = read_fields(
            read_query(request._request), required=(), optional=("key", "revision", "at")
        )
        moment = _moment(query)
        if "key" in query:
            found = memory.as_of(query["key"], moment)
            return json_answer({"key": query["key"], **_found(found, memory)})
        past = memory.at(moment)
        return json_answer(
            {
                "text": past.index_note(),
                "keys": list(past.keys()),
                "revision": past.revision(),
                "workspace_revision": memory.revision(),
            }
        )


class RestoreView(Endpoint):
    """`POST restore/` with `key` and `revision`: bring back what the key said, in a new revision.

    `expected_revision` (or `If-Match`) is what the caller takes the note to be at now.
    """

    http_method_names = ["post"]
    takes_call_names = True
    takes_sessions = True

    def post(self, request: Request, workspace: str | None = None) -> HttpResponse:
        """Restore the key."""
        self.access.require("add_note", "change_note", "delete_note", tool="remember")
        memory = self.access.memory(
            workspace, place="restore/<workspace>/", call_name=call_name(request._request)
        )
        self.access.require_workspace(memory)
        fields = read_fields(
            read_json(request._request),
            required=("key", "revision"),
            optional=("expected_revision", "reason"),
        )
        done = memory.restore(
            fields["key"],
            fields["revision"],
            expected_revision=expected_revision(request._request, fields),
            reason=fields.get("reason", ""),
        )
        answer = {
            "key": done.key,
            "outcome": done.outcome,
            "exists": done.exists,
            "revision": done.revision,
            "restored_revision": done.restored_revision,
            "workspace_revision": done.workspace_revision,
        }
        return json_answer(answer, headers=replay_headers(memory))


class RollbackView(Endpoint):
    """`POST rollback/` with `actor` and `since` (a revision number or a time): undo an actor.

    For users who may add, change and delete notes.
    """

    http_method_names = ["post"]

    def post(self, request: Request, workspace: str | None = None) -> HttpResponse:
        """Roll back what the actor wrote."""
        self.access.require("add_note", "change_note", "delete_note")
        memory = self.access.memory(workspace, place="rollback/<workspace>/")
        fields = read_fields(
            read_json(request._request), required=("actor", "since"), optional=("reason",)
        )
        if not isinstance(fields["actor"], str):
            raise Refused("actor must be a string.")
        done = memory.rollback(
            actor=fields["actor"],
            since=_since(fields["since"]),
            reason=fields.get("reason", ""),
        )
        return json_answer(
            {
                "restored": [restored.key for restored in done.restored],
                "left_alone": list(done.left_alone),
                "workspace_revision": memory.revision(),
            }
        )


def _moment(query: dict[str, str]) -> Moment:
    if ("revision" in query) == ("at" in query):
        raise Refused("Give either revision (a number) or at (a time with its offset).")
    if "at" in query:
        return parse_aware_moment(query["at"], name="at")
    return whole_number(query["revision"], name="revision")


def _since(value: object) -> Moment:
    if isinstance(value, str):
        return parse_aware_moment(value, name="since")
    if type(value) is int and value >= 0:
        return value
    raise Refused("since must be a revision number or a time with its offset.")


def _found(revised: Revised | None, memory: Memory) -> dict[str, Any]:
    last = {"workspace_revision": memory.revision()}
    if revised is None:
        return {"found": False, **last}
    return {"found": True, **_as_json(revised), **last}


def _as_json(revised: Revised) -> dict[str, Any]:
    return {
        "number": revised.number,
        "operation": revised.operation,
        "exists": revised.exists,
        "summary": revised.summary,
        "body": revised.body,
        **known_fields(revised),
        "redacted": revised.redacted,
        "actor": revised.actor,
        "reason": revised.reason,
        "created_at": revised.created_at,
    }
