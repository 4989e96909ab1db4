"""Dates in words: of a note, and of the days its text speaks of ("yesterday", "last Friday").

People speak of a day as seen from theirs and ask for it by its date. What is read is English. "On
Friday" is taken for the last one, for most that is told is over; "two weeks ago" only for a month.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta

from .vocabulary import BASE_OF_IRREGULAR

_MONTH_NAMES = (
    "January February March April May June July August September October November December"
)
MONTHS = tuple(_MONTH_NAMES.split())
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_SPOKEN = re.compile(
    r"\b(?:(?P<near>the\s+day\s+before\s+yesterday|yesterday|last\s+night|tomorrow)"
    r"|(?P<past>last|on|this\s+past)\s+(?P<day>" + "|".join(_WEEKDAYS) + r")"
    r"|(?P<coming>next)\s+(?P<next_day>" + "|".join(_WEEKDAYS) + r")"
    r"|last\s+(?P<weekend>weekend)"
    r"|(?P<side>last|next)\s+(?P<unit>week|month|year)"
    r"|(?P<count>\w{1,9})\s+(?P<ago>day|week|month|year)s?\s+ago)\b",
    re.IGNORECASE | re.ASCII,
)
_NEAR = {"yesterday": -1, "last night": -1, "the day before yesterday": -2, "tomorrow": 1}
_MOST_SPOKEN = 8
_MOST_AGO = 999


def date_words(moment: date) -> str:
    """Return a date (or the date of a datetime) in words, as people ask for it: `8 May 2023`."""
    return f"{moment.day} {_month_words(moment)}"


def spoken_dates(text: str, moment: date) -> list[str]:
    """Return in words the dates that `text`, spoken on the day of `moment`, counts from that day.

    "Yesterday" is a day, "two weeks ago" a month, "last year" a year. The first 8 are read; those
    that say no more than the date of the day itself are left out.
    """
    day = moment.date() if isinstance(moment, datetime) else moment
    found: list[str] = []
    for match, _ in zip(_SPOKEN.finditer(text), range(_MOST_SPOKEN), strict=False):
        found += _words_of(match, day)
    known = (date_words(day), _month_words(day), str(day.year))
    return [words for words in dict.fromkeys(found) if words not in known]


def _words_of(match: re.Match[str], day: date) -> Iterator[str]:
    try:
        yield from _read(match, day)
    except OverflowError:  # before the year 1 or after 9999
        return


def _read(match: re.Match[str], day: date) -> Iterator[str]:
    said = match.groupdict()
    if near := said["near"]:
        yield date_words(day + timedelta(days=_NEAR[" ".join(near.lower().split())]))
    elif name := said["day"]:
        yield date_words(day - timedelta(days=_days(_WEEKDAYS.index(name.lower()), day.weekday())))
    elif name := said["next_day"]:
        yield date_words(day + timedelta(days=_days(day.weekday(), _WEEKDAYS.index(name.lower()))))
    elif said["weekend"]:
        sunday = day - timedelta(days=_days(6, day.weekday()))
        yield from (date_words(sunday - timedelta(days=1)), date_words(sunday))
    elif unit := said["unit"]:
        yield _away(day, unit.lower(), 1 if said["side"].lower() == "next" else -1)
    elif count := _count(said["count"]):
        yield _away(day, said["ago"].lower(), -count)


def _days(earlier: int, later: int) -> int:
    """Return how many days after a weekday another comes; a week, if they are the same."""
    return (later - earlier - 1) % 7 + 1


def _away(day: date, unit: str, count: int) -> str:
    """Return the day, month or year that lies `count` units away from `day`."""
    if unit == "day":
        return date_words(day + timedelta(days=count))
    if unit == "week":
        return _month_words(day + timedelta(weeks=count))
    months = day.year * 12 + day.month - 1 + (count if unit == "month" else 12 * count)
    if months < 12:
        raise OverflowError
    there = f"{months // 12}"
    return f"{MONTHS[months % 12]} {there}" if unit == "month" else there


def _count(word: str) -> int:
    """Return the number a word says, 0 if none or too large a one."""
    word = word.lower()
    number = "1" if word in {"a", "an", "one"} else BASE_OF_IRREGULAR.get(word, word)
    return int(number) if number.isdecimal() and len(number) <= len(str(_MOST_AGO)) else 0


def _month_words(moment: date) -> str:
    return f"{MONTHS[moment.month - 1]} {moment.year}"
