"""`Memory.index_note`, unchanged and changed since last time, beside the least one must read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from django.core.cache import cache

from django_agent_memory import Memory
from django_agent_memory.models import IndexEntry, Workspace
from django_agent_memory.text.rendering import INDEX_HEADER, index_line

from .corpus import PATH, note, stored
from .driver import Driver
from .timing import Row, rows, take_turns

_BATCH = 5_000
OURS = "Memory.index_note"
BY_PK, SAME_LINES, BARE_JOIN = ".values_list().get(pk=)", "driver, same lines", "driver, bare join"


def run(scale: float) -> Iterator[Row]:
    """Measure with a warm cache, then with an empty one."""
    memory, driver = stored(max(10, int(10_000 * scale))), Driver()
    pk = Workspace.objects.get(path=PATH).pk
    sql = (
        'SELECT e."key", e.summary FROM agent_memory_indexentry e'
        " JOIN agent_memory_workspace w ON w.id = e.workspace_id"
        ' WHERE w.path = %s ORDER BY e."key"'
    )

    def by_pk(_: int) -> object:
        return Workspace.objects.values_list("index_version", "revision").get(pk=pk)

    def same_lines(_: int) -> str:
        lines = [index_line(key, summary) for key, summary in driver.fetch(sql, PATH)]
        return "\n".join([INDEX_HEADER, *lines])

    def bare_join(_: int) -> str:
        # Neither folds white space nor cuts: one summary of two lines would forge an entry.
        lines = [f"- {key}: {summary}" for key, summary in driver.fetch(sql, PATH)]
        return "\n".join([INDEX_HEADER, *lines])

    def rendered(_: int) -> str:
        cache.clear()
        return memory.index_note()

    assert same_lines(0) == bare_join(0) == rendered(0)
    warm = {OURS: lambda _: memory.index_note(), BY_PK: by_pk}
    taken = take_turns(warm, max(4, int(2_000 * scale)))
    yield from rows("index, unchanged", taken, ours=OURS, against=BY_PK, goal="≤ 2")
    yield from _unchanged_and_large(max(10, int(100_000 * scale)), scale)
    changed = {OURS: rendered, SAME_LINES: same_lines, BARE_JOIN: bare_join}
    taken = take_turns(changed, max(4, int(60 * scale)))
    yield from rows("index, changed", taken, ours=OURS, against=SAME_LINES, goal="≤ 1.5")


def _unchanged_and_large(lines: int, scale: float) -> Iterator[Row]:
    """Measure an index whose text a cache would have to copy."""
    # Every entry took a revision, and would have had its note.
    workspace = Workspace.objects.create(path="bench/large", revision=lines)
    entries = (
        IndexEntry(workspace=workspace, key=key, summary=summary)
        for key, summary, _body in map(note, range(lines))
    )
    while batch := list(islice(entries, _BATCH)):
        IndexEntry.objects.bulk_create(batch)
    memory = Memory(workspace)

    def by_pk(_: int) -> object:
        return Workspace.objects.values_list("index_version", "revision").get(pk=workspace.pk)

    contenders = {OURS: lambda _: memory.index_note(), BY_PK: by_pk}
    taken = take_turns(contenders, max(4, int(2_000 * scale)))
    case = f"index of {lines} lines, unchanged"
    yield from rows(case, taken, ours=OURS, against=BY_PK, goal="≤ 2")
