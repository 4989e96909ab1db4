"""Notes that say the same, or nearly: what finding them costs, by how they are grouped."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.utils import timezone

from django_agent_memory.duplicates import nearly_same, same
from django_agent_memory.models import Note, Workspace
from django_agent_memory.models.details import PLAIN, fingerprint
from django_agent_memory.pruning import PruneRule, fitting

from .corpus import note
from .timing import Row, rows, take_turns

_NOTES = 20_000
_SIZES = (1, 2, 1_000)
_RULE = PruneRule(duplicates=True)


def run(scale: float) -> Iterator[Row]:
    """Measure with 20,000 notes, each alone, in pairs, and in groups of 1,000."""
    count = max(20, int(_NOTES * scale))
    for size in _SIZES:
        path = f"bench/groups-of-{size}"
        _fill(path, count, size)
        case = f"{count:,} notes in groups of {size:,}"
        for name, find in _contenders(path).items():
            taken = take_turns({name: find}, 3)
            yield from rows(case, taken, ours="rule", against=name, goal="≤ 2,000 ms")


def _contenders(path: str) -> dict[str, Callable[[int], object]]:
    return {
        "rule": lambda _: fitting(path, _RULE, "key", "revision"),
        "same": lambda _: same(path),
        "nearly_same": lambda _: nearly_same(path),
    }


def _fill(path: str, count: int, size: int) -> None:
    """Store notes of which `size` at a time say the same, far from each other in the table."""
    workspace = Workspace.objects.create(path=path, revision=count)
    now, different = timezone.now(), max(1, count // size)
    for start in range(0, count, 1_000):
        Note.objects.bulk_create(
            _note(workspace, number, different, now)
            for number in range(start, min(start + 1_000, count))
        )


def _note(workspace: Workspace, number: int, different: int, now: object) -> Note:
    body = note(number % different)[2]
    return Note(
        workspace=workspace,
        key=f"notes/{number}",
        body=body,
        haystack=body,
        revision=number + 1,
        position=number + 1,
        created_at=now,
        updated_at=now,
        fingerprint=fingerprint(body, PLAIN, is_json=False),
    )
