"""What the pages share that do something to a whole workspace: ask first, then do it and say so."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.models import CHANGE
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from django_agent_memory.exceptions import AgentMemoryError, Busy
from django_agent_memory.models import Workspace

from . import links
from .access import may
from .base import Crumb, log


class ActionPage:
    """One request for such a page, of somebody who has all of `permissions` in the workspace."""

    name: ClassVar[str]
    permissions: ClassVar[tuple[str, ...]]

    def __init__(self, model_admin: Any, request: HttpRequest, workspace: Workspace) -> None:
        self.admin = model_admin
        self.request = request
        self.workspace = workspace
        self.site = model_admin.admin_site.name
        self.back = self.address("index")
        if not model_admin.has_view_permission(request, workspace):
            self.back = request.path

    def respond(self) -> HttpResponse:
        """Return the page, or do what was confirmed."""
        raise NotImplementedError

    def address(self, page: str) -> str:
        """Return the address of a page of this workspace."""
        return links.to_page(self.site, "workspace", page, self.workspace.pk)

    def crumbs(self) -> list[Crumb]:
        """Return the names and addresses of the pages above this one."""
        return [(self.workspace.path, self.back)]

    def may(self, *permissions: str) -> bool:
        """Whether this user has all of the permissions here."""
        return may(self.request, *permissions, path=self.workspace.path)

    def render(self, template: str, *, title: str, **context: Any) -> HttpResponse:
        """Render the page, with the way back to the workspace."""
        response: HttpResponse = self.admin.page(
            self.request,
            template,
            title=title,
            crumbs=self.crumbs(),
            workspace=self.workspace,
            back=self.back,
            **context,
        )
        return response

    def log(self, done: str, reason: str) -> None:
        """Leave a line for the workspace in Django's log."""
        log(self.request, [self.workspace], CHANGE, f"{done} {reason}".strip())

    def say(self, message: object, level: int) -> None:
        """Tell the person something on the next page."""
        self.admin.message_user(self.request, message, level)

    def say_failure(self, error: AgentMemoryError) -> None:
        """Say why nothing was written."""
        busy = _("The memory is busy, so nothing was written. Try it again.")
        self.say(busy if isinstance(error, Busy) else str(error), messages.ERROR)


def file_headers(workspace: Workspace, ending: str) -> dict[str, str]:
    """Return the headers by which a browser keeps an answer as a file about the workspace."""
    name = workspace.path.replace("/", "-")
    return {
        "Content-Disposition": f'attachment; filename="{name}{ending}"',
        "X-Content-Type-Options": "nosniff",
    }
