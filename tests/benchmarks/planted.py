"""Text planted in the notes of the corpus, so that how many notes a pattern is in is known."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .corpus import note

_LONG = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A pattern and where it is: in every `step`-th note from `first` on, or at `tenths` of all."""

    name: str
    text: str
    stored: str = ""
    step: int = 0
    first: int = 0
    tenths: tuple[int, ...] = ()

    def is_in(self, number: int, count: int) -> bool:
        """Whether the note with this number, one of `count`, holds the pattern."""
        if self.step:
            return number % self.step == self.first
        return any(number == count * tenth // 10 for tenth in self.tenths)

    def total(self, count: int) -> int:
        """Return how many of `count` notes hold it; `count` is at least 10."""
        return len(range(self.first, count, self.step)) if self.step else len(self.tenths)

    @property
    def is_common(self) -> bool:
        """Whether so many notes hold it that the first 8 in key order are near the start."""
        return 0 < self.step <= 20


def _words(length: int) -> str:
    chance = random.Random(length)
    return "".join(chance.choices("kvwxyzäßж", k=length - 2)).join("[]")


# Stored in another case or another order of marks than asked for wherever there is one, which is
# what tells a search that folds from one that does not.
PATTERNS = (
    Pattern(name="rare", text="lighthouse keeper", stored="LightHouse Keeper", tenths=(1, 4, 7)),
    Pattern(name="in every note", text="ledger", step=1),
    Pattern(name="in none", text="zeppelin hangar"),
    Pattern(name="2 characters", text="zq", step=134, first=2),
    Pattern(name="0.08 %", text="harbour pilot", stored="Harbour Pilot", step=1250, first=3),
    Pattern(name="25 %", text="gardener", stored="Gardener", step=4, first=1),
    Pattern(name="1 character", text="e", stored="e", step=1),
    Pattern(name="Cyrillic", text="тёплый чай", stored="ТЁПЛЫЙ Чай", step=1250, first=4),
    Pattern(name="% _ and \\", text="100%_done\\o/", stored="100%_DONE\\o/", tenths=(2, 5, 8)),
    Pattern(name="60,000 characters", text=_words(_LONG), tenths=(9,)),
    Pattern(name="emoji", text="🦜🏝🍹", step=1250, first=5),
    Pattern(name="CJK, 2 characters", text="仕様", step=200, first=6),
    Pattern(name="CJK, 4 characters", text="設計書類", step=1250, first=7),
    # Two marks that no composed character holds, stored in the order that is not canonical.
    Pattern(
        name="combining marks",
        text="q\u0323\u0307uay",
        stored="Q\u0307\u0323uay",
        step=1250,
        first=8,
    ),
)


def planted(number: int, count: int) -> tuple[str, str, str]:
    """Return key, summary and body of a note of the corpus, with what is planted in it."""
    key, summary, body = note(number)
    here = [p.stored or p.text for p in PATTERNS if p.is_in(number, count)]
    return key, summary, " ".join([body, *here])
