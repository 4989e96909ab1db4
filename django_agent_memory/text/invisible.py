"""Characters that no reader sees and a model reads: found, and shown as their escapes.

What scripts and emoji need is left alone: joiners between letters of the scripts that use them and
between pictures, variation selectors behind what they vary, the tags of a flag, a byte-order mark
at the beginning, the soft hyphen that editors leave behind.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_JOINERS = "\u200c\u200d"
_MARKS_OF_DIRECTION = "\u200e\u200f"
_NEAR = 40
_FLAG = "\U0001f3f4"
_TAGS = re.compile("[\U000e0020-\U000e007f]+")
_JOINED_SCRIPTS = (
    "ARABIC", "BENGALI", "DEVANAGARI", "GUJARATI", "GURMUKHI", "KANNADA", "KHMER", "MALAYALAM",
    "MONGOLIAN", "MYANMAR", "ORIYA", "SINHALA", "SYRIAC", "TAMIL", "TELUGU", "TIBETAN",
)  # fmt: skip


def find_invisible(text: str) -> Iterator[int]:
    """Yield the place of each invisible character that nothing in the text asks for."""
    if text.isascii():
        return
    flag_ends = 0
    for match in _HIDDEN.finditer(text):
        at = match.start()
        if at < flag_ends or _is_needed(text, at):
            continue
        if at and text[at - 1] == _FLAG and (tags := _TAGS.match(text, at)):
            flag_ends = tags.end()
            continue
        yield at


def escape(char: str) -> str:
    """Return the character as people write it: `U+200B`."""
    return f"U+{ord(char):04X}"


def _is_needed(text: str, at: int) -> bool:
    char, before = text[at], text[at - 1 : at]
    if char == "\ufeff":
        return at == 0
    if "\ufe00" <= char <= "\ufe0f":
        return bool(before) and not _HIDDEN.match(before)
    if "\U000e0100" <= char <= "\U000e01ef":
        return bool(before) and unicodedata.name(before, "").startswith("CJK")
    if char in _JOINERS:
        return _joins(text, at)
    return char in _MARKS_OF_DIRECTION and _is_near_right_to_left(text, at)


def _joins(text: str, at: int) -> bool:
    """Whether a joiner stands behind a picture, or behind a letter of a script that uses it."""
    before = text[max(0, at - 2) : at].rstrip("\ufe0f")[-1:]
    is_picture = bool(before) and unicodedata.category(before) in ("So", "Sk")
    return is_picture or unicodedata.name(before or " ", "").startswith(_JOINED_SCRIPTS)


def _is_near_right_to_left(text: str, at: int) -> bool:
    """Whether there is a letter for which a mark of direction may be needed."""
    near = text[max(0, at - _NEAR) : at + _NEAR]
    letters = (char for char in near if char not in _MARKS_OF_DIRECTION)
    return any(unicodedata.bidirectional(char) in ("R", "AL") for char in letters)
