"""The relevance of the candidates: the notes that hold most of the query, and their neighbours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from heapq import nlargest
from itertools import pairwise
from math import log
from typing import TypeVar

from django_agent_memory.text.asking import asks_for_number, asks_for_present, named

from . import formula
from .evidence import Evidence
from .formula import Parts, Statistics
from .tables import Tables
from .texts import terms_of

_Key = TypeVar("_Key")

MOST_TEXTS = 100
"""So many texts are read at most to see whether words that occur in them more than once are
neighbours there."""


class Ranking:
    """The relevance of notes to one query."""

    def __init__(self, tables: Tables, query: str, found: Evidence, tied: Collection[int]) -> None:
        self._tables, self._found, self._tied = tables, found, tied
        # Of whom the query names there is a note among those found, for a note's subject is among
        # its terms.
        who = named(query, {place[4] for place in found.places.values()} - {""})
        self._subject = who.pop() if len(who) == 1 else None
        self._number_asked = asks_for_number(query)
        self._newest = tables.newest_position() if asks_for_present(query) else 0
        # The best score of a note's own words among those just before it and just after it.
        self._before: dict[int, float] = {}
        self._after: dict[int, float] = {}
        self._of_context: dict[str, float] = {}
        self._pairs: dict[int, float] = defaultdict(float)

    def scores(self, shortlist: Iterable[int]) -> list[tuple[float, int]]:
        """Return (score, position) of the notes in the shortlist and of those next to them."""
        near = set(shortlist)
        for position, before, after in self._tables.neighbours(near):
            if before is not None:
                self._follow(before, position)
            if after is not None:
                self._follow(position, after)
        candidates = near.union(self._before, self._after)
        self._found.add_places(self._tables, candidates - self._found.places.keys())
        candidates &= self._found.places.keys()
        self._score_contexts(candidates)
        self._score_pairs(near)
        return [(formula.score(self.parts(position)), position) for position in candidates]

    def parts(self, position: int) -> Parts:
        """Return the parts of a candidate's score."""
        own, place = self._found.own, self._found.places[position]
        return (
            own.get(position, 0.0),
            formula.BEFORE * self._before.get(position, 0.0),
            formula.AFTER * self._after.get(position, 0.0),
            formula.CONTEXT * _best(self._of_context, self._found.contexts.get(position)),
            formula.TIED if position in self._tied else 0.0,
            formula.SUBJECT if self._subject and place[4] == self._subject else 0.0,
            formula.PAIR * self._pairs.get(position, 0.0),
            formula.LENGTH * _LOGS[min(place[2], formula.MOST_LENGTH)],
            formula.NUMBER if self._number_asked and place[3] else 0.0,
            formula.PRESENT * position / self._newest if self._newest else 0.0,
        )

    def _follow(self, first: int, second: int) -> None:
        """Take note that the second was stored next after the first in one of their contexts."""
        own, before, after = self._found.own, self._before, self._after
        before[second] = max(before.get(second, 0.0), own.get(first, 0.0))
        after[first] = max(after.get(first, 0.0), own.get(second, 0.0))

    def _score_contexts(self, candidates: set[int]) -> None:
        """Set the BM25 of the candidates' contexts, each with its notes as one document.

        However long: it made no difference, and the length of a context is that of all its notes.
        """
        found = self._found
        contexts = found.contexts
        wanted = {context for position in candidates for context in contexts.get(position, ())}
        frequencies = [self._frequencies(term) for term in dict.fromkeys(found.asked)]
        if not any(frequencies):
            return
        statistics = Statistics(self._tables.context_count())
        scores: dict[str, float] = defaultdict(float)
        for of_term in frequencies:
            idf = statistics.idf(len(of_term))
            for context in wanted & of_term.keys():
                frequency = of_term[context]
                saturated = frequency * (formula.CONTEXT_K1 + 1) / (frequency + formula.CONTEXT_K1)
                scores[context] += idf * saturated
        self._of_context = dict(scores)

    def _frequencies(self, term: str) -> dict[str, int]:
        """Return how often each context has the term; a common one is in none."""
        found, frequencies = self._found, dict[str, int]()
        if term in found.common:
            return frequencies
        contexts = found.contexts
        for position, (frequency, _) in found.holders.get(term, {}).items():
            for context in contexts.get(position, ()):
                frequencies[context] = frequencies.get(context, 0) + frequency
        return frequencies

    def _score_pairs(self, near: set[int]) -> None:
        """Set the weights of the neighbouring words of the query that are so in a note."""
        found = self._found
        pairs = {
            (first, second)
            for first, second in pairwise(found.asked)
            if first in found.holders and second in found.holders
        }
        doubtful: dict[int, list[tuple[str, str]]] = defaultdict(list)
        for first, second in pairs:
            firsts, seconds = found.holders[first], found.holders[second]
            for position in near & firsts.keys() & seconds.keys():
                (frequency, place), (other_frequency, other_place) = (
                    firsts[position],
                    seconds[position],
                )
                if frequency > 1 or other_frequency > 1:
                    doubtful[position].append((first, second))
                elif other_place == place + 1:
                    self._pairs[position] += self._pair_weight(first, second)
        best = nlargest(MOST_TEXTS, doubtful, key=lambda position: (found.own[position], position))
        for position, terms in terms_of(*self._tables.scope, best).items() if best else ():
            for first, second in set(doubtful[position]) & set(pairwise(terms)):
                self._pairs[position] += self._pair_weight(first, second)

    def _pair_weight(self, first: str, second: str) -> float:
        return (self._found.idf(first) + self._found.idf(second)) / 2


_LOGS = [log(1 + told) for told in range(formula.MOST_LENGTH + 1)]


def _best(scores: dict[_Key, float], keys: list[_Key] | None) -> float:
    if not keys:
        return 0.0
    if len(keys) == 1:
        return scores.get(keys[0], 0.0)
    return max([scores.get(key, 0.0) for key in keys])
