"""What the index of a workspace costs on every turn, and what it gains a day.

Growth is measured over the last 30 days; over the age of a younger workspace; and no further back
than retention left the past complete. What was written then is compared with what `Memory.at` shows
of the moment before: redacted text is blank there, and erased text was never there. Less than a day
counts as one, so that what was gained in an hour is not taken to go on all day.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from django.db.models import Count, Min
from django.utils import timezone

from .index import read_index
from .models import Note, Revision, Workspace
from .models.revision import RevisionQuerySet
from .results import Index, Stats
from .streaming import stream
from .text import rendering

WINDOW = datetime.timedelta(days=30)
_DAY = datetime.timedelta(days=1)
_BATCH = 500


def stats(path: str, *, using: str, session: str = "") -> Stats:
    """Return what the index costs and how it grows; zeros for a workspace that is not there.

    With a cached index text it takes up to six statements, and two for each 500 keys that were
    written in the window, however much is older.
    """
    index = read_index(path, using=using, session=session)
    workspace = Workspace.objects.using(using).filter(path=path).first()
    if workspace is None:
        return measure(index, notes=0, budget=None, days=0.0, gained=(0, 0))
    log = Revision.objects.using(using).filter(workspace=workspace).seen_in(session)
    notes = Note.objects.using(using).filter(workspace=workspace).live(session=session).count()
    return _grown(workspace, index, log, notes=notes, now=timezone.now())


def stats_then(
    workspace: Workspace, index: Index, *, notes: int, using: str, session: str = ""
) -> Stats:
    """Return the same as of the revision of `index`: the window ends with its time."""
    log = Revision.objects.using(using).filter(workspace=workspace).seen_in(session)
    times = log.up_to(index.workspace_revision).order_by("-number").values_list("created_at")
    (now,) = times.first() or (workspace.created_at,)
    return _grown(workspace, index, log, notes=notes, now=now)


def measure(
    index: Index, *, notes: int, budget: int | None, days: float, gained: tuple[int, int]
) -> Stats:
    """Return the costs of the index text, with the lines and characters `gained` in `days`."""
    shown, lines = rendering.index_size(index.text)
    lines_a_day, characters_a_day = (amount / days if days else 0.0 for amount in gained)
    return Stats(
        notes=notes,
        lines=lines,
        shown=shown,
        characters=len(index.text),
        tokens=rendering.estimated_tokens(len(index.text)),
        index_budget=budget,
        growth_days=days,
        lines_per_day=lines_a_day,
        characters_per_day=characters_a_day,
        tokens_per_day=characters_a_day / rendering.CHARACTERS_A_TOKEN,
        workspace_revision=index.workspace_revision,
    )


def _grown(
    workspace: Workspace,
    index: Index,
    log: RevisionQuerySet,
    *,
    notes: int,
    now: datetime.datetime,
) -> Stats:
    before, begin = _window(workspace, log, index.workspace_revision, now)
    lines, characters = _gained(log, before, index.workspace_revision)
    _shown, lines_now = rendering.index_size(index.text)
    # The header is there as long as there is a line.
    header = (lines_now > 0) - (lines_now > lines)
    return measure(
        index,
        notes=notes,
        budget=workspace.index_budget,
        days=max(now - begin, _DAY) / _DAY,
        gained=(lines, characters + header * len(rendering.INDEX_HEADER)),
    )


def _window(
    workspace: Workspace, log: RevisionQuerySet, last: int, now: datetime.datetime
) -> tuple[int, datetime.datetime]:
    """Return the last revision before the window, 0 for none, and when the window begins."""
    number, begin = 0, max(workspace.created_at, now - WINDOW)
    if workspace.created_at < begin:
        # Counted too, so that no planner walks the log from its start to find the least number.
        inside = log.filter(created_at__gt=begin).aggregate(first=Min("number"), rows=Count("pk"))
        number = min(inside["first"] - 1, last) if inside["rows"] else last
    if number >= workspace.history_from:
        return number, begin
    complete = log.filter(number__gte=workspace.history_from).order_by("number")
    return complete.values_list("number", "created_at").first() or (last, now)


def _gained(log: RevisionQuerySet, before: int, last: int) -> tuple[int, int]:
    """Return how many lines and characters the revisions after `before` brought to the index."""
    inside = log.filter(number__range=(before + 1, last)).order_by("number")
    rows = inside.values_list("key", "summary")
    now = {
        key: _length(key, summary) for key, summary in stream(rows, at_most=max(0, last - before))
    }
    then = dict.fromkeys(now, 0)
    for key, summary in _older(log, list(now) if before else [], before):
        then[key] = _length(key, summary)
    lines = sum((now[key] > 0) - (then[key] > 0) for key in now)
    return lines, sum(now.values()) - sum(then.values())


def _older(log: RevisionQuerySet, keys: list[str], before: int) -> Iterator[tuple[str, str | None]]:
    """Yield each key that was written up to `before`, with its summary then.

    In two plain steps: told in one statement, each planner finds a way to compare all with all.
    """
    for start in range(0, len(keys), _BATCH):
        numbers = [last for _key, last in log.last_of(keys[start : start + _BATCH], before)]
        if numbers:
            yield from log.filter(number__in=numbers).values_list("key", "summary")


def _length(key: str, summary: str | None) -> int:
    """Return how much of the text the line is, 0 where there is none."""
    return 0 if summary is None else 1 + len(rendering.index_line(key, summary))
