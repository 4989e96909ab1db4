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

from django_agent_memory.text.analysis import note_terms, terms
from django_agent_memory.text.asking import (
    asks_for_number,
    asks_for_present,
    family,
    named,
    named_contexts,
    query_terms,
    tells_number,
)

from .testset import Note

K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """The weight of each part; 0 switches it off."""

    terms: Callable[[str], list[str]] | None = None
    """Instead of the terms of the package, for notes and queries."""
    dated: bool = True
    labelled: bool = True
    """Whether key and contexts are among the terms of a note."""
    k1: float = 0.9
    b: float = 0.3
    before: float = 0.3
    after: float = 0.1
    context: float = 0.5
    context_k1: float = 1.2
    context_b: float = 0.0
    subject: float = 3.0
    tied: float = 3.0
    pair: float = 0.3
    family: float = 0.4
    length: float = 1.0
    most_length: int = 16
    number: float = 1.0
    present: float = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A note's score and what it is the sum of."""

    note: Note
    own: float
    before: float
    after: float
    context: float
    tied: float
    subject: float
    pair: float
    length: float
    number: float
    present: float

    @property
    def score(self) -> float:
        parts = self.own + self.before + self.after + self.context + self.tied
        parts += self.subject + self.pair
        return (parts + self.length + self.number) * (1 + self.present)


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
        return self._idf(len(self.postings.get(term, ())))

    def _idf(self, holders: int) -> float:
        return log(1 + (len(self.lengths) - holders + 0.5) / (holders + 0.5))

    def scores(self, query: Iterable[str]) -> dict[int, float]:
        """Return the BM25 of every document that holds a term of the query."""
        scores: dict[int, float] = defaultdict(float)
        for term in dict.fromkeys(query):
            idf = self.idf(term)
            for number, frequency in self.postings.get(term, {}).items():
                length = 1 - self._b + self._b * self.lengths[number] / self._mean_length
                saturated = frequency * (self._k1 + 1) / (frequency + self._k1 * length)
                scores[number] += idf * saturated
        return scores

    def family_scores(self, query: Iterable[str]) -> dict[int, float]:
        """Return, for documents without a term but with one of its family, the family's idf."""
        asked = set(query)
        scores: dict[int, float] = defaultdict(float)
        for prefix in sorted({family(term) for term in asked} - {""}):
            relatives = {term for term in self.postings if term.startswith(prefix)}
            holders = set[int]().union(*(self.postings[term] for term in relatives))
            exact = set[int]().union(*(self.postings[term] for term in relatives & asked))
            for number in holders - exact:
                scores[number] += self._idf(len(holders))
        return scores


class Ranker:
    """Notes of one workspace, ready to be asked."""

    def __init__(self, notes: Iterable[Note], formula: Formula | None = None) -> None:
        self.notes = sorted(notes, key=lambda note: note.position)
        self.formula = formula or Formula()
        self._words = [self._terms(note) for note in self.notes]
        self._told = [terms(f"{note.summary}\n{note.body}") for note in self.notes]
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

    def _terms(self, note: Note) -> list[str]:
        if self.formula.terms:
            return self.formula.terms("\n".join((note.subject, note.summary, note.body)))
        return note_terms(
            key=note.key if self.formula.labelled else "",
            summary=note.summary,
            body=note.body,
            subject=note.subject,
            contexts=note.contexts if self.formula.labelled else (),
            happened_at=note.happened_at if self.formula.dated else None,
        )

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
        formula, asked = self.formula, (self.formula.terms or query_terms)(query)
        own = self._own_scores(asked)
        contexts = self._contexts.scores(asked)
        of_context = {self._context_names[n]: score for n, score in contexts.items()}
        subjects = named(query, {note.subject for note in self.notes if note.subject})
        number_asked, present_asked = asks_for_number(query), asks_for_present(query)
        names = set(named_contexts(query)) if formula.tied else set()
        tied = {number for name in names for number in self._members.get(name, ())}
        for number in self._candidates(own, tied):
            note, told = self.notes[number], self._told[number]
            before, after = self._neighbours[number]
            yield Scored(
                note=note,
                own=own.get(number, 0.0),
                before=formula.before * _best(own, before),
                after=formula.after * _best(own, after),
                context=formula.context * _best(of_context, note.contexts),
                tied=formula.tied * (number in tied),
                subject=formula.subject * (subjects == {note.subject}),
                pair=formula.pair * self._pairs(asked, self._words[number]),
                length=formula.length * log(1 + min(len(told), formula.most_length)),
                number=formula.number * (number_asked and tells_number(told)),
                present=formula.present * present_asked * note.position / self.notes[-1].position,
            )

    def _own_scores(self, asked: list[str]) -> dict[int, float]:
        own = self._documents.scores(asked)
        if self.formula.family:
            for number, score in self._documents.family_scores(asked).items():
                own[number] = own.get(number, 0.0) + self.formula.family * score
        return own

    def _candidates(self, own: dict[int, float], tied: set[int]) -> set[int]:
        """Return the notes that hold something of the query, and the neighbours it counts for."""
        candidates = own.keys() | tied
        for number in tuple(candidates):
            before, after = self._neighbours[number]
            candidates |= (after if self.formula.before else set()) | (
                before if self.formula.after else set()
            )
        return candidates

    def _pairs(self, asked: list[str], words: list[str]) -> float:
        """Return the weights of the adjacent pairs of the query that stand in the note."""
        pairs = set(pairwise(asked)) & set(pairwise(words))
        return sum(self._documents.idf(a) + self._documents.idf(b) for a, b in pairs) / 2


def _best(scores: dict[K, float], of: Iterable[K]) -> float:
    return max((scores.get(one, 0.0) for one in of), default=0.0)


def _order(result: Scored) -> tuple[object, ...]:
    """Order by score, weight, recency, specificity, key; notes stored at once are as recent."""
    note = result.note
    narrowest = max((context.count("/") + 1 for context in note.contexts), default=0)
    return (-round(result.score, 9), -note.weight, -note.stored, -narrowest, note.key)
