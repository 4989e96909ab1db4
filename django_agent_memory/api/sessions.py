"""The end of a session over HTTP."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from django_agent_memory.exceptions import Refused

from .base import Endpoint
from .parsing import call_name, session_name
from .rendering import json_answer, replay_headers


class EndSessionView(Endpoint):
    """`POST end-session/` with the header `Memory-Session`: forget what the session has to itself.

    Answers how many notes those were as `ended`. Whoever may remember may end a session, each
    credential its own only.
    """

    http_method_names = ["post"]
    takes_call_names = True
    takes_sessions = True

    def post(self, request: Request, workspace: str | None = None) -> HttpResponse:
        """End the session."""
        self.access.require("add_note", "change_note", tool="remember")
        if session_name(request._request) is None:
            raise Refused("Name the session in the header Memory-Session.")
        name = call_name(request._request)
        memory = self.access.memory(workspace, place="end-session/<workspace>/", call_name=name)
        self.access.require_workspace(memory)
        ended = memory.end_session()
        return json_answer(
            {"ended": ended, "workspace_revision": memory.revision()},
            headers=replay_headers(memory),
        )
