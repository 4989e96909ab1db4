"""What a query to `find` asks for, beyond the terms it shares with the notes that answer it.

The hints read here are English, and each only adds to the score of what is found anyway.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from .analysis import name_words, stop_names, terms

FAMILY_CHARACTERS = 5
"""Terms that begin with the same 5 characters are taken for one family of words."""

_QUESTION_WORDS = frozenset(
    word
    for words in (
        "what when where which who whom whose why how a an the i in on at",
        "do does did is are was were has have had can could should would",
    )
    for word in words.split()
)
_AROUND = "?!.,;:\"'()[]{}<>\u201c\u201d\u2018\u2019\u00ab\u00bb"
_MOST_NAMING_WORDS = 200
_MOST_NAMES = 100

_PRESENT = re.compile(
    r"\b(?:now|nowadays|currently|at (?:present|the moment)|these days|presently)\b", re.IGNORECASE
)
_NUMBER = re.compile(
    r"\bhow\s+(?:many|much|long|often|old|far|big|tall|high|heavy|late|early)\b", re.IGNORECASE
)
_KIND = re.compile(r"\b(?:what|which|whatever)\s+(?:kind|sort|type)s?\s+of\b", re.IGNORECASE)


def query_terms(query: str) -> list[str]:
    """Return the terms of a query: those of the text without what only frames the question.

    "What kind of music" asks for music, "how long" for no length, "at the moment" for no moment.
    Stop words that may be names are asked for at the end: notes have them of their subjects only.
    """
    for frame in (_PRESENT, _NUMBER, _KIND):
        query = frame.sub(" ", query)
    asked = terms(query)
    names = (name for name in stop_names(query) if name not in _QUESTION_WORDS)
    return asked + [name for name in dict.fromkeys(names) if name not in asked]


def named_contexts(query: str) -> list[str]:
    """Return what in the query may be the name of a context: `app/auth.py`, `#12`, `room 101`.

    Up to three of its words, as written, without the punctuation around them. Plain words are left
    out: a context called `user` is not meant by everybody who says so.
    """
    words = [stripped for word in query.split() if (stripped := word.strip(_AROUND))]
    found = dict.fromkeys(
        name
        for start in range(min(len(words), _MOST_NAMING_WORDS))
        for end in range(start + 1, start + 4)
        if not (name := " ".join(words[start:end])).replace(" ", "").isalpha()
    )
    return list(found)[:_MOST_NAMES]


def asks_for_number(query: str) -> bool:
    """Whether a number would answer: how many, how long, how old."""
    return bool(_NUMBER.search(query))


def asks_for_present(query: str) -> bool:
    """Whether the query wants what holds now, so that of several answers the last is the best."""
    return bool(_PRESENT.search(query))


def tells_number(words: Iterable[str]) -> bool:
    """Whether there is a number among the terms of a text; `three` is one."""
    return any(word.isdecimal() for word in words)


def family(term: str) -> str:
    """Return what terms of one family begin with: `paint` for painter; "" if it has no family.

    Stems keep the painter from the paint, and words of most languages have no stems here.
    """
    return term[:FAMILY_CHARACTERS] if len(term) >= FAMILY_CHARACTERS and term.isalpha() else ""


def named(query: str, subjects: Collection[str]) -> set[str]:
    """Return those of `subjects` that the query names, by the whole name or by a part of it.

    A part that belongs to a whole name in the query names nobody else: "Ann Lee" is not Bo Lee.
    A name that is also a stop word ("Will") counts only if written with a capital.
    """
    said = frozenset(name_words(query))
    names = {subject: _words_of(subject) for subject in subjects}
    whole = {subject for subject, words in names.items() if words and words <= said}
    spoken_for = frozenset[str]().union(*(names[subject] for subject in whole))
    partly = {subject for subject, words in names.items() if words & said - spoken_for}
    return whole | partly


@lru_cache(maxsize=10_000)
def _words_of(subject: str) -> frozenset[str]:
    return frozenset(name_words(subject))
