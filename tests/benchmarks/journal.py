"""What recording a call adds to it, and what a replay costs."""

from __future__ import annotations

from collections.abc import Iterator

from django_agent_memory import Memory
from django_agent_memory.journal import Calls
from django_agent_memory.models import RecordedCall

from .corpus import note, stored
from .timing import Row, rows, take_turns

_NOTES = 1_000
_CALLER = "key:1"


def run(scale: float) -> Iterator[Row]:
    """Measure recorded remembers beside plain ones, and replays beside one indexed read."""
    rounds = max(4, int(400 * scale))
    plain = stored(_NOTES, "bench/plain")
    stored(_NOTES, "bench/recorded")

    def recorded(number: int) -> Memory:
        return Memory("bench/recorded", calls=Calls(_CALLER, name=f"call-{number}"))

    def said(number: int) -> tuple[str, str, str]:
        key, summary, body = note(10_000 + number)
        return key, summary, body

    taken = take_turns(
        {
            "recorded": lambda number: recorded(number).remember(*said(number)),
            "plain": lambda number: plain.remember(*said(number)),
        },
        rounds,
    )
    yield from rows("remember", taken, ours="recorded", against="plain", goal="≤ 1.25")
    taken = take_turns(
        {
            "replayed": lambda number: recorded(number).remember(*said(number)),
            ".values().get()": lambda number: (
                RecordedCall.objects.filter(
                    workspace__path="bench/recorded", caller=_CALLER, name=f"call-{number}"
                )
                .values("digest", "answer")
                .get()
            ),
        },
        rounds,
    )
    yield from rows("replay", taken, ours="replayed", against=".values().get()", goal="≤ 1.5")
