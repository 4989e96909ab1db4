"""Martin Porter's suffix-stripping algorithm of 1980, as published: `runs`, `running` → `run`.

A stem is no word; it only has to be the same for the forms of one word and to differ between words.
The rules speak of a word as consonants (C) and vowels (V): `[C](VC)^m[V]`, where m is its measure.
"""

from __future__ import annotations

import re

_Rules = tuple[tuple[str, str], ...]

# Of each table, the longest ending that fits decides, whether or not its condition then holds.
_STEP_2: _Rules = (
    ("ational", "ate"),
    ("ization", "ize"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("tional", "tion"),
    ("biliti", "ble"),
    ("entli", "ent"),
    ("ousli", "ous"),
    ("ation", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("ator", "ate"),
    ("eli", "e"),
)
_STEP_3: _Rules = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
)
_STEP_4_ENDINGS = "ement ance ence able ible ment ant ent ism ate iti ous ive ize ion al er ic ou"
_STEP_4: _Rules = tuple((ending, "") for ending in _STEP_4_ENDINGS.split())

_VC = re.compile("v+c+")


def stem(word: str) -> str:
    """Return the stem of `word`, which is lower-case a–z; anything else is returned as it is.

    Words of one or two letters are left alone. Time grows with the length of the word.
    """
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _undo_y(_undo_past(_undo_plural(word)))
    word = _replace(word, _STEP_2, above=0)
    word = _replace(word, _STEP_3, above=0)
    word = _replace(word, _STEP_4, above=1)
    return _tidy(word)


def measure(stem: str) -> int:
    """Return m, the number of times a vowel run is followed by a consonant run."""
    return len(_VC.findall(_shape(stem)))


def _shape(word: str) -> str:
    """Return a `v` or a `c` for each letter; y is a vowel after a consonant."""
    shape: list[str] = []
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and bool(shape) and shape[-1] == "c")
        shape.append("v" if vowel else "c")
    return "".join(shape)


def _has_vowel(stem: str) -> bool:
    return "v" in _shape(stem)


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _ends_short(word: str) -> bool:
    """Whether it ends consonant, vowel, consonant, the last not w, x or y: `hop`, not `snow`."""
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _undo_plural(word: str) -> str:
    """Step 1a: caresses → caress, ponies → poni, cats → cat."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _undo_past(word: str) -> str:
    """Step 1b: agreed → agree, plastered → plaster, hopping → hop, hoping → hope."""
    if word.endswith("eed"):
        return word[:-1] if measure(word[:-3]) > 0 else word
    ending = next((ending for ending in ("ed", "ing") if word.endswith(ending)), "")
    if not ending or not _has_vowel(word[: -len(ending)]):
        return word
    word = word[: -len(ending)]
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _ends_double(word) and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if measure(word) == 1 and _ends_short(word) else word


def _undo_y(word: str) -> str:
    """Step 1c: happy → happi, sky → sky."""
    return word[:-1] + "i" if word.endswith("y") and _has_vowel(word[:-1]) else word


def _replace(word: str, rules: _Rules, *, above: int) -> str:
    """Steps 2 to 4: change the ending if what stands before it has a measure above `above`."""
    for ending, new in rules:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if ending == "ion" and not rest.endswith(("s", "t")):
                return word
            return rest + new if measure(rest) > above else word
    return word


def _tidy(word: str) -> str:
    """Step 5: probate → probat, rate → rate; controll → control, roll → roll."""
    if word.endswith("e"):
        rest = word[:-1]
        m = measure(rest)
        if m > 1 or (m == 1 and not _ends_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and measure(word) > 1 else word
