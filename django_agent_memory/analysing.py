"""The terms of notes and queries, by the site's own analyser if it has set one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from typing import NamedTuple, cast

from django.utils.module_loading import import_string

from .conf import conf
from .text.analysis import MOST_TERM_CHARACTERS, analysed
from .text.asking import query_terms, tells_number

BUILT_IN = "django_agent_memory.text.analysis.terms"

MOST_QUERY_TERMS = 150
"""Of a longer query only the first 150 different terms are asked for."""

MOST_CHARACTERS = 100_000
MOST_TERMS = 20_000
"""Of a longer note its first 100,000 code points of summary and body are counted, and of these the
first 20,000 terms: a write holds the lock while it counts."""


class NoteTerms(NamedTuple):
    """The terms of a note, and how many of them its summary and body say."""

    terms: list[str]
    told: int
    has_number: bool


def analyse_note(
    *,
    key: str,
    summary: str,
    body: str,
    subject: str,
    contexts: Iterable[str],
    happened_at: date | None,
) -> NoteTerms:
    """Return what a note is found by. A site's own analyser adds no words for dates."""
    summary, body = summary[:MOST_CHARACTERS], body[: max(0, MOST_CHARACTERS - len(summary))]
    analyser = _own_analyser()
    if analyser is None:
        every, said = analysed(
            key=key,
            summary=summary,
            body=body,
            subject=subject,
            contexts=contexts,
            happened_at=happened_at,
            most=MOST_TERMS,
        )
    else:
        said = analyser(f"{summary}\n{body}")[:MOST_TERMS]
        told = analyser(subject) + said
        labels = dict.fromkeys(analyser("\n".join((key, *contexts))))
        every = told + [term for term in labels if term not in set(told)]
    return NoteTerms(every, len(said), tells_number(said))


def analyse_query(query: str) -> list[str]:
    """Return the terms of a query in their order, at most 150 different ones."""
    analyser = _own_analyser()
    asked = query_terms(query) if analyser is None else analyser(query)
    if len(set(asked)) <= MOST_QUERY_TERMS:
        return asked
    kept = set(list(dict.fromkeys(asked))[:MOST_QUERY_TERMS])
    return [term for term in asked if term in kept]


def _own_analyser() -> Callable[[str], list[str]] | None:
    if conf.analyser == BUILT_IN:
        return None
    analyser = cast("Callable[[str], Iterable[str]]", import_string(conf.analyser))
    # Other than the built-in one, it may know nothing of the column.
    return lambda text: [term[:MOST_TERM_CHARACTERS] for term in analyser(text) if term]
