"""`Memory.index_note`, unchanged and changed since last time, beside the least that must be read."""

from __future__ import annotations

from collections.abc import Iterator

from django.core.cache import cache

from django_agent_memory.models import Workspace

from .corpus import PATH, stored
from .driver import Driver
from .timing import Row, rows, take_turns

OURS = "Memory.index_note"
BY_PK, JOINED = ".values_list().get(pk=)", "driver and join"


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

    def joined(_: int) -> str:
        lines = [f"- {key}: {summary}" for key, summary in driver.fetch(sql, PATH)]
        return "\n".join(["[memory index]", *lines])

    def rendered(_: int) -> str:
        cache.clear()
        return memory.index_note()

    assert joined(0) == rendered(0)
    warm = {OURS: lambda _: memory.index_note(), BY_PK: by_pk}
    taken = take_turns(warm, max(4, int(2_000 * scale)))
    yield from rows("index, unchanged", taken, ours=OURS, against=BY_PK, goal="≤ 2")
    taken = take_turns({OURS: rendered, JOINED: joined}, max(4, int(60 * scale)))
    yield from rows("index, changed", taken, ours=OURS, against=JOINED, goal="≤ 1.5")
