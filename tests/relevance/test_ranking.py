"""The ranker on hand-made notes: each tie, each bound, what filters and settings do."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory import writing
from django_agent_memory.models import IndexEntry, Note, NoteUsage, Workspace
from django_agent_memory.relevance import Ranked, evidence, ranking, selection
from django_agent_memory.relevance import rank as ranked_notes
from django_agent_memory.relevance.tables import Tables
from django_agent_memory.relevance.visible import Visible
from django_agent_memory.rows import columns_of, read_notes
from django_agent_memory.writing import Drop, Save

pytestmark = pytest.mark.django_db

PATH = "core"


def store(*notes: str | tuple[str, str] | Save) -> None:
    """Store the notes one by one, so that each is more recent than the one before."""
    for number, note in enumerate(notes):
        if isinstance(note, str):
            note = (f"n{number}", note)
        change = note if isinstance(note, Save) else Save(key=note[0], body=note[1])
        writing.apply(PATH, [change])


def rank(query: str, limit: int | None = 10, **filters: Any) -> dict[str, Ranked]:
    workspace = Workspace.objects.get(path=PATH).pk
    notes = Note.objects.filter(workspace=workspace, **filters)
    found = ranked_notes(notes, query, workspace=workspace, limit=limit, using="default")
    keys = dict(Note.objects.values_list("pk", "key"))
    return {keys[one.pk]: one for one in found}


def test_relevance_comes_first() -> None:
    store(Save(key="a", body="green tea"), Save(key="b", body="green", weight=9.0))
    assert [*rank("green tea")] == ["a", "b"]


def test_equal_scores_go_by_weight() -> None:
    store(Save(key="a", body="tea", weight=2.0), Save(key="b", body="tea"))
    assert [*rank("tea")] == ["a", "b"]


def test_then_by_the_last_write() -> None:
    store(("a", "tea"), ("b", "tea"), Save(key="a", body="tea", kind="x"))
    assert [*rank("tea")] == ["a", "b"]


def test_then_by_specificity_then_by_key() -> None:
    writing.apply(
        PATH,
        [
            Save(key="c", body="tea", context=("x",)),
            Save(key="b", body="tea", context=("y",)),
            Save(key="d", body="tea", context=("a/a",)),
        ],
    )
    found = rank("tea")
    # Each is alone in its context and has as many terms: "a" is no term, "a/a" is one.
    assert len({round(one.score, 9) for one in found.values()}) == 1
    assert [*found] == ["d", "b", "c"]


@pytest.mark.parametrize("query", ["", "  \n"])
def test_a_blank_query_orders_what_there_is(query: str) -> None:
    store(("a", "tea"), Save(key="b", body="milk", weight=2.0), ("c", "x"))
    found = rank(query)
    assert [*found] == ["b", "c", "a"]
    assert {one.score for one in found.values()} == {0.0}
    assert [*rank(query, limit=1)] == ["b"]
    assert [*rank(query, limit=None)] == ["b", "c", "a"]


@pytest.mark.parametrize("query", ["the of", "unknown", "?", "%", "_", "' OR 1=1 --"])
def test_nothing_asked_nothing_found(query: str) -> None:
    store("tea")
    assert rank(query) == {}


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (None, 3)])
def test_the_limit(limit: int | None, count: int) -> None:
    store("tea", "tea", "tea")
    assert len(rank("tea", limit=limit)) == count


def test_filters_are_kept_and_change_no_score() -> None:
    store(Save(key="a", body="tea", kind="x"), Save(key="b", body="tea"))
    everything = rank("tea")
    assert rank("tea", kind="x") == {"a": everything["a"]}
    assert rank("tea", kind="y") == {}


def test_without_a_context_the_path_of_the_key_is_one() -> None:
    store(("a/1", "favourite tea?"), ("a/2", "Assam"), ("b/1", "tea"), ("c", "never mind"))
    found = rank("favourite tea")
    assert set(found) == {"a/1", "a/2", "b/1"}
    assert found["a/2"].parts["before"] == pytest.approx(0.3 * found["a/1"].parts["own"])
    assert found["a/2"].parts["context"] == found["a/1"].parts["context"] > 0


def test_a_forgotten_neighbour_is_none() -> None:
    store(("a/1", "tea?"), ("a/2", "no"), ("a/3", "Assam"))
    assert set(rank("tea")) == {"a/1", "a/2"}
    writing.apply(PATH, [Drop(key="a/2")])
    assert set(rank("tea")) == {"a/1", "a/3"}


def test_words_that_occur_twice_are_looked_up_in_the_text() -> None:
    store("green tea and tea", "tea, green tea", "tea and green, tea")
    pairs = {key: one.parts["pair"] > 0 for key, one in rank("green tea").items()}
    assert pairs == {"n0": True, "n1": True, "n2": True}
    store(("x", "tea and tea and green"))
    assert rank("green tea")["x"].parts["pair"] == 0


def test_beyond_so_many_texts_none_is_read(monkeypatch: Any) -> None:
    store("green tea, tea", "green tea, tea")
    monkeypatch.setattr(ranking, "MOST_TEXTS", 1)
    pairs = [one.parts["pair"] > 0 for one in rank("green tea").values()]
    assert sorted(pairs) == [False, True]


def test_who_has_the_most_notes_and_is_named_is_favoured() -> None:
    store(Save(key="a", body="tea", subject="Ann"), Save(key="b", body="tea", subject="Bo"))
    assert rank("Ann's tea")["a"].parts["subject"] == 3.0
    assert not rank("Ann's tea")["b"].parts["subject"]
    assert not rank("the tea of Ann and Bo")["a"].parts["subject"]


def narrow(monkeypatch: Any, *, postings: int, shortlist: int) -> None:
    """Make what very many notes come to come to these few."""
    monkeypatch.setattr(evidence, "MOST_POSTINGS", postings)
    for module in (evidence, selection):
        monkeypatch.setattr(module, "SHORTLIST", shortlist)


@pytest.mark.parametrize("most", [9, 10, 11])
def test_common_terms_count_for_what_others_found(monkeypatch: Any, most: int) -> None:
    store(*["tea"] * 9, ("rare", "oolong tea"))
    whole = rank("oolong tea")["rare"].parts["own"]
    narrow(monkeypatch, postings=most, shortlist=9)
    # One posting of oolong, ten of tea.
    assert [*rank("oolong tea", limit=1)] == ["rare"]
    assert rank("oolong tea", limit=1)["rare"].parts["own"] == pytest.approx(whole)
    # Where that is not enough, the newest with the common term are found as well.
    found = rank("oolong tea", limit=10)
    assert [*found][0] == "rare"
    assert set(found) >= {"rare", *(f"n{n}" for n in range(1, 9))}


def test_if_all_terms_are_common_the_newest_notes_are_found(monkeypatch: Any) -> None:
    store(*["tea"] * 5, *[(f"m{n}", "milk") for n in range(4)])
    narrow(monkeypatch, postings=3, shortlist=3)
    assert set(rank("tea milk", limit=3)) == {"m1", "m2", "m3"}
    assert len(rank("tea milk", limit=None)) == 9


def test_a_common_family_is_left_out(monkeypatch: Any) -> None:
    store(*["painting"] * 3, "painter", "painter")
    assert len(rank("painter")) == 5
    narrow(monkeypatch, postings=4, shortlist=2)
    assert set(rank("painter", limit=2)) == {"n3", "n4"}
    assert len(rank("painter", limit=None)) == 5


def test_no_other_note_crowds_out_what_the_filters_let_through(monkeypatch: Any) -> None:
    few = [Save(key=f"x{n}", body="apple", slot="x") for n in range(4)]
    store(*few, Save(key="y", body="apple pie", slot="y"), Save(key="zebra", body="z", slot="y"))
    store(*[(f"o{n}", "apple") for n in range(9)])
    everything = rank("apple", limit=None)
    narrow(monkeypatch, postings=3, shortlist=3)
    assert len(everything) == len(rank("apple", limit=None)) == 14
    # Few enough to be looked at each; none that does not hold the word.
    assert set(rank("apple", slot="y")) == {"y"}
    assert rank("xylophone", slot="y") == {}
    # Too many for that: the newest of them, as far as they are ranked.
    assert set(rank("apple", slot="x")) == {"x1", "x2", "x3"}
    assert set(rank("apple", slot="x", limit=None)) == {"x0", "x1", "x2", "x3"}
    # The best by their own words are those that may be seen.
    monkeypatch.setattr(evidence, "MOST_POSTINGS", 10_000)
    assert set(rank("apple", slot="x", limit=2)) <= {"x0", "x1", "x2", "x3"}
    assert len(rank("apple", slot="x", limit=2)) == 2


def test_only_the_best_are_ranked_of_very_many(monkeypatch: Any) -> None:
    store("tea", "tea tea", "tea tea tea", Save(key="x", body="tea and others", kind="x"))
    monkeypatch.setattr(selection, "SHORTLIST", 2)
    assert len(rank("tea")) == 2
    assert len(rank("tea", limit=None)) == 4
    # What a narrow filter lets through is ranked whatever there is beside it.
    assert set(rank("tea", kind="x")) == {"x"}


def test_of_very_many_terms_the_rarest_count() -> None:
    store(*["common"] * 3, "zebra")
    filler = " ".join(f"w{n}word" for n in range(148))
    assert set(rank(f"{filler} common zebra", limit=1)) == {"n3"}
    assert set(rank(f"{filler} w148word common zebra")) == {"n0", "n1", "n2"}


def test_thirty_terms_are_looked_up(monkeypatch: Any) -> None:
    store(*[f"w{n}word" for n in range(31)])
    words = " ".join(f"w{n}word" for n in range(31))
    assert len(rank(words, limit=40)) == 30
    monkeypatch.setattr(evidence, "MOST_ASKED", 31)
    assert len(rank(words, limit=40)) == 31


@pytest.mark.parametrize(
    ("context", "query"),
    [
        ("#12", "about #12"),
        ("50%_off", "what is 50%_off?"),
        ("issue-12", "about issue-12."),
        ("2026-05-09", "what was said on 2026-05-09"),
        ("room 101", "Who is in room 101?"),
        ("a/b c/d.py", 'see "a/b c/d.py"'),
    ],
)
def test_what_is_tied_to_a_context_that_is_named_is_found(context: str, query: str) -> None:
    others = ("#13", "issue-13", "2026-05-08", "room 102", "50%_of", "a/b c/e.py")
    store(
        *[Save(key=f"o{n}", body="hash", context=name) for n, name in enumerate(others)],
        Save(key="it", body="hash", context=context),
        Save(key="plain", body="hash", context="user"),
    )
    found = rank(query)
    assert [*found][0] == "it"
    assert found["it"].parts["tied"] == 3.0
    assert not any(one.parts["tied"] for key, one in found.items() if key != "it")
    assert not any(one.parts["tied"] for one in rank("the user of hash").values())


def test_a_name_that_is_a_stop_word_finds_its_notes() -> None:
    store(Save(key="a", body="likes tea", subject="Will"), ("b", "will be rain"), ("c", "IT stays"))
    for query in ("Will", "Who is Will?", "about Will", "Ask Will"):
        assert set(rank(query)) == {"a"}, query
    assert rank("what will be") == {}
    assert set(rank("the IT department")) == {"c"}


def test_another_workspace_is_never_read() -> None:
    writing.apply("other", [Save(key="x/y", body="tea"), Save(key="x/z", body="tea")])
    store(("x/y", "tea"))
    alone = rank("tea")
    writing.apply("other", [Save(key=f"x/{n}", body="tea", subject="tea") for n in range(9)])
    assert rank("tea") == alone


def shouted(text: str) -> list[str]:
    return [word for word in text.upper().split() if word != "NOT"]


def test_a_site_may_have_its_own_analyser(settings: Any) -> None:
    settings.AGENT_MEMORY_ANALYSER = f"{__name__}.shouted"
    store("the tea", "not milk", ("long", "x" * 99))
    assert set(rank("THE not")) == {"n0"}
    assert set(rank("X" * 99)) == {"long"}


def test_find_takes_few_statements_however_many_notes_there_are() -> None:
    counts = []
    for size in (5, 50):
        writing.apply(PATH, [Save(key=f"a/{size}/{n}", body="tea") for n in range(size)])
        with CaptureQueriesContext(connection) as queries:
            rank("tea with milk")
        counts.append(len(queries) - 2)  # the two of `rank` here
    assert counts == [7, 7]


def test_rows_read_by_sql_are_those_of_the_orm() -> None:
    moment = timezone.now().replace(microsecond=0)
    known = {"weight": 2.5, "expires_at": moment + timedelta(days=1), "happened_at": moment}
    writing.apply(
        PATH, [Save(key="a/b", body={"a": 1}, summary="S", **known), Save(key="c", body="t")]
    )
    NoteUsage.objects.create(
        workspace=Workspace.objects.get(), position=1, recalled_at=moment + timedelta(days=1)
    )
    notes = Note.objects.order_by("key")
    names = [field.name for field in Note._meta.concrete_fields]
    fields = (*columns_of(Note, *names), *columns_of(IndexEntry, "summary"))
    read = read_notes(list(notes.values_list("pk", flat=True)), fields, "default")
    assert sorted(read) == sorted(notes.values_list(*names, "entry__summary"))
    assert read_notes([], fields, "default") == []
    recent: Any = notes.with_recency()
    asked = ("pk", "position", "weight", "recency", "specificity", "key")
    seen = Visible(notes.filter(pk__gt=0)).rows({1, 2, 3})
    assert sorted(seen) == sorted(recent.values_list(*asked))
    assert list(Visible(notes.none()).rows({1})) == []


def test_postings_are_read_along_their_index() -> None:
    writing.apply(PATH, [Save(key=f"a/{n}", body=f"tea w{n} and milk") for n in range(300)])
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
    workspace = Workspace.objects.get().pk
    notes = Note.objects.filter(workspace=workspace)
    with CaptureQueriesContext(connection) as queries:
        ranked_notes(notes, "tea with painters", workspace=workspace, limit=5, using="default")
    (hits,) = [
        query["sql"]
        for query in queries
        if "frequency" in query["sql"] and "posting" in query["sql"]
    ]
    with connection.cursor() as cursor:
        explain = "EXPLAIN QUERY PLAN " if connection.vendor == "sqlite" else "EXPLAIN "
        cursor.execute(explain + hits)
        plan = [" ".join(map(str, row)) for row in cursor.fetchall()]
    if connection.vendor == "sqlite":
        searches = [line for line in plan if "agent_memory_posting" in line]
        assert len(searches) == 2
        assert all("SEARCH" in line and "USING COVERING INDEX" in line for line in searches)
    elif connection.vendor == "postgresql":
        assert not any("Seq Scan on agent_memory_posting" in line for line in plan)
    else:
        assert not any(" ALL " in line and "posting" in line for line in plan)


def test_neighbours_are_those_of_the_context() -> None:
    store(
        Save(key="1", body="x", context=("a",)),
        Save(key="2", body="x", context=("a", "b")),
        Save(key="3", body="x", context=("b",)),
        Save(key="4", body="x", context=("a",)),
    )
    tables = Tables(Workspace.objects.get().pk, "default")
    assert sorted(tables.neighbours({1, 2}), key=str) == [(1, None, 2), (2, 1, 4), (2, None, 3)]


def test_scores_grow_worse_down_the_list() -> None:
    store(*[f"tea {'milk ' * n}" for n in range(30)])
    scores = [one.score for one in rank("tea milk", limit=25).values()]
    assert len(scores) == 25
    assert all(a >= b for a, b in pairwise(scores))


def hues(texts: list[str]) -> list[list[float]]:
    """Embed by two topics that share no words."""
    topics = (("tea", "assam", "drink"), ("rain", "weather"))
    return [
        [float(sum(word in text.lower() for word in topic)) for topic in topics] for text in texts
    ]


def no_vectors(texts: list[str]) -> list[list[float]]:
    return [[0.0, 0.0] for _ in texts]


def test_the_parts_say_what_decides_between_equals() -> None:
    store(Save(key="x/a", body="tea", weight=2.0))
    note = Note.objects.get()
    for query in ("tea", ""):
        parts = rank(query)["x/a"].parts
        decided = (parts["weight"], parts["recency"], parts["specificity"])
        assert decided == (2.0, note.updated_at.timestamp(), 1.0)


def test_an_embedder_has_a_say_in_the_order(settings: Any) -> None:
    store("a good day for assam", "a good day for rain", "a good day for sleep")
    query = "which drink on a good day"
    without = rank(query)
    assert "meaning" not in without["n0"].parts
    settings.AGENT_MEMORY_EMBEDDER = f"{__name__}.hues"
    found = rank(query)
    assert [*found][0] == "n0"
    assert [*without] == ["n2", "n1", "n0"]
    meanings = [one.parts["meaning"] for one in found.values()]
    assert sum(meanings) == pytest.approx(0)
    assert sum(m * m for m in meanings) / 3 == pytest.approx(0.25)
    for key, one in found.items():
        assert one.score == pytest.approx(without[key].score + one.parts["meaning"])


def test_an_embedder_that_sees_no_difference_makes_none(settings: Any) -> None:
    store("a good day for rain", "a good day for assam")
    without = rank("good day")
    settings.AGENT_MEMORY_EMBEDDER = f"{__name__}.no_vectors"
    assert rank("good day") == without


def test_an_embedder_sees_only_what_the_filters_let_through(
    settings: Any, monkeypatch: Any
) -> None:
    seen: list[str] = []
    settings.AGENT_MEMORY_EMBEDDER = f"{__name__}.hues"
    monkeypatch.setattr(f"{__name__}.hues", lambda texts: seen.extend(texts) or no_vectors(texts))
    store(Save(key="a", body="tea", kind="x", summary="s"), Save(key="b", body="secret tea"))
    rank("tea", kind="x")
    assert seen == ["tea", "s\ntea"]
