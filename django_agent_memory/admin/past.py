"""What the pages about the past of a key share: which key, what it says, who may restore it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from django.contrib import messages
from django.db.models import F
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from django_agent_memory.models import Note, Revision, Workspace
from django_agent_memory.models.revision import RevisionQuerySet
from django_agent_memory.results import Details
from django_agent_memory.text.gate import is_storable
from django_agent_memory.text.rendering import one_line

from . import links, newlines
from .access import may, within_any
from .base import Crumb
from .numbers import is_number
from .shown import LIST_KEY

_SEEING = ("view_revision", "change_revision")


class Said(NamedTuple):
    """What a key says or said: `text` is None for no note, `summary` None for no index line.

    `details` are None where there is no note, and where they are redacted.
    """

    text: str | None = None
    is_json: bool = False
    summary: str | None = None
    redacted: bool = False
    details: Details | None = None

    @classmethod
    def by(cls, row: Any) -> Said:
        """Return what a revision or an annotated note says, None being nothing."""
        if row is None:
            return cls()
        redacted = getattr(row, "redacted", False)
        details = None if row.body is None or redacted else row.known
        return cls(row.body, row.body_is_json, row.summary, redacted, details)


class PastPage:
    """One request about the past of the key that the query names."""

    # One of these opens the page.
    permissions: ClassVar[tuple[str, ...]] = _SEEING
    workspace: Workspace

    def __init__(self, model_admin: Any, request: HttpRequest) -> None:
        self.admin = model_admin
        self.request = request
        self.site = model_admin.admin_site.name
        # A key can hold LF and no CR; a form that carries one sends CRLF for it.
        self.key = newlines.plain(request.GET.get("key", ""))

    def respond(self) -> HttpResponse:
        """Return the page, or go to the list where the query names none that they may see."""
        path = self.request.GET.get("workspace", "")
        seen = within_any(self.request, Workspace.objects.all(), *self.permissions, workspace="pk")
        found = is_storable(path + self.key) and seen.filter(path=path).first()
        if not found:
            self.say(_("This workspace does not exist."), messages.WARNING)
            return HttpResponseRedirect(links.to_list(self.site, "revision"))
        self.workspace = found
        return self.answer()

    def answer(self) -> HttpResponse:
        """Return the page about `workspace` and `key`."""
        raise NotImplementedError

    # Reading

    def revisions(self) -> RevisionQuerySet:
        """Return the revisions of the key, but private ones."""
        rows: RevisionQuerySet = Revision.objects.filter(workspace=self.workspace, key=self.key)
        return rows.seen_in("")

    def numbered(self, numbers: Iterable[int | None]) -> dict[int, Revision]:
        """Return the revisions of the key with these numbers."""
        wanted = {number for number in numbers if number is not None}
        return {row.number: row for row in self.revisions().filter(number__in=wanted)}

    def note(self) -> Any:
        """Return the note under the key with its `summary`, None if it is forgotten."""
        notes = Note.objects.seen_in("").filter(workspace=self.workspace, key=self.key)
        return notes.annotate(summary=F("entry__summary")).defer("haystack").first()

    def number(self, name: str) -> int | None:
        """Return a revision number of the query, None for anything else."""
        given = self.request.GET.get(name, "")
        return int(given) if is_number(given) else None

    # Answering

    def render(self, template: str, *, title: object, crumbs: list[Crumb], **more: Any) -> Any:
        """Render a page with what all of them show."""
        return self.admin.page(
            self.request,
            template,
            title=title,
            crumbs=crumbs,
            workspace=self.workspace,
            key=self.key,
            timeline_url=self.address("timeline"),
            **more,
        )

    def address(self, page: str, **more: int) -> str:
        """Return the address of a page about the same key."""
        return links.to_past(self.site, page, self.workspace.path, self.key, **more)

    def sees_past(self) -> bool:
        """Whether this user may look at the timeline of the key."""
        return any(may(self.request, name, path=self.workspace.path) for name in _SEEING)

    def elsewhere(self) -> str:
        """Return the address to go back to: the timeline, or the index for who may not see that."""
        if self.sees_past():
            return self.address("timeline")
        return reverse("admin:index", current_app=self.site)

    def to_timeline(self, message: object, level: int) -> HttpResponse:
        """Go to the timeline of the key with a message."""
        self.say(message, level)
        return HttpResponseRedirect(self.address("timeline"))

    def say(self, message: object, level: int) -> None:
        """Leave a message for the next page."""
        self.admin.message_user(self.request, message, level)

    def crumb(self) -> Crumb:
        """Return the way back to the timeline."""
        return (self.short_key(), self.address("timeline"))

    def short_key(self) -> str:
        """Return the key for a title: on one line, and not the whole of a long one."""
        line = one_line(self.key)
        return line if len(line) <= LIST_KEY else f"{line[:LIST_KEY]}…"


def may_restore(request: HttpRequest, path: str, *, is_gone: bool, to_nothing: bool) -> bool:
    """Whether this user may bring back a revision of a key in the workspace at `path`.

    It changes a note; where the note is gone it adds one, and a forget brought back deletes one.
    """
    names = ["change_note", *["add_note"] * is_gone, *["delete_note"] * to_nothing]
    may_see = any(may(request, name, path=path) for name in _SEEING)
    return may_see and may(request, *names, path=path)
