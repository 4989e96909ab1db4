"""Values over HTTP: a small store of JSON for programs, in the notes of a workspace."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from django_agent_memory.exceptions import Refused
from django_agent_memory.memory import Memory
from django_agent_memory.results import Forgot
from django_agent_memory.writing import Drop

from .base import Endpoint
from .parsing import (
    call_name,
    expected_revision,
    read_fields,
    read_json,
    read_query,
    whole_number,
)
from .rendering import json_answer, replay_headers


class ValuesView(Endpoint):
    """`values/`: get, list, set, delete and clear, as `Memory.values` has them.

    A key needs the tool that does the same: recall to get (and list_memories to list), remember to
    set, forget to delete and to clear. Objects in which a name stands twice are refused.
    """

    http_method_names = ["get", "head", "put", "post", "delete"]
    queried = ("GET", "HEAD", "DELETE")
    takes_call_names = True

    def get(self, request: Request, workspace: str | None = None) -> HttpResponse:
        """`?key=…`: the value, or 404. Else all whose key starts with `prefix`, in key order."""
        self.access.require("view_note", tool="recall")
        memory = self._memory(request, workspace, named=False)
        query = read_fields(read_query(request._request), required=(), optional=("key", "prefix"))
        if "key" not in query:
            return self._listed(memory, query.get("prefix", ""))
        if "prefix" in query:
            raise Refused("Give either key (one value) or prefix (all whose key starts with it).")
        found = memory.recall(query["key"])
        if found is None:
            raise NotFound("There is no value under this key.")
        answer = {
            "key": found.key,
            "value": found.body,
            "revision": found.revision,
            "created_at": found.created_at,
            "updated_at": found.updated_at,
        }
        return _answer(answer, memory, found.workspace_revision)

    def put(self, request: Request, workspace: str | None = None) -> HttpResponse:
        """Set `value` under `key`; `expected_revision` (or `If-Match`) and `reason` are free."""
        self.access.require("add_note", "change_note", tool="remember")
        memory = self._memory(request, workspace)
        fields = read_fields(
            read_json(request._request, unique_names=True),
            required=("key", "value"),
            optional=("expected_revision", "reason"),
        )
        done = memory.values.set(
            fields["key"],
            fields["value"],
            expected_revision=expected_revision(request._request, fields),
            reason=fields.get("reason", ""),
        )
        answer = {"key": done.key, "outcome": done.outcome, "revision": done.revision}
        return _answer(answer, memory, done.workspace_revision)

    post = put

    def delete(self, request: Request, workspace: str | None = None) -> HttpResponse:
        """Forget the value under `key`; with `clear`, which repeats the workspace's path, all.

        The fields stand in the query or in the body.
        """
        self.access.require("delete_note", tool="forget")
        memory = self._memory(request, workspace)
        fields = _told(request._request)
        expected = expected_revision(request._request, fields)
        reason = fields.get("reason", "")
        if "clear" in fields:
            _check_clear(fields, expected, memory)
            cleared = memory.clear(reason=reason)
            return _answer({"cleared": cleared.notes}, memory, cleared.workspace_revision)
        if "key" not in fields:
            raise Refused("The field 'key' is missing.")
        drop = Drop(key=fields["key"], expected_revision=expected)
        (done,) = memory.apply([drop], reason=reason)
        revision = done.revision if isinstance(done, Forgot) else None
        answer = {"key": done.key, "deleted": revision is not None, "revision": revision}
        return _answer(answer, memory, done.workspace_revision)

    def _memory(self, request: Request, workspace: str | None, *, named: bool = True) -> Memory:
        """Return the memory; for a write, which may be `named`, if the caller may write there."""
        name = call_name(request._request) if named else None
        memory = self.access.memory(workspace, place="values/<workspace>/", call_name=name)
        if named:
            self.access.require_workspace(memory)
        return memory

    def _listed(self, memory: Memory, prefix: str) -> HttpResponse:
        self.access.require("view_note", tool="list_memories")
        # Read first: what is listed is at least of this revision.
        last = memory.revision()
        return _answer({"values": memory.values.list(prefix)}, memory, last)


def _told(request: HttpRequest) -> dict[str, Any]:
    """Return the fields of a delete, from the query or from the body."""
    terms: dict[str, Any] = {
        "required": (),
        "optional": ("key", "clear", "expected_revision", "reason"),
    }
    body = read_json(request, unique_names=True)
    query = read_query(request)
    if not query:
        fields: dict[str, Any] = read_fields(body, **terms)
        return fields
    if body != {}:
        raise Refused("Give the fields in the query or in the body, not in both.")
    fields = read_fields(query, **terms)
    if "expected_revision" in fields:
        fields["expected_revision"] = whole_number(
            fields["expected_revision"], name="expected_revision"
        )
    return fields


def _check_clear(fields: dict[str, Any], expected: Any, memory: Memory) -> None:
    """Raise `Refused` unless all is meant to go, and this workspace is meant."""
    if "key" in fields:
        raise Refused("Give either key (one value goes) or clear (all of them go).")
    if expected is not None:
        raise Refused("A clear takes no expected revision; each note has its own.")
    if fields["clear"] != memory.path:
        raise Refused(f'To forget every note of this workspace, let clear be "{memory.path}".')


def _answer(data: dict[str, Any], memory: Memory, revision: int) -> HttpResponse:
    headers = {"Workspace-Revision": str(revision), **replay_headers(memory)}
    return json_answer({**data, "workspace_revision": revision}, headers=headers)
