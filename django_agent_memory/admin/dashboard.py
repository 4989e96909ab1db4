"""What the app's page of the admin says of all memories that a person may see."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from django_agent_memory.models import Note, Revision, Workspace
from django_agent_memory.text.flags import FLAGS
from django_agent_memory.text.rendering import estimated_tokens

from . import activity, links, plots
from .access import may_somewhere, within_any
from .flagged import badges
from .overview import about_sizes

DAYS = 30
TOP = 10


class Top(NamedTuple):
    """One of the largest workspaces: its page, and what its index takes of every turn, about."""

    path: str
    address: str
    notes: int
    lines: int
    characters: int
    tokens: int


class Dashboard(NamedTuple):
    """What is shown; None stands for what this person may not see."""

    workspaces: int | None
    notes: int | None
    notes_url: str
    flagged: list[tuple[SafeString, str, int]]
    writes: SafeString | None
    top: list[Top]
    days: int = DAYS


def dashboard(request: HttpRequest, site: str) -> Dashboard | None:
    """Return what this person may see of it, None for nothing, in at most six statements.

    `site` is the name of the admin site that the links are of.
    """
    sees = {kind: _may_see(request, kind) for kind in ("workspace", "note", "revision")}
    if not any(sees.values()):
        return None
    workspaces = _seen(request, Workspace.objects.all(), "workspace", workspace="pk")
    notes = _seen(request, Note.objects.seen_in(""), "note")
    return Dashboard(
        workspaces=workspaces.count() if sees["workspace"] else None,
        notes=notes.count() if sees["note"] else None,
        notes_url=links.to_list(site, "note"),
        flagged=_flagged(notes, site) if sees["note"] else [],
        writes=_writes(request) if sees["revision"] else None,
        top=_top(workspaces, site) if sees["workspace"] else [],
    )


def _may_see(request: HttpRequest, kind: str) -> bool:
    return any(may_somewhere(request, f"{verb}_{kind}") for verb in ("view", "change"))


def _seen(request: HttpRequest, rows: Any, kind: str, *, workspace: str = "workspace") -> Any:
    return within_any(request, rows, f"view_{kind}", f"change_{kind}", workspace=workspace)


def _flagged(notes: QuerySet[Note], site: str) -> list[tuple[SafeString, str, int]]:
    """Return each flag that a note has, the way to those notes, and how many there are."""
    counts = {flag: Count("pk", filter=Q(flags__contains=flag)) for flag in FLAGS}
    found = notes.filter(flags__gt="").order_by().aggregate(**counts)
    return [
        (badges([flag]), links.to_list(site, "note", flag=flag), found[flag])
        for flag in FLAGS
        if found[flag]
    ]


def _writes(request: HttpRequest) -> SafeString:
    log = _seen(request, Revision.objects.seen_in(""), "revision")
    # Named, so that the log is read by the index of workspace and time, and not as a whole.
    log = log.filter(workspace__in=Workspace.objects.values("pk"))
    points = activity.writes_by_day(log, activity.last_days(DAYS))
    return plots.bars("agent-memory-writes", points, title=_("Writes a day"), unit=_("Writes"))


def _top(workspaces: QuerySet[Workspace], site: str) -> list[Top]:
    """Return the workspaces with the most notes, as counted for find, the largest first."""
    largest = list(workspaces.filter(counted_notes__gt=0).order_by("-counted_notes", "path")[:TOP])
    sizes = about_sizes(largest)
    rows = []
    for row in largest:
        lines, characters = sizes.get(row.pk, (0, 0))
        address = links.to_page(site, "workspace", "index", row.pk)
        tokens = estimated_tokens(characters)
        rows.append(Top(row.path, address, row.counted_notes, lines, characters, tokens))
    return rows
