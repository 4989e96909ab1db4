"""`Memory.recall` beside one `.values().get()` and one query of the driver."""

from __future__ import annotations

from collections.abc import Iterator

from django_agent_memory.models import Note

from .corpus import PATH, note, stored
from .driver import Driver
from .timing import Row, rows, take_turns

OURS, BY_HAND, DRIVER = "Memory.recall", ".values().get()", "driver"


def run(scale: float) -> Iterator[Row]:
    """Measure the recall of stored notes, a different one each time."""
    count = max(10, int(10_000 * scale))
    memory, driver = stored(count), Driver()
    sql = (
        "SELECT n.body, n.body_is_json, n.revision, n.created_at, n.updated_at, w.revision"
        " FROM agent_memory_note n JOIN agent_memory_workspace w ON w.id = n.workspace_id"
        ' WHERE w.path = %s AND n."key" = %s'
    )

    def key(number: int) -> str:
        return note(number * 97 % count)[0]

    keys = [key(number) for number in range(count)]

    def by_hand(number: int) -> object:
        notes = Note.objects.filter(workspace__path=PATH, key=keys[number])
        return notes.values(
            "body", "body_is_json", "revision", "created_at", "updated_at", "workspace__revision"
        ).get()

    contenders = {
        OURS: lambda number: memory.recall(keys[number]),
        BY_HAND: by_hand,
        DRIVER: lambda number: driver.fetch(sql, PATH, keys[number]),
    }
    taken = take_turns(contenders, min(count, max(4, int(2_000 * scale))))
    yield from rows("recall", taken, ours=OURS, against=BY_HAND, goal="≤ 1.5")
