"""The examples Porter gives for each step of his paper, and the ends of words it must not touch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_agent_memory.text import stemming
from django_agent_memory.text.stemming import measure, stem

words = st.text("abcdefghijklmnopqrstuvwxyz", max_size=64)


def pairs(text: str) -> list[tuple[str, str]]:
    """Read `from→to` pairs."""
    return [tuple(pair.split("→", 1)) for pair in text.split()]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("m", "examples"),
    [(0, "tr ee tree y by"), (1, "trouble oats trees ivy"), (2, "troubles private oaten orrery")],
)
def test_the_measure(m: int, examples: str) -> None:
    assert [measure(word) for word in examples.split()] == [m] * len(examples.split())


@pytest.mark.parametrize(
    ("step", "examples"),
    [
        ("_undo_plural", "caresses→caress ponies→poni ties→ti caress→caress cats→cat"),
        ("_undo_past", "feed→feed agreed→agree plastered→plaster bled→bled motoring→motor"),
        ("_undo_past", "sing→sing conflated→conflate troubled→trouble sized→size hopping→hop"),
        ("_undo_past", "tanned→tan falling→fall hissing→hiss fizzed→fizz failing→fail filing→file"),
        ("_undo_y", "happy→happi sky→sky"),
        ("_tidy", "probate→probat rate→rate cease→ceas controll→control roll→roll"),
    ],
)
def test_the_examples_of_steps_1_and_5(step: str, examples: str) -> None:
    for word, result in pairs(examples):
        assert getattr(stemming, step)(word) == result


STEP_2 = """relational→relate conditional→condition rational→rational valenci→valence
hesitanci→hesitance digitizer→digitize conformabli→conformable radicalli→radical
differentli→different vileli→vile analogousli→analogous vietnamization→vietnamize
predication→predicate operator→operate feudalism→feudal decisiveness→decisive
hopefulness→hopeful callousness→callous formaliti→formal sensitiviti→sensitive
sensibiliti→sensible"""
STEP_3 = """triplicate→triplic formative→form formalize→formal electriciti→electric
electrical→electric hopeful→hope goodness→good"""
STEP_4 = """revival→reviv allowance→allow inference→infer airliner→airlin gyroscopic→gyroscop
adjustable→adjust defensible→defens irritant→irrit replacement→replac adjustment→adjust
dependent→depend adoption→adopt homologou→homolog communism→commun activate→activ
angulariti→angular homologous→homolog effective→effect bowdlerize→bowdler"""


@pytest.mark.parametrize(
    ("rules", "above", "examples"),
    [("_STEP_2", 0, STEP_2), ("_STEP_3", 0, STEP_3), ("_STEP_4", 1, STEP_4)],
)
def test_the_examples_of_steps_2_to_4(rules: str, above: int, examples: str) -> None:
    for word, result in pairs(examples):
        assert stemming._replace(word, getattr(stemming, rules), above=above) == result


def test_the_steps_together() -> None:
    examples = """generalizations→gener oscillators→oscil connect→connect connected→connect
    connecting→connect connection→connect connections→connect a→a as→as is→is painting→paint
    yoyo→yoyo syzygy→syzygi controlling→control opinion→opinion"""
    assert [(word, stem(word)) for word, _ in pairs(examples)] == pairs(examples)


@given(words)
def test_a_stem_is_never_longer_and_never_empty(word: str) -> None:
    assert len(stem(word)) <= len(word)
    assert bool(stem(word)) == bool(word)


@pytest.mark.parametrize("word", ["café", "8th", "auth.py", "Ponies2", "привет", ""])
def test_what_is_not_plain_letters_is_left_alone(word: str) -> None:
    assert stem(word) == word
