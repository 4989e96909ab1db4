"""Text as the terms that `find` counts, the same for notes and queries on every database.

A term is a folded word reduced to its stem: `She went to Alice's café` → go, alic, cafe. English
stop words are left out and irregular forms are led back to their base. Scripts written without
spaces give overlapping pairs of characters; other scripts keep their words whole.

Accents are not told apart (`cafe` finds `café`): people leave them out when they ask. Nor are the
vowel points of Arabic and Hebrew, which are usually left unwritten.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cache, lru_cache

from .dates import MONTHS, date_words, spoken_dates
from .folding import compose, fold
from .stemming import stem
from .vocabulary import BASE_OF_IRREGULAR, STOP_WORDS

MOST_TERM_CHARACTERS = 64
"""A longer term is cut to its first 64 code points, before stemming."""

_SHORT_CHUNK = 32

# Chinese, Japanese and Korean; Thai, Lao, Burmese and Khmer, which have no spaces either.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005\u3007\u3040-\u30fa\u30fc-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003fffd"
)
UNSPACED_RUNS = re.compile(f"([{_UNSPACED}]+)")
"""Splits a text so that every second part is a run of a script written without spaces."""

_LOOSE_MARKS = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670]+"
)
# Full-width letters and digits; and the iota subscript, a mark that folds to a letter.
_PLAIN = {0xFF01 + offset: 0x21 + offset for offset in range(94)} | {0x345: 0x3B9}
# Letters that Unicode does not take for accented ones.
_BASE_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"}
)

_APOSTROPHES = "'\u2019\u02bc\u2018"
_APOSTROPHE = re.compile(f"[{_APOSTROPHES}]")
_ENDING_AFTER_APOSTROPHE = re.compile("(?:n't|'(?:s|ll|ve|re|m|d|t))$")
_SHORTENED = frozenset({"can't", "won't", "shan't", "ain't"})
_JOINERS = r"./_:@\\-"
_JOINER = re.compile(f"[{_JOINERS}]")
_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_GROUPED_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])", re.ASCII)
# No letter stands before it but one of a script without spaces.
_ISO_DATE = re.compile(rf"(?<![^\W{_UNSPACED}])([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})(?![0-9])")
_NUMBER = re.compile(r"0*(\d+)(?:st|nd|rd|th|s)?", re.ASCII)
_MEASURE = re.compile(r"(\d+)([a-z]+)", re.ASCII)
# Where English spells both -ise and -ize, the stemmer knows -ize only.
_ISE = re.compile(
    "(?<=al|an|ar|as|en|er|gn|ic|il|im|in|it|og|ol|on|or|ot|rn|th)([iy])s"
    "(?=(?:e|ed|es|er|ers|ing|ation|ations)$)"
)


def terms(text: str) -> list[str]:
    """Return the terms of `text` in their order, each of 1 to 64 code points.

    What is written as one is found as a whole and by its parts: `src/app/views.py` also gives
    views.py, src, app, views and py; `camelCase` also camel and case; `self-care` also selfcare.
    A date written 2023-05-08 gives the terms of 8 May 2023, and 1,000 those of 1000.
    """
    return [
        term
        for chunk in _chunks(text)
        for term in (
            _short_chunk_terms(chunk) if len(chunk) <= _SHORT_CHUNK else _chunk_terms(chunk)
        )
    ]


def note_terms(
    *,
    key: str,
    summary: str,
    body: str,
    subject: str = "",
    contexts: Iterable[str] = (),
    happened_at: date | None = None,
) -> list[str]:
    """Return all terms a note is found by; see `analysed`."""
    return analysed(
        key=key,
        summary=summary,
        body=body,
        subject=subject,
        contexts=contexts,
        happened_at=happened_at,
    )[0]


def analysed(
    *,
    key: str,
    summary: str,
    body: str,
    subject: str = "",
    contexts: Iterable[str] = (),
    happened_at: date | None = None,
    most: int | None = None,
) -> tuple[list[str], list[str]]:
    """Return all terms a note is found by, and those of them that its summary and body say.

    Of the latter there are at most `most`. All are its date in words, subject (also a stop word, if
    it is a name), summary and body, in order; then the dates its text counts
    from its own ("yesterday"), and the terms of its key and contexts that are not there yet, once
    each and without bare numbers: `about auth.py` finds what is tied to auth.py, and no `session-3`
    answers "3 March".
    """
    text = f"{summary}\n{body}"
    dates = [date_words(happened_at), *spoken_dates(text, happened_at)] if happened_at else [""]
    said = terms(text)[:most]
    who = terms(subject) + stop_names(subject)
    told = terms(dates[0]) + who + said + terms("\n".join(dates[1:]))
    already = set(told)
    labels = dict.fromkeys(terms("\n".join((key, *contexts))))
    return told + [term for term in labels if not term.isdecimal() and term not in already], said


def stop_names(text: str) -> list[str]:
    """Return the stop words of a text that are written with a capital: "Will" may be a name."""
    return [word for word in name_words(text) if word in STOP_WORDS]


def name_words(text: str) -> Iterator[str]:
    """Yield the folded words of a text, without stop words that begin with a small letter."""
    for chunk in _chunks(text):
        for part in _JOINER.split(chunk):
            word = _bare(_folded(part))
            if word and (word not in STOP_WORDS or (len(word) > 1 and part[:1].isupper())):
                yield word


def _chunks(text: str) -> Iterator[str]:
    """Yield what is written as one: words, with the apostrophes and joiners inside them."""
    if not text.isascii():
        text = compose(text.translate(_PLAIN))
    text = _GROUPED_NUMBER.sub(lambda number: number[0].replace(",", ""), text)
    text = _ISO_DATE.sub(_spelt_out, text)
    return (match[0] for match in _chunk_pattern(ascii_only=text.isascii()).finditer(text))


def _spelt_out(match: re.Match[str]) -> str:
    year, month, day = map(int, match.groups())
    return f" {day} {MONTHS[month - 1]} {year} " if 1 <= month <= 12 else match[0]


@cache
def _chunk_pattern(*, ascii_only: bool) -> re.Pattern[str]:
    # What follows a word is mostly no mark, and is seen faster not to be one by its range.
    mark = "" if ascii_only else rf"|(?![\x00-\u02ff\u2000-\u206f])[{marks()}]"
    word = rf"(?:[^\W_]++{mark})++" if mark else r"[^\W_]++"
    return re.compile(rf"{word}(?:[{_APOSTROPHES}{_JOINERS}]{word})*+")


@cache
def marks() -> str:
    """Return all combining marks, which belong to the words they stand in."""
    every = map(chr, range(0x300, sys.maxunicode + 1))
    return "".join(char for char in every if unicodedata.category(char)[0] == "M")


@lru_cache(maxsize=20_000)
def _short_chunk_terms(chunk: str) -> tuple[str, ...]:
    """Return the terms of a chunk that is short enough to be remembered: most are common words."""
    return tuple(_chunk_terms(chunk))


def _chunk_terms(chunk: str) -> Iterator[str]:
    """Yield the terms of what is written as one: the whole of it, then its parts."""
    parts = _JOINER.split(chunk)
    if len(parts) > 1:
        yield from _wholes(chunk, parts)
    for part in parts:
        humps = _HUMP.split(part)
        words = [part, *humps] if len(humps) > 1 else humps
        for word in words:
            yield from _word_terms(word)
        if len(part) > 1 and part.isupper() and (folded := _folded(part)) in STOP_WORDS:
            yield folded  # IT is no pronoun


def _wholes(chunk: str, parts: list[str]) -> Iterator[str]:
    """Yield the whole and, of a path, the file's name; of two words with a hyphen, one word."""
    whole = _folded(chunk)
    if set(_JOINER.findall(chunk)) != {"-"}:
        yield whole[:MOST_TERM_CHARACTERS]
        file_name = re.split(r"[/\\]", whole)[-1]
        if file_name != whole and "." in file_name:
            yield file_name[:MOST_TERM_CHARACTERS]
    elif len(parts) == 2 and (joined := whole.replace("-", "")).isalpha():
        yield from _word_terms(joined)


