"""The best notes in order: relevance first, then what is known of the notes themselves."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice
from typing import Any

from django.utils import timezone

from django_agent_memory.analysing import analyse_query
from django_agent_memory.models.note import NoteQuerySet
from django_agent_memory.text.asking import named_contexts

from .evidence import SHORTLIST, Evidence, gather
from .formula import PARTS
from .meaning import MOST_EMBEDDED, embedder, meanings
from .ranking import Ranking
from .tables import Tables
from .visible import Seen, Visible

_FIRST_CHUNK = 20
_LARGEST_CHUNK = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A note found, by its primary key, and what its score is made of, by the names of `PARTS`.

    The score is the sum of all parts but `present`, times 1 + `present`; with an embedder there is
    one more, `meaning`, which is added to that. Beside them `parts` has what decides between equal
    scores and adds nothing to them: see `ties`.
    """

    pk: int
    score: float
    parts: dict[str, float]


def ties(weight: float, recency: datetime.datetime, specificity: int) -> dict[str, float]:
    """Return what decides between notes of equal scores, in this order: the larger one first.

    `recency` is in seconds since 1970.
    """
    moments = timezone.make_aware(recency) if timezone.is_naive(recency) else recency
    seconds = moments.timestamp()
    return {"weight": weight, "recency": seconds, "specificity": float(specificity)}


def _ties(row: Seen) -> dict[str, float]:
    return ties(row.weight, row.recency, row.specificity)


def _order(row: Seen) -> tuple[object, ...]:
    """Sort by weight, recency, specificity, key: what decides between equal scores."""
    return (-row.weight, -row.recency.timestamp(), -row.specificity, row.key)


def rank(
    notes: NoteQuerySet, query: str, *, workspace: int, limit: int | None, using: str
) -> list[Ranked]:
    """Return those of `notes` that are relevant to `query`, the best first, at most `limit`.

    `notes` are notes of the workspace, filtered as one likes; what a word is worth is reckoned from
    all notes of the workspace. A blank query finds all of `notes`, with a score of 0. Equal scores
    go by weight, then recency (the later write or recall), then specificity, then key.

    Without a `limit` every note that holds a term of the query is ranked; with one the 1,000 best
    by their own words and the notes next to them.
    """
    notes = notes.using(using)
    if not query.strip():
        return [Ranked(pk=row.pk, score=0.0, parts=_ties(row)) for row in _unranked(notes, limit)]
    asked, names = analyse_query(query), named_contexts(query)
    if limit == 0 or not (asked or names):
        return []
    tables, visible = Tables(workspace, using), Visible(notes)
    found = gather(tables, asked, tables.statistics(), visible, limit)
    tied = set(tables.tied(names, SHORTLIST))
    found.add_places(tables, tied - found.places.keys())
    ranking = Ranking(tables, query, found, tied)
    candidates = ranking.scores({*_shortlist(found, visible, limit), *tied})
    scored = [(score, position) for score, position in candidates if score > 0]
    meaning = _meanings(query, notes, scored)
    if meaning:
        scored = [(score + meaning.get(position, 0.0), position) for score, position in scored]
    return [
        Ranked(pk=row.pk, score=score, parts=_parts(ranking, row, meaning))
        for score, row in islice(_in_order(visible, scored, limit), limit)
    ]


def _parts(ranking: Ranking, row: Seen, meaning: dict[int, float]) -> dict[str, float]:
    parts = dict(zip(PARTS, ranking.parts(row.position), strict=True))
    if meaning:
        parts["meaning"] = meaning.get(row.position, 0.0)
    return parts | _ties(row)


def _meanings(query: str, notes: NoteQuerySet, scored: list[tuple[float, int]]) -> dict[int, float]:
    embed = embedder()
    if embed is None or not scored:
        return {}
    best = [position for _, position in nlargest(MOST_EMBEDDED, scored)]
    return meanings(embed, query, notes, best)


def _shortlist(found: Evidence, visible: Visible, limit: int | None) -> Collection[int]:
    """Return the positions of the notes worth ranking: all, or the best that may be seen."""
    own = found.own
    if limit is None or len(own) <= SHORTLIST:
        return own
    few = visible.few(SHORTLIST)
    if few is not None:
        return own.keys() & few
    best = sorted(own, key=lambda position: (-own[position], -position))
    listed: list[int] = []
    for start in range(0, len(best), SHORTLIST):
        batch = best[start : start + SHORTLIST]
        seen = visible.among(batch)
        listed += [position for position in batch if position in seen]
        if len(listed) >= SHORTLIST:
            break
    return listed[:SHORTLIST]


def _in_order(
    visible: Visible, scored: list[tuple[float, int]], limit: int | None
) -> Iterator[tuple[float, Seen]]:
    """Yield the notes with their scores in order, reading as few as it takes.

    Scores that differ by less than rounding does are equal: on all machines and databases the same
    notes tie.
    """
    ordered = sorted((-round(score, 9), position) for score, position in scored)
    size = _LARGEST_CHUNK if limit is None else max(_FIRST_CHUNK, limit + limit // 2)
    start = 0
    while start < len(ordered):
        end = min(start + size, len(ordered))
        while end < len(ordered) and ordered[end][0] == ordered[end - 1][0]:
            end += 1
        chunk = {position: -score for score, position in ordered[start:end]}
        for row in sorted(visible.rows(chunk), key=lambda row: (-chunk[row.position], _order(row))):
            yield chunk[row.position], row
        start, size = end, min(4 * size, _LARGEST_CHUNK)


def _unranked(notes: NoteQuerySet, limit: int | None) -> Iterator[Seen]:
    recent: Any = notes.with_recency()
    ordered = recent.order_by("-weight", "-recency", "-specificity", "key")
    rows = ordered.values_list("pk", "position", "weight", "recency", "specificity", "key")
    return (Seen(*row) for row in rows[:limit])
