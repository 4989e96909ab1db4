"""Dates in words, and the days a text speaks of from its own."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_agent_memory.text.analysis import terms
from django_agent_memory.text.dates import date_words, spoken_dates

from .strategies import texts

MONDAY = date(2023, 5, 8)


def test_a_date_is_found_as_people_write_it() -> None:
    spoken = date_words(datetime(2023, 5, 8, 23, 59, tzinfo=UTC))
    assert spoken == date_words(MONDAY) == "8 May 2023"
    for written in ("8 May 2023", "8th May, 2023", "2023-05-08", "8 MAY 2023"):
        assert terms(written) == terms(spoken)
    assert sorted(terms("May 8th")) == sorted(terms("8 May"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I ran yesterday", ["7 May 2023"]),
        ("the day  before yesterday, not yesterday", ["6 May 2023", "7 May 2023"]),
        ("Last night and tomorrow", ["7 May 2023", "9 May 2023"]),
        ("on Friday", ["5 May 2023"]),
        ("LAST MONDAY", ["1 May 2023"]),
        ("next Monday, next Tuesday", ["15 May 2023", "9 May 2023"]),
        ("last weekend", ["6 May 2023", "7 May 2023"]),
        ("last week", []),
        ("last month, next month", ["April 2023", "June 2023"]),
        ("last year and next year", ["2022", "2024"]),
        ("three days ago", ["5 May 2023"]),
        ("a week ago, two weeks ago", ["April 2023"]),
        ("five months ago", ["December 2022"]),
        ("10 years ago", ["2013"]),
        ("many years ago, 99999 days ago, ago", []),
        ("999 years ago", ["1024"]),
        ("on Fridays, yesterdays, Friday, the last one", []),
        ("today", []),
        ("", []),
    ],
)
def test_days_spoken_of(text: str, expected: list[str]) -> None:
    assert spoken_dates(text, MONDAY) == expected


def test_a_moment_counts_by_its_day() -> None:
    assert spoken_dates("yesterday", datetime(2024, 3, 1, 0, 1, tzinfo=UTC)) == ["29 February 2024"]


@pytest.mark.parametrize("day", [date.min, date.max])
def test_days_before_and_after_all_days_are_left_out(day: date) -> None:
    far = "yesterday, tomorrow, last weekend, next Monday, 999 weeks ago, 999 years ago, next year"
    assert len(spoken_dates(far, day)) < 7


def test_the_first_eight_are_read() -> None:
    assert len(spoken_dates(" ".join(f"{n} days ago" for n in range(1, 99)), MONDAY)) == 8
    assert len(spoken_dates("on " * 300_000, MONDAY)) == 0


@given(texts, st.dates())
def test_any_text_may_be_spoken_on_any_day(text: str, day: date) -> None:
    assert spoken_dates(text, day) == []
    assert all(terms(words) for words in spoken_dates(f"{text} yesterday, next year", day))
