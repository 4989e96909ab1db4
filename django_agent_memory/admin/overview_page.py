"""The page of a workspace: what its agents see, what that costs, how it grew, what to look at."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from django_agent_memory.conf import conf
from django_agent_memory.index import read_index
from django_agent_memory.models import IndexEntry, Revision, Workspace

from . import activity, links, overview, plots
from .access import may
from .action_page import file_headers
from .marking import marked
from .shown import key_text
from .sizes import growth

DAYS = 90

_WRONG = (
    ngettext_lazy("%d line without a note", "%d lines without a note"),
    ngettext_lazy("%d line cut by the index budget", "%d lines cut by the index budget"),
    ngettext_lazy("%d flagged note", "%d flagged notes"),
)


class OverviewPage:
    """One request for the page, or for the index as a file of text."""

    def __init__(self, model_admin: Any, request: HttpRequest, workspace: Workspace) -> None:
        self.admin = model_admin
        self.request = request
        self.workspace = workspace
        self.site = model_admin.admin_site.name

    def respond(self) -> HttpResponse:
        """Return the page."""
        workspace = self.workspace
        shown = overview.shown_index(workspace)
        counts = overview.counts_of(workspace)
        size = overview.size_of(workspace, shown, counts)
        keys, dangling = overview.dangling_keys(workspace)
        sessions, private = overview.private_counts(workspace)
        change = links.to_page(self.site, "workspace", "change", workspace.pk)
        response: HttpResponse = self.admin.page(
            self.request,
            "overview.html",
            title=_("What the agent sees"),
            crumbs=[(workspace.path, change)],
            workspace=workspace,
            text=marked(shown.text),
            is_whole=shown.is_whole,
            most_shown=overview.MOST_SHOWN,
            stats=size,
            growth=growth(size.stats) if size.stats is not None else "",
            counts=counts,
            counts_recalls=conf.usage_seconds is not None,
            sessions=sessions,
            private=private,
            lines=[self._line(line) for line in overview.dearest_lines(workspace)],
            plots=self._plots(size.lines),
            days=DAYS,
            dangling=[(key_text(key), self._add(key)) for key in keys],
            dangling_total=dangling,
            tools=[(_("Settings"), change), *self.admin.actions_on(self.request, workspace)],
            text_url=links.to_page(self.site, "workspace", "index_text", workspace.pk),
            notes_url=self._notes(),
            health=self._health(size, counts, dangling),
            found=self._found(counts),
            can_see_notes=self._may("view_note"),
            can_add_notes=self._may("add_note"),
        )
        return response

    def as_text(self) -> HttpResponse:
        """Return the whole index text, exactly as agents get it, as a file."""
        text = read_index(self.workspace.path, using=IndexEntry.objects.all().db).text
        headers = file_headers(self.workspace, "-index.txt")
        return HttpResponse(text, content_type="text/plain; charset=utf-8", headers=headers)

    def _plots(self, lines: int) -> list[SafeString]:
        days = activity.last_days(DAYS)
        log = Revision.objects.filter(workspace=self.workspace).seen_in("")
        grown = activity.lines_by_day(self.workspace, lines, days)
        written = activity.writes_by_day(log, days)
        return [
            plots.line(
                "agent-memory-growth", grown, title=_("Lines of the index"), unit=_("Lines")
            ),
            plots.bars("agent-memory-writes", written, title=_("Writes a day"), unit=_("Writes")),
        ]

    def _health(self, size: overview.Size, counts: dict[str, int], dangling: int) -> str:
        """Return what a person should look at here, in the order of how much agents miss by it."""
        numbers = (dangling, size.lines - size.shown, counts["flagged"])
        wrong = [words % number for words, number in zip(_WRONG, numbers, strict=True) if number]
        return ", ".join(wrong) or _("good: nothing asks for a look")

    def _found(self, counts: dict[str, int]) -> list[tuple[Any, Any, str]]:
        """Return what is counted, how many, and the way to these notes for who may see them."""
        stale = _("Neither written nor recalled for %s days") % overview.STALE.days
        never = {"recalled": "never", "expiry": "live"}
        rows: list[tuple[Any, int, dict[str, str]]] = [
            (_("Never recalled"), counts["never_recalled"], never),
            (stale, counts["stale"], {"recalled": "stale", "expiry": "live"}),
            (_("Flagged"), counts["flagged"], {"flag": "any"}),
            (_("Expired, not yet removed"), counts["expired"], {"expiry": "expired"}),
        ]
        may_see = self._may("view_note")
        found: list[tuple[Any, Any, str]] = [
            (name, count, self._notes(**filters) if count and may_see else "")
            for name, count, filters in rows
        ]
        if conf.usage_seconds is None:
            found[0] = (_("Never recalled"), _("not counted"), "")
        return found

    def _line(self, line: overview.Line) -> tuple[Any, str, int, int]:
        """Return a key, the way to its note, and what its line costs."""
        is_linked = line.note_id is not None and self._may("view_note")
        address = links.to_page(self.site, "note", "change", line.note_id or 0) if is_linked else ""
        return key_text(line.key, most=80), address, line.characters, line.tokens

    def _notes(self, **filters: str) -> str:
        return links.to_list(self.site, "note", workspace=self.workspace.path, **filters)

    def _add(self, key: str) -> str:
        return links.to_add(self.site, "note", workspace=self.workspace.pk, key=key)

    def _may(self, permission: str) -> bool:
        return may(self.request, permission, path=self.workspace.path)
