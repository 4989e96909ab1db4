"""How much of an agent's context each workspace takes, measured on the very text an agent gets."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from math import ceil

from django.core.cache import BaseCache, caches
from django.db import connections
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

from django_agent_memory.conf import conf
from django_agent_memory.models import IndexEntry, Workspace
from django_agent_memory.results import Stats
from django_agent_memory.streaming import stream
from django_agent_memory.text import rendering


def index_characters(workspaces: Iterable[Workspace]) -> dict[int, int]:
    """Return `len(index_note())` of each workspace by its id, in at most one statement.

    White space is folded when a line is rendered, which no SQL does the same way, so the texts are
    rendered and their lengths kept in the cache under the version that the index has until it
    changes: only workspaces written to since are measured again.
    """
    by_id = {workspace.pk: workspace for workspace in workspaces}
    cache = None if conf.index_cache_alias is None else caches[conf.index_cache_alias]
    known = cache.get_many([_name(row) for row in by_id.values()]) if cache is not None else {}
    sizes = {pk: known[_name(row)] for pk, row in by_id.items() if _name(row) in known}
    missing = {pk: row for pk, row in by_id.items() if pk not in sizes}
    if missing:
        sizes |= _measured(missing, cache)
    return sizes


def growth(stats: Stats) -> str:
    """Return what the index gains a day as a line to read."""
    days = _rounded(stats.growth_days)
    window = ngettext("over the last %(days)s day", "over the last %(days)s days", ceil(days)) % {
        "days": number_format(days)
    }
    if not stats.lines_per_day and not stats.characters_per_day:
        return gettext("none (%(window)s)") % {"window": window}
    return gettext("%(lines)s lines and about %(tokens)s tokens per turn, per day (%(window)s)") % {
        "lines": _signed(stats.lines_per_day),
        "tokens": _signed(stats.tokens_per_day),
        "window": window,
    }


def _signed(amount: float) -> str:
    """Return the number with its sign: whole from 10 on, with two decimals below 1."""
    shown = _rounded(amount)
    sign = "+" if shown > 0 else "−" if shown < 0 else "±"
    return f"{sign}{number_format(abs(shown))}"


def _rounded(amount: float) -> float | int:
    size = abs(amount)
    rounded = round(amount, 0 if size >= 10 else 1 if size >= 1 else 2)
    return int(rounded) if rounded == int(rounded) else rounded


def _measured(missing: dict[int, Workspace], cache: BaseCache | None) -> dict[int, int]:
    entries = (
        IndexEntry.objects.live().filter(workspace__in=missing).order_by("workspace_id", "key")
    )
    sizes = dict.fromkeys(missing, 0)
    rows = entries.values_list("workspace_id", "key", "summary")
    at_most = sum(row.revision for row in missing.values())  # Every entry took a revision.
    for pk, group in groupby(stream(rows, at_most=at_most), key=lambda row: row[0]):
        lines = ((key, summary) for _, key, summary in group)
        sizes[pk] = len(rendering.index_text(lines, budget=missing[pk].index_budget))
    # Inside a transaction these may be rows that nobody else will ever see.
    if cache is not None and not connections[entries.db].in_atomic_block:
        named = {_name(row): sizes[pk] for pk, row in missing.items()}
        cache.set_many(named, conf.index_cache_seconds)
    return sizes


def _name(workspace: Workspace) -> str:
    return f"agent_memory.index_size.{workspace.index_version}"
