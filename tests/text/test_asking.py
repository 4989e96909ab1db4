"""What a query asks for: whom it names, what only frames it, what would answer it."""

from __future__ import annotations

import pytest
from hypothesis import given

from django_agent_memory.text.analysis import stop_names, terms
from django_agent_memory.text.asking import (
    asks_for_number,
    asks_for_present,
    family,
    named,
    query_terms,
    tells_number,
)

from .strategies import texts


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What kinds of music does Ann like?", "music ann like"),
        ("How long did Bo sail?", "bo sail"),
        ("a kind man, long ago", "kind man long ago"),
        ("Where does Ann live at the moment?", "ann live"),
        ("the moment of the present days", "moment present dai"),
        ("", ""),
    ],
)
def test_a_frame_is_not_asked_for(query: str, expected: str) -> None:
    assert query_terms(query) == expected.split()


def test_a_number_answers() -> None:
    assert asks_for_number("How many dogs has Ann?")
    assert asks_for_number("since when and HOW  OLD")
    assert not asks_for_number("How did Ann fare? Many thanks")
    assert tells_number(terms("She has three dogs"))
    assert tells_number(terms("on the 8th"))
    assert not tells_number(terms("She has dogs, v1 and auth.py"))


def test_the_present_is_asked_for() -> None:
    assert asks_for_present("Where does Ann live now?")
    assert asks_for_present("Who drums these days?")
    assert not asks_for_present("Where did Ann live? I don't know. A present!")


def test_a_family_of_words() -> None:
    assert {family(term) for term in terms("paint painter paintings")} == {"paint"}
    assert family("кошками") == family("кошками"[:5]) == "кошка"
    assert [family(term) for term in ("cat", "auth.py", "12345", "東京", "")] == [""] * 5


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What did Ann buy?", {"Ann Lee"}),
        ("what did ann's dog eat", {"Ann Lee"}),
        ("What did Ann Lee buy?", {"Ann Lee"}),
        ("What did Lee buy?", {"Ann Lee", "Bo Lee"}),
        ("Ann Lee and Bo", {"Ann Lee", "Bo Lee"}),
        ("Ann Lee or Will", {"Ann Lee", "Will"}),
        ("What will Zoe do?", {"Zoë"}),
        ("What did he say?", set()),
        ("announcements", set()),
        ("", set()),
    ],
)
def test_who_is_named(query: str, expected: set[str]) -> None:
    assert named(query, ["Ann Lee", "Bo Lee", "Will", "Zoë", "", "--"]) == expected


@given(texts)
def test_any_text_may_be_asked(text: str) -> None:
    said = {*terms(text), *terms(text.replace("\n", " ")), *stop_names(text)}
    assert set(query_terms(text)) <= said
    assert named(text, [text]) in ({text}, set())
    assert isinstance(asks_for_number(text), bool)
    assert all(term.startswith(family(term)) for term in terms(text))


@pytest.mark.parametrize("piece", ["what ", "how ", "what kind ", "at the ", "\u3000", "these  "])
def test_long_texts_are_asked(piece: str) -> None:
    """Quadratic steps would take many minutes here."""
    text = piece * (300_000 // len(piece))
    assert len(query_terms(text)) <= len(text)
    assert len(query_terms("what" + " " * 300_000)) == 0
