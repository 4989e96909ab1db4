"""A prompt over HTTP with what the memory knows in front of it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from django_agent_memory import prompts
from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Refused
from django_agent_memory.text import gate
from django_agent_memory.tools import TOOLS
from django_agent_memory.tools.knowledge import MOST_FOUND

from .base import Endpoint
from .parsing import read_fields, read_json
from .rendering import json_answer


class ComposeView(Endpoint):
    """`POST compose/` with `prompt`, the filters of find and `limit` (1 to 100, 10 without).

    A prompt is at most as long as a body.

    Answers as `text` the prompt with what find finds by it in front, or as it is where that is
    nothing. It reads only.

    A key needs the tool find, or search and recall: these two show no less.
    """

    http_method_names = ["post"]
    takes_sessions = True

    def post(self, request: Request, workspace: str | None = None) -> HttpResponse:
        """Compose the prompt."""
        if not self.access.may_use(TOOLS["find"]):
            for tool in ("search", "recall"):
                self.access.require("view_note", tool=tool)
        memory = self.access.memory(workspace, place="compose/<workspace>/")
        fields = read_fields(
            read_json(request._request), required=("prompt",), optional=prompts.FILTERS
        )
        asked = {name: value for name, value in fields.items() if value is not None}
        prompt = gate.check_text(fields["prompt"], name="prompt", limit=conf.max_body_length)
        _check_limit(asked)
        asked.pop("prompt")
        # Read first: what is found is at least of this revision.
        last = memory.revision()
        text = prompts.compose(memory, prompt, **asked)
        return json_answer({"text": text, "workspace_revision": last})


def _check_limit(asked: dict[str, Any]) -> None:
    limit = asked.get("limit", 1)
    if type(limit) is not int or not 1 <= limit <= MOST_FOUND:
        raise Refused(f"limit must be a whole number from 1 to {MOST_FOUND}.")
