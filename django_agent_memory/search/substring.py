"""The substring search: complete, literal, and the same rows, order and total on every database.

Both sides are folded in Python (`text.folding`); a database compares code points and nothing else,
whatever its collations. How it finds the rows is its engine's business and changes only the time.
"""

from __future__ import annotations

from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Refused
from django_agent_memory.models.note import NoteQuerySet
from django_agent_memory.results import Match, SearchResult
from django_agent_memory.text.folding import first_hit, fold
from django_agent_memory.text.gate import is_storable
from django_agent_memory.text.rendering import excerpt

from .engines import engine_for

# One code point folds to at most three (measured over all of Unicode).
_MOST_EXPANSION = 3


def search(path: str, pattern: str, *, using: str, session: str = "") -> SearchResult:
    """Return the first 8 notes, in key order, that contain `pattern`, and how many there are.

    The pattern is plain text and is not trimmed; "" is in every note. One that no note can hold
    (NUL, a lone surrogate, longer than any note) matches nothing.
    """
    if not isinstance(pattern, str):
        raise Refused("The pattern must be a string.")
    folded = fold(pattern) if _can_match(pattern) else None
    total, rows, revision = engine_for(using).first_matches(path, folded, session)
    return SearchResult(
        pattern=pattern,
        matches=tuple(_match(key, body, summary, pattern) for key, body, summary in rows),
        total=total,
        workspace_revision=revision,
    )


def matching(notes: NoteQuerySet, pattern: str) -> NoteQuerySet:
    """Return those of `notes` that contain `pattern`, for the lists that people and programs see.

    It may send a statement of its own, to find out whether the search index helps.
    """
    if not _can_match(pattern):
        return notes.none()
    return engine_for(notes.db).matching(notes, fold(pattern)) if pattern else notes


def _can_match(pattern: str) -> bool:
    longest = conf.max_key_length + conf.max_summary_length + conf.max_body_length + 2
    return len(pattern) <= longest * _MOST_EXPANSION and is_storable(pattern)


def _match(key: str, body: str, summary: str | None, pattern: str) -> Match:
    text, cut = excerpt(body, first_hit(body, pattern))
    return Match(key=key, summary=summary, excerpt=text, excerpt_cut=cut)
