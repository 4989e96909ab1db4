"""Which words of an address or a form can be the number of a row."""

from __future__ import annotations

from django.db.models import BigIntegerField

# More digits than these no row has, and of very many `int` makes no number.
_MOST_DIGITS = len(str(BigIntegerField.MAX_BIGINT))


def is_number(word: str) -> bool:
    """Whether a row of ours may have this number: digits alone, and not more than fit."""
    if not (word.isascii() and word.isdecimal() and len(word) <= _MOST_DIGITS):
        return False
    return int(word) <= BigIntegerField.MAX_BIGINT
