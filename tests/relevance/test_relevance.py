"""The test set is sound, the reference does what it says, and each part is worth its cost."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from math import isclose, log

import pytest

from .evaluate import ALL, CUTS, LADDER, PLAIN, WITHOUT, overall, ranking, together
from .reference import Formula, Ranker, Scored
from .testset import Note, Workspace, workspaces

LEAST = (70.0, 77.0, 85.0)
"""What the whole ranking must recall at each cut, a few points below what it does."""


@pytest.fixture(scope="module")
def apart() -> list[Workspace]:
    return workspaces()


def test_the_set_is_large_enough(apart: list[Workspace]) -> None:
    assert sum(len(workspace.notes) >= 150 for workspace in apart) >= 7
    assert sum(len(workspace.questions) for workspace in apart) >= 300


def test_keys_and_questions_are_unique(apart: list[Workspace]) -> None:
    for workspace in apart:
        assert len({note.key for note in workspace.notes}) == len(workspace.notes)
        assert len({question.text for question in workspace.questions}) == len(workspace.questions)
        assert all(question.evidence for question in workspace.questions)


def test_the_whole_ranking_recalls_enough(apart: list[Workspace]) -> None:
    whole = overall(ranking(ALL), apart)
    assert all(figure >= least for figure, least in zip(whole, LEAST, strict=True)), whole
    plain = overall(ranking(LADDER["+ stems"]), apart)
    assert all(a - b > 10 for a, b in zip(whole, plain, strict=True))


def test_a_memory_of_everything_is_harder_but_not_hopeless(apart: list[Workspace]) -> None:
    found = overall(ranking(ALL), [together(apart)])
    assert all(figure >= least - 5 for figure, least in zip(found, LEAST, strict=True)), found


@pytest.mark.parametrize("name", WITHOUT)
def test_no_part_costs_recall(apart: list[Workspace], name: str) -> None:
    """Averaged over the cuts, for one workspace may well do without a part."""
    without = overall(ranking(WITHOUT[name]), apart)
    assert sum(overall(ranking(ALL), apart)) > sum(without) - 0.1 * len(CUTS)


def note(position: int, body: str, **fields: object) -> Note:
    return Note(key=f"n{position}", body=body, position=position, **fields)  # type: ignore[arg-type]


def scored(notes: list[Note], query: str, formula: Formula = ALL) -> dict[str, Scored]:
    return {found.note.key: found for found in Ranker(notes, formula).find(query)}


def test_bm25_by_hand() -> None:
    found = scored([note(1, "tea tea milk"), note(2, "coffee")], "tea", replace(PLAIN, b=0.5))
    idf = log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    length = 1 - 0.5 + 0.5 * 3 / 2
    assert list(found) == ["n1"]
    assert isclose(found["n1"].score, idf * 2 * 1.9 / (2 + 0.9 * length))


def test_the_neighbours_in_a_context_count_for_each_other() -> None:
    notes = [
        note(1, "What is your favourite tea?", contexts=("s1",)),
        note(2, "Assam", contexts=("s1",)),
        note(3, "Tea?", contexts=("s2",)),
        note(4, "Never mind", contexts=("s1",)),
    ]
    found = scored(notes, "favourite tea")
    assert set(found) == {"n1", "n2", "n3"}
    assert isclose(found["n2"].before, 0.3 * found["n1"].own)
    assert not found["n3"].before


def test_a_context_counts_as_one_document() -> None:
    notes = [
        note(1, "Tea with Ann", contexts=("s1",)),
        note(2, "And milk", contexts=("s1",)),
        note(3, "Tea with Bo", contexts=("s2",)),
    ]
    found = scored(notes, "tea and milk with whom")
    assert found["n1"].context == found["n2"].context > found["n3"].context


def test_a_broad_context_gives_what_the_best_of_several_gives() -> None:
    notes = [note(1, "tea", contexts=("a", "b")), note(2, "milk tea", contexts=("b",))]
    found = scored(notes, "milk")
    assert found["n1"].context == found["n2"].context > 0


@pytest.mark.parametrize(
    ("query", "favoured"), [("Ann's tea", {"n1"}), ("tea", set()), ("Ann and Bo: tea", set())]
)
def test_who_alone_is_named_is_favoured(query: str, favoured: set[str]) -> None:
    found = scored([note(1, "tea", subject="Ann"), note(2, "tea", subject="Bo")], query)
    assert {key for key, result in found.items() if result.subject} == favoured


def test_dates_are_words_of_a_note() -> None:
    day = datetime(2023, 5, 8, tzinfo=UTC)
    notes = [note(1, "tea", happened_at=day), note(2, "tea", happened_at=day.replace(month=6))]
    found = scored(notes, "What was drunk on 8 May 2023?")
    assert list(found) == ["n1", "n2"]
    assert found["n1"].pair > found["n2"].pair


def test_a_family_of_words_counts_less_than_the_word() -> None:
    found = scored([note(1, "a painter"), note(2, "paints"), note(3, "panther")], "painting")
    assert list(found) == ["n2", "n1"]
    assert found["n1"].own < found["n2"].own


def test_a_number_and_the_present_are_favoured_if_asked_for() -> None:
    notes = [note(1, "three dogs"), note(2, "my dogs bark"), note(3, "dogs")]
    assert [*scored(notes, "How many dogs?")][0] == "n1"
    same = [note(1, "dog here"), note(2, "dog there")]
    assert [*scored(same, "Which dog now?")] == ["n2", "n1"]
    assert not any(result.present for result in scored(same, "Which dog?").values())


def test_ties_go_by_weight_then_the_newer_then_the_key() -> None:
    notes = [note(1, "tea"), note(2, "tea", weight=2.0), note(3, "tea", stored=1), note(4, "tea")]
    assert [*scored(notes, "tea")] == ["n2", "n3", "n1", "n4"]


@pytest.mark.parametrize("query", ["", "the of", "unknown", "?"])
def test_nothing_asked_nothing_found(query: str) -> None:
    assert scored([note(1, "tea")], query) == {}
