"""What the page of a workspace counts and measures: in SQL, and no text beyond what it shows."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import Case, Count, Exists, IntegerField, OuterRef, Q, QuerySet, Sum, When
from django.db.models.functions import Least, Length
from django.utils import timezone

from django_agent_memory.index import index_entries, read_head, read_index
from django_agent_memory.memory import Memory
from django_agent_memory.models import IndexEntry, Note, NoteUsage, Workspace
from django_agent_memory.results import Stats
from django_agent_memory.text import rendering

MOST_SHOWN = 100_000
"""Characters of the index text that a page shows."""

STALE = datetime.timedelta(days=90)
"""A note that nobody wrote or recalled for so long is stale."""

DEAREST = 10
SAMPLE = 20
_AROUND = len("\n" + rendering.index_line("", "s")) - len("s")


class Shown(NamedTuple):
    """The index text as far as a page shows it."""

    text: str
    is_whole: bool


class Size(NamedTuple):
    """What the index text takes of every turn; `stats` is known where the text is shown whole."""

    notes: int
    lines: int
    shown: int
    characters: int
    tokens: int
    stats: Stats | None

    @property
    def is_about(self) -> bool:
        """Whether characters and tokens are estimated: white space and long keys are not folded."""
        return self.stats is None


class Line(NamedTuple):
    """A line of the index and what it costs: its characters, with the newline before it."""

    key: str
    characters: int
    tokens: int
    note_id: int | None


def shown_index(workspace: Workspace) -> Shown:
    """Return the index text, at most its first 100,000 characters in whole lines."""
    using = IndexEntry.objects.all().db
    budget = workspace.index_budget
    if budget is not None and budget <= MOST_SHOWN:
        return Shown(read_index(workspace.path, using=using).text, is_whole=True)
    return Shown(*read_head(workspace, using=using, most=MOST_SHOWN))


def size_of(workspace: Workspace, shown: Shown, counts: dict[str, int]) -> Size:
    """Return the size of the index, exact where it is shown whole and else counted by SQL."""
    if shown.is_whole:
        stats = Memory(workspace).stats()
        return Size(
            stats.notes, stats.lines, stats.shown, stats.characters, stats.tokens, stats=stats
        )
    sums = _entries_of(workspace).order_by().aggregate(lines=Count("pk"), characters=_characters())
    whole = _about(sums["characters"], None)
    characters = _about(sums["characters"], workspace.index_budget)
    lines: int = sums["lines"]
    tokens = rendering.estimated_tokens(characters)
    return Size(counts["notes"], lines, lines * characters // whole, characters, tokens, None)


def counts_of(workspace: Workspace) -> dict[str, int]:
    """Return how many of the notes that all share are what, in one statement.

    `notes` can be recalled, `never_recalled` and `stale` are of those; `expired` wait for their
    tombstone; `flagged` may be either.
    """
    now = timezone.now()
    same = {"workspace": OuterRef("workspace"), "position": OuterRef("position")}
    usage = NoteUsage.objects.filter(**same)
    live = Q(expires_at=None) | Q(expires_at__gt=now)
    unrecalled, long_ago = ~Q(recalled=True), Q(updated_at__lt=now - STALE)
    notes = Note.objects.filter(workspace=workspace).seen_in("")
    marked = notes.annotate(
        recalled=Exists(usage), used=Exists(usage.filter(recalled_at__gte=now - STALE))
    )
    counts: dict[str, int] = marked.order_by().aggregate(
        notes=Count("pk", filter=live),
        expired=Count("pk", filter=Q(expires_at__lte=now)),
        flagged=Count("pk", filter=Q(flags__gt="")),
        never_recalled=Count("pk", filter=live & unrecalled),
        stale=Count("pk", filter=live & long_ago & Q(used=False)),
    )
    return counts


def private_counts(workspace: Workspace) -> tuple[int, int]:
    """Return how many sessions have notes to themselves there, and how many notes."""
    private = Note.objects.filter(workspace=workspace).private().order_by()
    counted = private.aggregate(sessions=Count("session", distinct=True), notes=Count("pk"))
    return counted["sessions"], counted["notes"]


def dearest_lines(workspace: Workspace) -> list[Line]:
    """Return the ten longest lines, the longest first, in two statements.

    They are found by the length of key and summary as stored, and measured as rendered.
    """
    longest = list(_entries_of(workspace).order_by(_length().desc(), "key")[:DEAREST])
    notes = Note.objects.filter(workspace=workspace, key__in=[key for key, _ in longest])
    ids = dict(notes.seen_in("").values_list("key", "pk"))
    lines = [
        Line(key, size, rendering.estimated_tokens(size), ids.get(key))
        for key, summary in longest
        for size in [1 + len(rendering.index_line(key, summary))]
    ]
    return sorted(lines, key=lambda line: (-line.characters, line.key))


def dangling_keys(workspace: Workspace) -> tuple[list[str], int]:
    """Return the first keys whose line agents see with nothing to recall, and how many there are.

    One statement where there is none, two otherwise.
    """
    same = {"workspace": OuterRef("workspace"), "key": OuterRef("key")}
    entries = IndexEntry.objects.filter(workspace=workspace)
    dangling = entries.filter(~Exists(Note.objects.filter(**same)))
    total = dangling.count()
    sample = dangling.order_by("key").values_list("key", flat=True)[:SAMPLE]
    return (list(sample) if total else []), total


def about_sizes(workspaces: Sequence[Workspace]) -> dict[int, tuple[int, int]]:
    """Return lines and characters of the index of each workspace that has one, in one statement.

    The characters as SQL counts them: as in `Size` where it is about.
    """
    budgets = {workspace.pk: workspace.index_budget for workspace in workspaces}
    # A part for each: of all at once, planners look for the note of every entry.
    parts = [
        _entries_of(workspace)
        .order_by()
        .values_list("workspace")
        .annotate(lines=Count("pk"), characters=_characters())
        for workspace in workspaces
    ]
    rows = parts[0].union(*parts[1:], all=True) if parts else ()
    return {pk: (lines, _about(characters, budgets[pk])) for pk, lines, characters in rows}


def _entries_of(workspace: Workspace) -> QuerySet[IndexEntry, Any]:
    return index_entries(workspace.path, using=IndexEntry.objects.all().db)


def _about(characters: int | None, budget: int | None) -> int:
    """Return the length of the text with lines of so many characters."""
    whole = len(rendering.INDEX_HEADER) + (characters or 0)
    return whole if budget is None else min(whole, budget)


def _characters() -> Sum:
    """Return the sum of the lengths of lines, each with the newline before it."""
    return Sum(_length() + _AROUND)


def _length() -> Any:
    """Return the length of key and summary in a line, as far as SQL can tell it."""
    summary = Case(
        When(summary="", then=len(rendering.NO_SUMMARY)),
        default=Least(Length("summary"), rendering.SUMMARY_SHOWN),
        output_field=IntegerField(),
    )
    return Length("key") + summary
