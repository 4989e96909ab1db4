"""Which notes hold what of a query: read within bounds, whatever the size of the workspace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import nlargest

from django_agent_memory.text.asking import family

from .formula import FAMILY, K1, B, Statistics
from .tables import Hit, Place, Reach, Tables
from .visible import Visible

MOST_POSTINGS = 10_000
"""So many postings a query reads at most, those of its rarest terms first. More common terms count
only for the notes found by the others, and in no context; if too few of these may be seen, for the
visible notes that were stored last as well."""

SHORTLIST = 1_000
"""So many of the notes that hold most of the query are ranked, with their neighbours."""

MOST_ASKED = 30
"""So many terms of a query are looked up: of more, the rarest that are there."""

_COUNTED = 1_000

Holders = dict[int, tuple[int, int]]
"""Frequency and place of one term by the position of the note."""


@dataclass(slots=True)
class Evidence:
    """The notes that hold terms of the query, and how much that says."""

    asked: list[str]
    notes: Statistics
    holders: dict[str, Holders] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """How many notes hold a term."""
    common: list[str] = field(default_factory=list)
    """The terms whose postings were not all read."""
    places: dict[int, Place] = field(default_factory=dict)
    contexts: dict[int, list[str]] = field(default_factory=dict)
    """Both of all notes that hold a term that is not common; a note may have no context."""
    own: dict[int, float] = field(default_factory=dict)

    def idf(self, term: str) -> float:
        return self.notes.idf(self.counts.get(term, 0))

    def add_places(self, tables: Tables, positions: set[int]) -> None:
        """Take note of where these notes stand."""
        for place in tables.places(positions):
            self.places[place[0]] = place
        for position, context in tables.contexts(positions):
            self.contexts.setdefault(position, []).append(context)


def gather(
    tables: Tables, asked: list[str], notes: Statistics, visible: Visible, limit: int | None
) -> Evidence:
    """Return what the tables say about the terms that are asked for; all of it without a limit."""
    asked = _rarest(tables, asked)
    found = Evidence(asked, notes)
    terms = list(dict.fromkeys(asked))
    prefixes = sorted({family(term) for term in terms} - {""})
    by_term = _read_hits(tables, found, terms, prefixes, visible, limit)
    found.holders = {term: by_term[term] for term in terms if term in by_term}
    for term, holders in found.holders.items():
        found.counts.setdefault(term, len(holders))
    relatives = {
        prefix: {term: by_term[term] for term in by_term if term.startswith(prefix)}
        for prefix in prefixes
        if not any(term.startswith(prefix) for term in found.common)
    }
    positions = {position for holders in by_term.values() for position in holders}
    found.add_places(tables, positions)
    for term in terms:
        _add_own(found, term)
    for prefix, members in relatives.items():
        _add_family(found, prefix, members)
    if found.common:
        _add_common(tables, found, visible, limit or 0)
    return found


def _rarest(tables: Tables, asked: list[str]) -> list[str]:
    """Return what is asked; of very many terms the 30 rarest that any note holds."""
    terms = list(dict.fromkeys(asked))
    if len(terms) <= MOST_ASKED:
        return asked
    counts = tables.held(terms, _COUNTED)
    held = sorted((count, place) for place, term in enumerate(terms) if (count := counts[term]))
    kept = {terms[place] for _, place in held[:MOST_ASKED]}
    return [term for term in asked if term in kept]


def _read_hits(
    tables: Tables,
    found: Evidence,
    terms: list[str],
    prefixes: list[str],
    visible: Visible,
    limit: int | None,
) -> dict[str, Holders]:
    """Return the postings by term: all of them, or those there is room for."""
    alone = [Reach(term) for term in terms if not family(term)]
    reaches = alone + [Reach.of_prefix(prefix) for prefix in prefixes]
    if limit is None or found.notes.documents * len(reaches) <= MOST_POSTINGS:
        return _by_term(tables.hits(reaches))
    counts = tables.counts(reaches)
    found.counts = {term: counts.get(term, 0) for term in terms}
    affordable = _affordable(found, counts, prefixes)
    hits = tables.hits(affordable)
    if found.common and (few := visible.few(SHORTLIST)) is not None:
        # All that these hold, however common it is elsewhere.
        hits += tables.hits([Reach(term) for term in found.common], few)
        found.common = []
    return _by_term(hits)


def _affordable(found: Evidence, counts: dict[str, int], prefixes: list[str]) -> list[Reach]:
    """Return what to read of the rarest terms, then of the rarest families; name the others."""
    left = MOST_POSTINGS
    reaches = []
    for term in sorted(found.counts, key=lambda term: (found.counts[term], term)):
        if found.counts[term] <= left:
            left -= found.counts[term]
            reaches.append(Reach(term))
        else:
            found.common.append(term)
    for prefix in prefixes:
        others = [term for term in counts if term.startswith(prefix) and term not in found.counts]
        size = sum(counts[term] for term in others)
        if size <= left and not any(term.startswith(prefix) for term in found.common):
            left -= size
            reaches += [Reach(term) for term in others]
    return reaches


def _by_term(hits: Iterable[Hit]) -> dict[str, Holders]:
    by_term: dict[str, Holders] = defaultdict(dict)
    for term, position, frequency, place in hits:
        by_term[term][position] = (frequency, place)
    return dict(by_term)


def _add_own(found: Evidence, term: str) -> None:
    """Add the BM25 of the term to the notes that hold it."""
    holders, idf, own = found.holders.get(term, {}), found.idf(term), found.own
    flat, slope = K1 * (1 - B), K1 * B / found.notes.mean_length
    places = found.places
    for position, (frequency, _) in holders.items():
        if position in places:
            saturated = frequency * (K1 + 1) / (frequency + flat + slope * places[position][1])
            own[position] = own.get(position, 0.0) + idf * saturated


def _add_family(found: Evidence, prefix: str, members: dict[str, Holders]) -> None:
    """Add to notes without a term, but with one of its family, a part of the family's idf."""
    holders = set[int]().union(*members.values())
    exact = set[int]().union(*(members[term] for term in members if term in found.holders))
    score = FAMILY * found.notes.idf(len(holders))
    for position in (holders - exact) & found.places.keys():
        found.own[position] = found.own.get(position, 0.0) + score


def _add_common(tables: Tables, found: Evidence, visible: Visible, wanted: int) -> None:
    """Add the BM25 of common terms to the best of the notes that other terms found.

    Where fewer than `wanted` of these may be seen, the newest visible notes with the rarest of the
    common terms are found as well.
    """
    best = nlargest(SHORTLIST, found.own, key=lambda position: (found.own[position], position))
    if len(visible.among(best)) < wanted:
        rarest = min(found.common, key=found.counts.__getitem__)
        newest = tables.newest_hits(rarest, MOST_POSTINGS, visible)
        found.add_places(tables, {hit[1] for hit in newest} - found.places.keys())
        best += [hit[1] for hit in newest if hit[1] not in found.own][:SHORTLIST]
    hits = tables.hits([Reach(term) for term in found.common], best)
    found.holders |= _by_term(hits)
    for term in found.common:
        _add_own(found, term)
