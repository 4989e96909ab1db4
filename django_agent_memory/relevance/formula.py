"""What relevance is made of: plain arithmetic on what the tables say, no rows.

A note's score is BM25 of its own terms, parts of that of the notes stored just before and after it
in its contexts and of its contexts as documents, and what speaks for it beyond words: it is about
whom the query names, it has the query's words side by side, it tells more than a few words, it has
a number where one is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

K1, B = 0.9, 0.3
CONTEXT_K1, CONTEXT_B = 1.2, 0.3
BEFORE, AFTER = 0.3, 0.1
CONTEXT = 0.5
SUBJECT = 3.0
PAIR = 0.3
FAMILY = 0.4
LENGTH, MOST_LENGTH = 1.0, 16
NUMBER = 1.0
PRESENT = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a note's relevance is the sum of; `present` multiplies the sum by 1 + itself."""

    own: float = 0.0
    before: float = 0.0
    after: float = 0.0
    context: float = 0.0
    subject: float = 0.0
    pair: float = 0.0
    length: float = 0.0
    number: float = 0.0
    present: float = 0.0

    @property
    def score(self) -> float:
        parts = self.own + self.before + self.after + self.context + self.subject + self.pair
        return (parts + self.length + self.number) * (1 + self.present)


@dataclass(frozen=True, slots=True)
class Statistics:
    """How many documents there are, and how many terms in all of them."""

    documents: int = 0
    length: int = 0

    @property
    def mean_length(self) -> float:
        return self.length / max(1, self.documents) or 1.0

    def idf(self, holders: int) -> float:
        """Return the weight of a term that so many documents hold."""
        return log(1 + (max(0, self.documents - holders) + 0.5) / (holders + 0.5))