def _word_terms(word: str) -> Iterator[str]:
    """Yield the terms of one word, which may change script on the way."""
    for at, run in enumerate(UNSPACED_RUNS.split(_folded(word))):
        if not run:
            continue
        if at % 2:
            yield from ([run[i : i + 2] for i in range(len(run) - 1)] or [run])
        else:
            yield from _spaced_terms(run[: MOST_TERM_CHARACTERS + 8])


@lru_cache(maxsize=20_000)
def _spaced_terms(word: str) -> tuple[str, ...]:
    """Return the terms of a folded word of a script with spaces."""
    forms = [_bare(word)]
    if _APOSTROPHE.search(word):
        head, _, tail = _without_ending(word).rpartition("'")
        if head and len(tail) > 1:
            forms.append(tail)
    elif (measured := _MEASURE.fullmatch(word)) and not _NUMBER.fullmatch(word):
        forms += measured.groups()
    reduced = (_reduced(form) for form in forms if form and form not in STOP_WORDS)
    return tuple(reduced)


def _bare(word: str) -> str:
    """Return the word without 's, n't, 'll and their like, and without any other apostrophe."""
    return _without_ending(word).replace("'", "")


def _without_ending(word: str) -> str:
    word = _APOSTROPHE.sub("'", word)
    return "" if word in _SHORTENED else _ENDING_AFTER_APOSTROPHE.sub("", word)


def _reduced(word: str) -> str:
    """Return the base or stem of a word, or the plain number: 08 and 8th are 8."""
    word = word[:MOST_TERM_CHARACTERS]
    if number := _NUMBER.fullmatch(word):
        return number[1]
    return stem(_ISE.sub(r"\1z", BASE_OF_IRREGULAR.get(word, word)))


def _folded(word: str) -> str:
    """Return the word folded, its accents and vowel points taken off."""
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFD", fold(word).translate(_BASE_LETTERS))
    return unicodedata.normalize("NFC", _LOOSE_MARKS.sub("", apart))
