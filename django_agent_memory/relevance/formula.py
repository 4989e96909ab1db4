"""What relevance is made of: plain arithmetic on what the tables say, no rows.

A note's score is BM25 of its own terms, parts of that of the notes stored just before and after it
in its contexts and of its contexts as documents, and what speaks for it beyond words: it is tied to
a context or about a person that the query names, it has the query's words side by side, it tells
more than a few words, it has a number where one is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

K1, B = 0.9, 0.3
CONTEXT_K1 = 1.2
BEFORE, AFTER = 0.3, 0.1
CONTEXT = 0.5
SUBJECT = 3.0
TIED = 3.0
PAIR = 0.3
FAMILY = 0.4
LENGTH, MOST_LENGTH = 1.0, 16
NUMBER = 1.0
PRESENT = 0.2


Parts = tuple[float, float, float, float, float, float, float, float, float, float]
"""What a note's relevance is made of, in the order of `PARTS`. Plain, for there are thousands."""

PARTS = (
    "own",
    "before",
    "after",
    "context",
    "tied",
    "subject",
    "pair",
    "length",
    "number",
    "present",
)


def score(parts: Parts) -> float:
    """Return the sum of the parts; the last one, `present`, multiplies that of the others."""
    return sum(parts[:-1]) * (1 + parts[-1])


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
