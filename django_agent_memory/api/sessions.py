"""The end of a session over HTTP."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from django_agent_memory.exceptions import Refused
from django_agent_memory.tools import TOOLS

from .access import Access
from .base import Endpoint
from .parsing import call_name, read_fields, read_json, session_name
from .rendering import json_answer, replay_headers


class EndSessionView(Endpoint):
    """`POST end-session/` with the header `Memory-Session`: forget what the session has to itself.

    Answers how many notes those were as `ended`. Whoever may write private notes may end a session,
    each credential its own only. It takes no fields.
    """

    http_method_names = ["post"]
    takes_call_names = True
    takes_sessions = True

    def post(self, request: Request, workspace: str | None = None) -> HttpResponse:
        """End the session."""
        self.access.require("add_note", "change_note", tool=_writing_tool(self.access))
        if session_name(request._request) is None:
            raise Refused("Name the session in the header Memory-Session.")
        name = call_name(request._request)
        memory = self.access.memory(workspace, place="end-session/<workspace>/", call_name=name)
        self.access.require_workspace(memory)
        read_fields(read_json(request._request), required=(), optional=())
        ended = memory.end_session()
        return json_answer(
            {"ended": ended, "workspace_revision": memory.revision()},
            headers=replay_headers(memory),
        )


def _writing_tool(access: Access) -> str:
    """Return the tool by which this credential writes private notes: remember, or store only."""
    only_stores = access.may_use(TOOLS["store"]) and not access.may_use(TOOLS["remember"])
    return "store" if only_stores else "remember"
