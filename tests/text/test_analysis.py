"""Terms: what people call the same word is one term, whatever it is written in."""

from __future__ import annotations

import sys
import unicodedata
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from django_agent_memory.text.analysis import note_terms, terms
from django_agent_memory.text.folding import fold
from django_agent_memory.text.vocabulary import BASE_OF_IRREGULAR, STOP_WORDS

from .strategies import texts

PIECES = (
    "What kind of did Alice's O'Brien's don't café went 8th 1,000 2023-05-08 auth.py a_b camelCase "
    "HTTPServer self-care 10am 猫が好き 서울에서 हिन्दी Привет e\u0301 ŉ İ ﬃ Ａ１ ' - . / , _ "
    "\u0345 \u0344 \u3099 \u0e31"
)
PIECE = st.sampled_from(PIECES.split()) | texts
SPEECH = st.lists(PIECE, max_size=12).map("".join) | st.lists(PIECE, max_size=6).map(" ".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She went to the shops", "go shop"),
        ("The children were running", "child run"),
        ("BUYING buys bought", "bui bui bui"),
        ("He died; she dies; they die; dying", "die die die die"),
        ("Alice's, Alice’s and the students' book", "alic alic student book"),
        ("I don't, can't, won't, shouldn't've, dont", ""),
        ("O'Brien d’Angelo", "obrien brien dangelo angelo"),
        ("l'eau", "leau eau"),
        ("café CAFE\u0301 cafe", "cafe cafe cafe"),
        ("Łódź, Tromsø", "lodz tromso"),
        ("STRASSE straße", "strass strass"),
        ("Привет ΟΔΟΣ οδός", "привет οδοσ οδοσ"),
        ("كِتَاب كتاب", "كتاب كتاب"),
        ("हिन्दी", "हिन्दी"),
        ("8th 08 8 eight 1990s the 2nd", "8 8 8 8 1990 2"),
        ("1,000 or 12,345,678 but 1,2", "1000 12345678 1 2"),
        ("2023-05-08 and 2023-13-08", "8 mai 2023 2023 13 8"),
        ("10am 5km", "10am 10 5km 5 km"),
        ("Jan and Sept", "januari septemb"),
        ("colour favourite mum", "color favorit mom"),
        ("realised realize organisation organizations", "realiz realiz organ organ"),
        ("analysed analyze, apologising apologized", "analyz analyz apolog apolog"),
        ("promise precise precision revise revision", "promis precis precis revis revis"),
        ("Ｔｏｋｙｏ２０２３", "tokyo2023"),
        ("", ""),
        (" \n\t.,-_'’/", ""),
        ("the of and", ""),
    ],
)
def test_words(text: str, expected: str) -> None:
    assert terms(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("auth.py", "auth.py auth py"),
        ("src/app/views.py", "src/app/views.py views.py src app view py"),
        ("src\\app\\views.py", "src\\app\\views.py views.py src app view py"),
        ("snake_case_name", "snake_case_name snake case name"),
        ("camelCase", "camelcas camel case"),
        ("HTTPServer", "httpserver http server"),
        ("self-care", "selfcar self care"),
        ("a well-to-do man", "man"),
        ("ann@example.com", "ann@example.com ann exampl com"),
        ("It was auth.py.", "auth.py auth py"),
        ("deploy-2/main.tf", "deploy-2/main.tf main.tf deploi 2 main tf"),
    ],
)
def test_identifiers_are_found_whole_and_by_their_parts(text: str, expected: str) -> None:
    assert terms(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("猫", "猫"),
        ("黒い猫", "黒い い猫"),
        ("東京タワー、スカイツリー", "東京 京タ タワ ワー スカ カイ イツ ツリ リー"),
        ("서울에서", "서울 울에 에서"),
        ("Pythonで書く", "python で書 書く"),
        ("สวัสดี", "สว วั ัส สด ดี"),
        ("がき", "がき"),
        (unicodedata.normalize("NFD", "がき"), "がき"),
    ],
)
def test_scripts_without_spaces_give_pairs(text: str, expected: str) -> None:
    assert terms(text) == expected.split()


def test_a_note_is_found_by_all_that_is_known_of_it() -> None:
    found = note_terms(
        key="session-3/tea_12",
        summary="Tea",
        body="Assam in auth.py",
        subject="Ann",
        contexts=("src/auth.py", "session-3"),
        happened_at=date(2023, 5, 8),
    )
    told = terms("8 May 2023 Ann tea Assam auth.py")
    assert found == [*told, "session-3/tea_12", "session", "src/auth.py", "src"]
    assert note_terms(key="3", summary="", body="") == []


def test_a_note_is_found_by_the_days_it_speaks_of() -> None:
    found = note_terms(key="", summary="", body="Rain yesterday", happened_at=date(2023, 5, 8))
    assert found == terms("8 May 2023 rain yesterday 7 May 2023")
    assert note_terms(key="", summary="", body="Rain yesterday") == terms("rain yesterday")


def test_the_tables_agree() -> None:
    bases = set(BASE_OF_IRREGULAR.values())
    assert not bases & set(BASE_OF_IRREGULAR), "a base that is itself a form would need two steps"
    assert len(BASE_OF_IRREGULAR) > 200
    assert "may" not in STOP_WORDS
    for word in STOP_WORDS | bases | set(BASE_OF_IRREGULAR):
        assert word == fold(word)
        assert word.isalnum()


@given(SPEECH)
def test_every_term_has_1_to_64_characters_and_is_the_same_again(text: str) -> None:
    found = terms(text)
    assert all(1 <= len(term) <= 64 for term in found)
    assert not any(char.isspace() for term in found for char in term)
    assert terms(text) == found


def test_only_one_mark_folds_to_a_letter() -> None:
    every = map(chr, range(sys.maxunicode + 1))
    marks = [char for char in every if unicodedata.category(char)[0] == "M"]
    assert [mark for mark in marks if fold(mark).isalnum()] == ["\u0345"]
    assert terms("\u03b1\u0345 \u1fb3 \u1fb4") == ["\u03b1\u03b9"] * 3


@given(SPEECH)
def test_canonically_equal_texts_have_equal_terms(text: str) -> None:
    for form in ("NFC", "NFD"):
        assert terms(unicodedata.normalize(form, text)) == terms(text)


@example("\u01492023-05-08")  # folds to two characters, of which the last is an ASCII letter
@example("\u212a2023-05-08")
@example("\u03452023-05-08")  # a mark that folds to a letter
@given(SPEECH)
def test_capitals_inside_a_word_only_add_terms(text: str) -> None:
    """Texts that search takes for the same differ by the parts of camelCase words only."""
    assert set(terms(fold(text))) <= set(terms(text))


@given(SPEECH, SPEECH)
def test_texts_side_by_side_keep_their_terms(a: str, b: str) -> None:
    assert terms(f"{a}\n{b}") == terms(a) + terms(b)


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a.",
        "'a",
        "1,",
        "1,000,",
        "\u0301\u0316",
        "\u0344\u0316",
        "猫",
        "aB",
        "İ",
        "_",
        "0",
        "-a",
    ]
    + ["2023-05-08 ", "a\u0e31", "é'", "Ａ", "'s"],
)
def test_long_texts_of_anything(piece: str) -> None:
    """Quadratic steps would take many minutes here."""
    text = piece * (300_000 // len(piece))
    assert len(terms("e" + text)) <= len(text)
