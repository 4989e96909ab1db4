"""What the index costs and how it grows, over HTTP: for whoever watches over many memories."""

from __future__ import annotations

from dataclasses import asdict

from django.http import HttpResponse
from rest_framework.request import Request

from .base import Endpoint
from .rendering import json_answer


class StatsView(Endpoint):
    """`GET stats/`: the fields of `Memory.stats` as JSON; no parameters.

    Every key may ask, as for the index.
    """

    http_method_names = ["get", "head"]
    takes_sessions = True

    def get(self, request: Request, workspace: str | None = None) -> HttpResponse:
        """Return the costs of the workspace's index."""
        self.access.require("view_note")
        memory = self.access.memory(workspace, place="stats/<workspace>/")
        stats = memory.stats()
        return json_answer(
            asdict(stats), headers={"Workspace-Revision": str(stats.workspace_revision)}
        )
