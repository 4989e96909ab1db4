"""An embedder's say in the order: how near the meaning of a note is to that of the query.

`AGENT_MEMORY_EMBEDDER` names a function `embed(texts: list[str]) -> list[list[float]]`: one vector
a text, in order, all of one length that is the same for every call. It is called once a query, with
the query first and after it the texts of at most 100 notes that are the best by their words, so it
should keep the vectors of texts it has seen. What it raises, find raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import hypot
from statistics import fmean, pstdev
from typing import cast

from django.utils.module_loading import import_string

from django_agent_memory.conf import conf
from django_agent_memory.models.note import NoteQuerySet

MOST_EMBEDDED = 100
WEIGHT = 0.5

Embed = Callable[[list[str]], Sequence[Sequence[float]]]


def embedder() -> Embed | None:
    """Return the site's embedder, None if it has none."""
    path = conf.embedder
    return None if path is None else cast("Embed", import_string(path))


def meanings(
    embed: Embed, query: str, notes: NoteQuerySet, positions: Sequence[int]
) -> dict[int, float]:
    """Return 0.5 × the z-score of the similarity to the query of each of `notes` at `positions`."""
    chosen = notes.filter(position__in=positions)
    rows = chosen.order_by("position").values_list("position", "subject", "entry__summary", "body")
    texts = {position: "\n".join(filter(None, said)) for position, *said in rows}
    asked, *vectors = embed([query, *texts.values()])
    similar = [_cosine(asked, vector) for vector in vectors]
    spread = pstdev(similar) if similar else 0.0
    if not spread:
        return {}
    mean = fmean(similar)
    return {
        position: WEIGHT * (one - mean) / spread
        for position, one in zip(texts, similar, strict=True)
    }


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = hypot(*one) * hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
