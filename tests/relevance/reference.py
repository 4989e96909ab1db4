"""The ranker of `find` in plain Python over notes in memory: what the SQL one must agree with.

Every number it uses can be had from tables: frequencies of a term in notes, lengths of notes, both
added up over a context, and the order of notes in a context. Only pairs of words are looked up in
the texts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import log
from typing import TypeVar

from django_agent_memory.text.analysis import date_words, named, query_terms, terms

from .testset import Note

K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """The weight of each part; 0 switches it off."""

    terms: Callable[[str], list[str]] = terms
    query_terms: Callable[[str], list[str]] = query_terms
    dated: bool = True
    k1: float = 0.9
    b: float = 0.3
    before: float = 0.3
    after: float = 0.1
    context: float = 0.5
    context_k1: float = 1.2
    context_b: float = 0.3
    subject: float = 3.0
    pair: float = 0.3
    recency: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A note's score and what it is the sum of."""

    note: Note
    own: float
    before: float
    after: float
    context: float
    subject: float
    pair: float
    recency: float

    @property
    def score(self) -> float:
        parts = self.own + self.before + self.after + self.context + self.subject + self.pair
        return parts * (1 + self.recency)


class Documents:
    """Term frequencies of documents, and BM25 over them."""

    def __init__(self, documents: Iterable[Counter[str]], *, k1: float, b: float) -> None:
        self._k1, self._b = k1, b
        self.postings: dict[str, dict[int, int]] = defaultdict(dict)
        self.lengths: list[int] = []
        for number, frequencies in enumerate(documents):
            self.lengths.append(frequencies.total())
            for term, frequency in frequencies.items():
                self.postings[term][number] = frequency
        self._mean_length = sum(self.lengths) / max(1, len(self.lengths)) or 1.0

    def idf(self, term: str) -> float:
        holders = len(self.postings.get(term, ()))
        return log(1 + (len(self.lengths) - holders + 0.5) / (holders + 0.5))

    def scores(self, query: Iterable[str]) -> dict[int, float]:
        """Return the BM25 of every document that holds a term of the query."""
        scores: dict[int, float] = defaultdict(float)
        for term in dict.fromkeys(query):
            idf = self.idf(term)
            for number, frequency in self.postings.get(term, {}).items():
                length = 1 - self._b + self._b * self.lengths[number] / self._mean_length
                scores[number] += idf * frequency * (self._k1 + 1) / (frequency + self._k1 * length)
        return scores


class Ranker:
    """Notes of one workspace, ready to be asked."""

    def __init__(self, notes: Iterable[Note], formula: Formula | None = None) -> None:
        self.notes = sorted(notes, key=lambda note: note.position)
        self.formula = formula or Formula()
        self._words = [self.formula.terms(self._text(note)) for note in self.notes]
        counters = [Counter(words) for words in self._words]
        self._documents = Documents(counters, k1=self.formula.k1, b=self.formula.b)
        self._members: dict[str, list[int]] = defaultdict(list)
        for number, note in enumerate(self.notes):
            for context in note.contexts:
                self._members[context].append(number)
        self._context_names = list(self._members)
        self._contexts = Documents(
            (sum((counters[n] for n in members), Counter()) for members in self._members.values()),
            k1=self.formula.context_k1,
            b=self.formula.context_b,
        )

    def _text(self, note: Note) -> str:
        date = date_words(note.happened_at) if self.formula.dated and note.happened_at else ""
        return "\n".join((date, note.subject, note.summary, note.body))

    @cached_property
    def _neighbours(self) -> dict[int, tuple[set[int], set[int]]]:
        """Return for each note those stored just before and just after it in its contexts."""
        neighbours: dict[int, tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
        for members in self._members.values():
            for earlier, later in pairwise(members):
                neighbours[later][0].add(earlier)
                neighbours[earlier][1].add(later)
        return neighbours

    def find(self, query: str, limit: int = 10) -> list[Scored]:
        """Return the notes that answer the query, the best first."""
        scored = [result for result in self._scored(query) if result.score > 0]
        return sorted(scored, key=_order)[:limit]

    def _scored(self, query: str) -> Iterable[Scored]:
        formula, asked = self.formula, self.formula.query_terms(query)
        own = self._documents.scores(asked)
        contexts = self._contexts.scores(asked)
        of_context = {self._context_names[n]: score for n, score in contexts.items()}
        subjects = named(query, {note.subject for note in self.notes if note.subject})
        candidates = set(own)
        for number in own:
            before, after = self._neighbours[number]
            candidates |= (after if formula.before else set()) | (
                before if formula.after else set()
            )
        for number in candidates:
            note = self.notes[number]
            before, after = self._neighbours[number]
            yield Scored(
                note=note,
                own=own.get(number, 0.0),
                before=formula.before * _best(own, before),
                after=formula.after * _best(own, after),
                context=formula.context * _best(of_context, note.contexts),
                subject=formula.subject * (subjects == {note.subject}),
                pair=formula.pair * self._pairs(asked, self._words[number]),
                recency=formula.recency * number / len(self.notes),
            )

    def _pairs(self, asked: list[str], words: list[str]) -> float:
        """Return the weights of the adjacent pairs of the query that stand in the note."""
        pairs = set(pairwise(asked)) & set(pairwise(words))
        return sum(self._documents.idf(a) + self._documents.idf(b) for a, b in pairs) / 2


def _best(scores: dict[K, float], of: Iterable[K]) -> float:
    return max((scores.get(one, 0.0) for one in of), default=0.0)


def _order(result: Scored) -> tuple[object, ...]:
    """Order by score, weight, recency, specificity, key."""
    note = result.note
    narrowest = max((context.count("/") + 1 for context in note.contexts), default=0)
    return (-round(result.score, 9), -note.weight, -note.position, -narrowest, note.key)
