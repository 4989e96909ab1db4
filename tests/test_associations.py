"""Knowledge tied to contexts: what a note has beside its text, stored, found and forgotten."""

from __future__ import annotations

import datetime
import math
from typing import Any, NamedTuple

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory import KEEP, Memory, Save, Store, associations
from django_agent_memory.exceptions import Conflict, NotAllowed, Refused
from django_agent_memory.models import Note, NoteContext, Revision, Workspace
from django_agent_memory.results import Found

UTC = datetime.UTC
DAY = datetime.timedelta(days=1)
SAID = datetime.datetime(2023, 5, 8, 13, 56, tzinfo=UTC)

FULL: dict[str, Any] = {
    "kind": "episodic",
    "slot": "system",
    "subject": "Ann",
    "weight": 2.5,
    "context": ["b/x.py", "a"],
    "source": "chat",
    "happened_at": SAID,
    "expires_at": datetime.datetime(2999, 1, 1, tzinfo=UTC),
}
KEPT = {**{k: v for k, v in FULL.items() if k != "context"}, "contexts": ("a", "b/x.py")}


def said(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in KEPT}


def keys(found: tuple[Found, ...]) -> list[str]:
    return [one.key for one in found]


def contexts(key: str) -> list[str]:
    """Return the contexts that notes of this key have rows for, in whatever workspace."""
    found = []
    for workspace, position in Note.objects.filter(key=key).values_list("workspace", "position"):
        rows = NoteContext.objects.filter(workspace=workspace, position=position)
        found += rows.values_list("context", flat=True)
    return sorted(found)


# What is kept


def test_what_is_known_is_kept_and_read(memory: Memory) -> None:
    memory.remember("k", "s", "b", **FULL)
    recalled = memory.recall("k")
    assert said(recalled) == KEPT
    assert contexts("k") == ["a", "b/x.py"]
    assert Note.objects.get().specificity == 2


def test_without_it_a_note_has_the_defaults(memory: Memory) -> None:
    memory.remember("a/b/k", "s", "b")
    recalled = memory.recall("a/b/k")
    assert recalled is not None
    assert (recalled.kind, recalled.slot, recalled.subject, recalled.source) == ("", "", "", "")
    assert (recalled.weight, recalled.contexts) == (1.0, ())
    assert (recalled.happened_at, recalled.expires_at) == (None, None)
    assert Revision.objects.get().details == ""
    assert contexts("a/b/k") == ["a/b"]
    assert Note.objects.get().specificity == 2


def test_what_is_not_given_stays(memory: Memory) -> None:
    memory.remember("k", "s", "b", **FULL)
    done = memory.remember("k", "s", "corrected")
    assert done.outcome == "replaced"
    assert said(memory.recall("k")) == KEPT
    memory.remember("k", "s", "corrected", weight=1, context=(), happened_at=None, kind="")
    changed = {"weight": 1.0, "contexts": (), "happened_at": None, "kind": ""}
    assert said(memory.recall("k")) == {**KEPT, **changed}
    assert contexts("k") == []


def test_a_change_of_what_is_known_is_a_change(memory: Memory) -> None:
    memory.remember("k", "s", "b", **FULL)
    assert memory.remember("k", "s", "b", **FULL).outcome == "unchanged"
    assert memory.remember("k", "s", "b").outcome == "unchanged"
    for name, value in (
        ("kind", "x"),
        ("slot", "x"),
        ("subject", "x"),
        ("weight", 0),
        ("context", "a"),
        ("source", "x"),
        ("happened_at", None),
        ("expires_at", None),
    ):
        again: dict[str, Any] = {name: value}
        assert memory.remember("k", "s", "b", **again).outcome == "replaced", name
        assert memory.remember("k", "s", "b", **again).outcome == "unchanged", name


def test_contexts_are_a_set(memory: Memory) -> None:
    memory.remember("k", "s", "b", context=["b", "a", "b"])
    assert contexts("k") == ["a", "b"]
    assert memory.remember("k", "s", "b", context=("a", "b")).outcome == "unchanged"
    memory.remember("k", "s", "b", context=["b", "c"])
    assert contexts("k") == ["b", "c"]


def test_contexts_differ_by_code_points(memory: Memory) -> None:
    nasty = ["a", "A", "a ", "á", "a\u0301", "%", "_", "a/", "/"]
    memory.remember("k", "s", "b", context=nasty)
    assert contexts("k") == sorted(nasty)
    for number, context in enumerate(nasty):
        memory.remember(f"n{number}", "s", "b", context=context)
    for number, context in enumerate(nasty):
        assert sorted(keys(memory.find(context=context))) == ["k", f"n{number}"]


@pytest.mark.parametrize("weight", [0, 5e-324, 0.1, 1 / 3, 2**53 + 1.0, 1.7976931348623157e308])
def test_a_weight_is_exactly_kept(memory: Memory, weight: float) -> None:
    memory.remember("k", "s", "b", weight=weight)
    assert memory.remember("k", "s", "b", weight=weight).outcome == "unchanged"
    assert Memory("core").recall("k").weight == weight  # type: ignore[union-attr]
    assert memory.as_of("k", 1).weight == weight  # type: ignore[union-attr]


@pytest.mark.parametrize("year", [1, 753, 1900, 2023, 9998])
def test_a_time_is_exactly_kept(memory: Memory, year: int) -> None:
    moment = datetime.datetime(
        year, 6, 1, 12, 30, 1, 123456, tzinfo=datetime.timezone(datetime.timedelta(hours=5.5))
    )
    memory.remember("k", "s", "b", happened_at=moment)
    assert memory.remember("k", "s", "b", happened_at=moment).outcome == "unchanged"
    assert memory.recall("k").happened_at == moment  # type: ignore[union-attr]
    assert memory.as_of("k", 1).happened_at == moment  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"kind": "k" * 65}, "The kind is too long: 65 characters, the limit is 64."),
        ({"slot": "k" * 65}, "The slot is too long: 65 characters, the limit is 64."),
        ({"subject": "k" * 256}, "The subject is too long: 256 characters, the limit is 255."),
        ({"source": "k" * 256}, "The source is too long: 256 characters, the limit is 255."),
        ({"context": "k" * 513}, "The context is too long: 513 characters, the limit is 512."),
        ({"context": [str(n) for n in range(101)]}, "There are 101 contexts, the limit is 100."),
        ({"context": ""}, "A context is empty"),
        ({"context": ["a", ""]}, "A context is empty"),
        ({"context": "a\rb"}, "The context contains the control character U+000D"),
        ({"context": ["a", 1]}, "The context must be a string, not a number."),
        ({"context": {"a": 1}}, "The context must be a string or a list of strings."),
        ({"context": None}, "The context must be a string or a list of strings."),
        ({"kind": "a\x00"}, "The kind contains a NUL character"),
        ({"slot": "\ud800"}, "The slot contains the lone surrogate U+D800"),
        ({"subject": None}, "The subject must be a string, not null."),
        ({"source": 1}, "The source must be a string, not a number."),
        ({"weight": -0.1}, "The weight must be a finite number of at least 0."),
        ({"weight": math.nan}, "The weight must be a finite number of at least 0."),
        ({"weight": math.inf}, "The weight must be a finite number of at least 0."),
        ({"weight": 10**400}, "The weight must be a finite number of at least 0."),
        ({"weight": True}, "The weight must be a number of at least 0."),
        ({"weight": "1"}, "The weight must be a number of at least 0."),
        ({"happened_at": datetime.datetime(2023, 1, 1)}, "happened_at must be a date and time"),  # noqa: DTZ001
        ({"expires_at": "2023-01-01"}, "expires_at must be a date and time with its offset"),
    ],
)
def test_refused(memory: Memory, given: dict[str, Any], sentence: str) -> None:
    for write in (
        lambda: memory.remember("k", "s", "b", **given),
        lambda: memory.store("b", **given),
    ):
        with pytest.raises(Refused) as refused:
            write()
        assert str(refused.value).startswith(sentence)
    assert not Note.objects.exists()


def test_at_the_limits(memory: Memory) -> None:
    memory.remember(
        "k",
        "s",
        "b",
        kind="😀" * 64,
        slot="😀" * 64,
        subject="😀" * 255,
        source="😀" * 255,
        context=["😀" * 512, *(str(n) for n in range(99))],
    )
    recalled = memory.recall("k")
    assert recalled is not None
    assert (len(recalled.kind), len(recalled.slot)) == (64, 64)
    assert (len(recalled.subject), len(recalled.source)) == (255, 255)
    assert len(recalled.contexts) == len(contexts("k")) == 100
    assert keys(memory.find(context="😀" * 512)) == ["k"]


# The past


def test_every_revision_has_the_whole_state(memory: Memory) -> None:
    memory.remember("k", "s", "b", **FULL)
    memory.remember("k", "s", "b", weight=0, context="z")
    memory.forget("k")
    one, two, three = memory.history("k")
    assert said(one) == KEPT
    assert said(two) == {**KEPT, "weight": 0.0, "contexts": ("z",)}
    assert (three.weight, three.contexts, three.kind) == (1.0, (), "")
    assert said(memory.as_of("k", 1)) == KEPT
    assert said(memory.at(1).recall("k")) == KEPT


def test_forget_and_restore(memory: Memory) -> None:
    memory.remember("k", "s", "b", **FULL)
    memory.remember("other", "s", "b", context="a")
    memory.forget("k")
    assert not NoteContext.objects.filter(context="b/x.py").exists()
    assert contexts("other") == ["a"]
    assert memory.restore("k", 1).outcome == "restored"
    assert said(memory.recall("k")) == KEPT
    assert contexts("k") == ["a", "b/x.py"]
    assert memory.restore("k", 1).outcome == "unchanged"
    assert Note.objects.get(key="k").fingerprint != ""


def test_restore_over_another_state(memory: Memory) -> None:
    memory.remember("k", "s", "b", **FULL)
    memory.remember("k", "s", "b", context="z", weight=9)
    memory.restore("k", 1)
    assert said(memory.recall("k")) == KEPT
    assert contexts("k") == ["a", "b/x.py"]


def test_rollback_brings_it_back(memory: Memory) -> None:
    memory.remember("k", "s", "b", **FULL)
    Memory("core", actor="vandal").remember("k", "s", "b", weight=0, context=())
    memory.rollback(actor="vandal", since=1)
    assert said(memory.recall("k")) == KEPT
    assert contexts("k") == ["a", "b/x.py"]


def test_redact_blanks_it(memory: Memory) -> None:
    memory.remember("k", "s", "b", **FULL)
    memory.remember("k", "s", "b", kind="x", context="z", subject="", source="", slot="")
    memory.redact("k")
    first = Revision.objects.get(number=1)
    assert (first.details, first.expires_at) == ("", None)
    assert memory.history("k")[0].contexts == ()
    assert memory.recall("k").contexts == ("z",)  # type: ignore[union-attr]


def test_erase_takes_the_contexts(memory: Memory) -> None:
    memory.remember("k", "s", "b", **FULL)
    memory.remember("other", "s", "b", context="a")
    Memory("elsewhere").remember("k", "s", "b", context="a")
    memory.erase("k")
    assert contexts("k") == ["a"]  # that of elsewhere
    assert contexts("other") == ["a"]
    memory.erase()
    assert NoteContext.objects.count() == 1


def test_deleting_a_workspace_takes_its_contexts(memory: Memory) -> None:
    memory.remember("k", "s", "b", **FULL)
    Workspace.objects.all().delete()
    assert not NoteContext.objects.exists()


def test_damaged_details_are_read_as_far_as_they_go(memory: Memory) -> None:
    memory.remember("k", "s", "b", **FULL)
    for damaged in ("{", "[]", '{"weight":"x","contexts":[1],"happened_at":"soon","kind":"x"}'):
        Revision.objects.update(details=damaged)
        assert memory.history("k")[0].weight == 1.0
        assert memory.history("k")[0].contexts == ()
        assert memory.history("k")[0].happened_at is None
    assert memory.history("k")[0].kind == "x"
    Note.objects.update(contexts="[1")
    assert memory.recall("k").contexts == ()  # type: ignore[union-attr]


# Storing


def test_store_makes_a_key(memory: Memory) -> None:
    done = memory.store("Ann plays the cello")
    assert done.outcome == "created"
    assert done.key.startswith("notes/")
    assert len(done.key) == len("notes/") + 32
    recalled = memory.recall(done.key)
    assert recalled is not None
    assert (recalled.body, recalled.summary) == ("Ann plays the cello", None)
    assert memory.index_note() == ""


def test_store_again_updates(memory: Memory) -> None:
    first = memory.store("c", context=["x", "y"], slot="s", source="git", weight=1)
    again = memory.store("c", context=["y", "x"], slot="s", source="git", weight=1)
    assert (again.outcome, again.key) == ("unchanged", first.key)
    heavier = memory.store("c", context=["y", "x"], slot="s", source="git", weight=2, kind="k")
    assert (heavier.outcome, heavier.key) == ("replaced", first.key)
    assert Note.objects.get().weight == 2
    assert Note.objects.count() == 1


@pytest.mark.parametrize(
    "other",
    [
        {"content": "d"},
        {"content": ["c"]},
        {"context": "x"},
        {"context": ()},
        {"slot": "t"},
        {"source": "hg"},
    ],
    ids=str,
)
def test_what_differs_is_another(memory: Memory, other: dict[str, Any]) -> None:
    one: dict[str, Any] = {"content": "c", "context": ["x", "y"], "slot": "s", "source": "git"}
    first = memory.store(**one)
    assert memory.store(**{**one, **other}).key != first.key
    assert Note.objects.count() == 2


def test_text_and_json_of_the_same_letters_are_two(memory: Memory) -> None:
    assert memory.store("[1]").key != memory.store([1]).key


def test_store_finds_what_a_key_was_given_to(memory: Memory) -> None:
    memory.store("c", key="mine", source="x")
    assert memory.store("c", source="x").key == "mine"
    assert Memory("elsewhere").store("c", source="x").key != "mine"


def test_store_keeps_a_summary(memory: Memory) -> None:
    key = memory.store("c").key
    memory.remember(key, "curated", "c")
    assert memory.store("c").outcome == "unchanged"
    assert memory.recall(key).summary == "curated"  # type: ignore[union-attr]
    memory.store("c", summary="stored")
    assert memory.recall(key).summary == "stored"  # type: ignore[union-attr]


def test_store_under_a_key_replaces(memory: Memory) -> None:
    memory.store("one", key="k", weight=3)
    assert memory.store("two", key="k").outcome == "replaced"
    recalled = memory.recall("k")
    assert recalled is not None
    assert (recalled.body, recalled.weight) == ("two", 1.0)


def test_a_forgotten_one_is_stored_anew(memory: Memory) -> None:
    first = memory.store("c")
    memory.forget(first.key)
    assert memory.store("c").key != first.key


def test_the_same_twice_in_one_write(memory: Memory) -> None:
    one, two = memory.apply([Store(body="c", weight=1), Store(body="c", weight=2)])
    assert (one.key, two.outcome) == (two.key, "replaced")
    assert Note.objects.get().weight == 2


def test_a_changed_note_is_found_by_what_it_says_now(memory: Memory) -> None:
    key = memory.store("c").key
    memory.remember(key, None, "d")
    assert memory.store("d").key == key
    assert memory.store("c").key != key


def test_save_and_keep(memory: Memory) -> None:
    memory.apply([Save(key="k", body="b", weight=3), Save(key="k", body="c", weight=KEEP)])
    assert memory.recall("k").weight == 3  # type: ignore[union-attr]


def test_a_recorded_store_is_replayed(memory: Memory) -> None:
    first = Memory("core", run="r1").store("c", context="x")
    again = Memory("core", run="r1")
    assert again.store("c", context="x") == first
    assert again.replayed


def test_fifty_contexts_are_as_many_statements_as_one(memory: Memory) -> None:
    def statements(key: str, *names: int) -> int:
        with CaptureQueriesContext(connection) as captured:
            memory.remember(key, "s", "b", context=[str(name) for name in names])
        return sum("notecontext" in query["sql"] for query in captured.captured_queries)

    assert statements("one", 1) == statements("fifty", *range(50)) == 1
    assert statements("one", 2) == statements("fifty", *range(25, 75)) == 2
    assert statements("one", 2) == statements("plain") == 0


# Finding by filters


@pytest.fixture
def library(memory: Memory) -> Memory:
    """A memory of five notes that differ in everything."""
    memory.remember("a/one", "s", "first", kind="fact", slot="system", weight=3, subject="Ann")
    memory.remember("a/b/two", "s", "second", kind="fact", weight=2, source="git")
    memory.remember("three", None, "third", context=["a", "a/b/c.py"], weight=1)
    memory.remember("four", "s", "fourth", kind="Fact", slot="system ", weight=0.5, context="100%")
    memory.remember("five", "s", "fifth", slot="sys_em", weight=0)
    return memory


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, []),
        ({"slot": None, "context": None}, []),
        ({"context": []}, []),
        ({"key_prefix": ""}, []),
        ({"kind": "fact"}, ["a/one", "a/b/two"]),
        ({"kind": "Fact"}, ["four"]),
        ({"kind": "fac"}, []),
        ({"slot": "system"}, ["a/one"]),
        ({"slot": "sys%"}, []),
        ({"slot": "s______"}, []),
        ({"slot": "sys_em"}, ["five"]),
        ({"slot": ""}, ["a/b/two", "three"]),
        ({"subject": "Ann"}, ["a/one"]),
        ({"source": "git"}, ["a/b/two"]),
        ({"context": "a"}, ["a/one", "three"]),
        ({"context": "a/b"}, ["a/b/two"]),
        ({"context": ["a", "a/b/c.py"]}, ["three"]),
        ({"context": "100%"}, ["four"]),
        ({"context": "%"}, []),
        ({"context": "A"}, []),
        ({"key_prefix": "a/"}, ["a/one", "a/b/two"]),
        ({"key_prefix": "f"}, ["four", "five"]),
        ({"key_prefix": "_"}, []),
        ({"min_weight": 2}, ["a/one", "a/b/two"]),
        ({"min_weight": 0}, []),
        ({"kind": "fact", "min_weight": 2.5}, ["a/one"]),
        ({"kind": "fact", "slot": "x"}, []),
    ],
    ids=str,
)
def test_filters_are_exact_and_all_have_to_fit(
    library: Memory, filters: dict[str, Any], expected: list[str]
) -> None:
    assert keys(library.find(**filters)) == expected
    assert keys(library.find("  ", **filters)) == expected


def test_found_has_all_there_is(memory: Memory) -> None:
    memory.remember("k", "s", {"a": 1}, **FULL)
    (found,) = memory.find(slot="system")
    assert said(found) == KEPT
    assert (found.key, found.body, found.text, found.summary) == ("k", {"a": 1}, '{"a":1}', "s")
    assert (found.revision, found.score) == (1, 0.0)
    moment = found.updated_at.timestamp()
    assert found.parts == {"weight": found.weight, "recency": moment, "specificity": 2.0}


def test_the_order_of_filters_alone(memory: Memory) -> None:
    memory.remember("old", None, "text", slot="s")
    memory.apply(
        Save(key=key, body="text", slot="s", **known)  # type: ignore[arg-type]
        for key, known in {
            "light": {"weight": 0.5},
            "b/none": {"context": ()},
            "broad": {"context": "src"},
            "narrow": {"context": ["src", "src/app/views.py"]},
            "none-1": {},
            "none-2": {},
            "heavy": {"weight": 2, "happened_at": SAID - DAY},
        }.items()
    )
    # When it happened does not make it more recent.
    memory.remember("new", None, "text", slot="s", happened_at=SAID - DAY)
    assert keys(memory.find(slot="s")) == [
        "heavy",
        "new",
        "narrow",
        "b/none",
        "broad",
        "none-1",
        "none-2",
        "old",
        "light",
    ]
    assert keys(memory.find(slot="s", limit=2)) == ["heavy", "new"]


@pytest.mark.parametrize(("count", "limit", "expected"), [(10, None, 10), (11, 10, 10), (9, 10, 9)])
def test_the_limit(memory: Memory, count: int, limit: int | None, expected: int) -> None:
    memory.apply([Save(key=f"k{n}", body="b", slot="s") for n in range(count)])
    assert len(memory.find(slot="s", limit=limit)) == expected


def test_ten_are_found_unless_more_are_asked_for(memory: Memory) -> None:
    memory.apply([Save(key=f"k{n}", body="b", slot="s") for n in range(12)])
    assert len(memory.find(slot="s")) == 10


@pytest.mark.parametrize(
    ("query", "asked", "sentence"),
    [
        (1, {}, "The query must be a string."),
        ("a\x00", {}, "The query contains a NUL character"),
        ("\ud800", {}, "The query contains the lone surrogate"),
        ("", {"slot": 1}, "The slot must be a string"),
        ("", {"slot": "s" * 65}, "The slot is too long"),
        ("", {"context": ""}, "A context is empty"),
        ("", {"key_prefix": "k" * 513}, "The key_prefix is too long"),
        ("", {"min_weight": -1}, "The min_weight must be a finite number of at least 0."),
        ("", {"min_weight": math.nan}, "The min_weight must be a finite number"),
        ("", {"limit": 0}, "The limit must be a whole number of at least 1."),
        ("", {"limit": True}, "The limit must be a whole number of at least 1."),
        ("", {"limit": 1.5}, "The limit must be a whole number of at least 1."),
    ],
)
def test_find_refuses(memory: Memory, query: Any, asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        memory.find(query, **asked)
    assert str(refused.value).startswith(sentence)


def test_no_such_filter(memory: Memory) -> None:
    with pytest.raises(TypeError, match="find has no filter 'colour'"):
        memory.find(colour="red")  # type: ignore[call-arg]


def test_find_in_no_workspace(memory: Memory) -> None:
    assert memory.find("cello") == ()
    assert memory.find(slot="s") == ()


def test_the_past_has_no_find(library: Memory) -> None:
    with pytest.raises(Refused, match="no find"):
        library.at(1).find("first")


def test_find_by_filters_is_one_statement(library: Memory, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        library.find(slot="system", context="a", kind="fact", min_weight=1)


# Finding by a query: the ranker's part is tested with it


class Ranked(NamedTuple):
    """What a ranker returns of each note."""

    pk: int
    score: float
    parts: dict[str, float]


def longest_first(notes: Any, query: str, *, workspace: int, limit: int | None, using: str) -> Any:
    """A ranker for tests."""
    rows = [row for row in notes.values_list("pk", "body") if query in row[1]]
    rows.sort(key=lambda row: (-len(row[1]), row[0]))
    return [Ranked(pk, float(len(body)), {"length": 1.0}) for pk, body in rows][:limit]


@pytest.fixture
def ranked(settings: Any) -> None:
    settings.AGENT_MEMORY_RANKER = f"{__name__}.longest_first"


def test_the_ranker_orders_what_fits(library: Memory, ranked: None) -> None:
    found = library.find("i")
    assert keys(found) == ["a/one", "three", "five"]
    assert (found[0].score, found[0].parts) == (5.0, {"length": 1.0})
    assert keys(library.find("i", limit=1)) == ["a/one"]
    assert keys(library.find("i", slot="sys_em")) == ["five"]
    assert keys(library.find("i", slot="nowhere")) == []


# Forgetting


def test_forget_matching_by_filters(library: Memory) -> None:
    assert library.forget_matching(kind="fact") == 2
    assert library.keys() == ("five", "four", "three")
    assert library.forget_matching(kind="fact") == 0
    for number in (1, 2):
        revision = Revision.objects.get(number=number)
        library.restore(revision.key, number)
    assert len(library.find(kind="fact")) == 2


def test_forget_matching_by_a_query(library: Memory, ranked: None) -> None:
    assert library.forget_matching("i") == 3
    assert library.keys() == ("a/b/two", "four")


def test_forget_matching_has_no_limit(memory: Memory) -> None:
    memory.apply([Save(key=f"k{n:04}", body="b", slot="s") for n in range(1_001)])
    memory.remember("other", None, "b")
    assert memory.forget_matching(slot="s", reason="moved") == 1_001
    assert memory.keys() == ("other",)
    assert memory.history("k0000")[-1].reason == "moved"


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"slot": ""},
        {"slot": "", "kind": ""},
        {"key_prefix": ""},
        {"min_weight": 0},
        {"slot": "", "min_weight": 0},
        {"context": []},
        {"query": " "},
    ],
    ids=str,
)
def test_blank_is_refused(library: Memory, asked: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="Say what to forget"):
        library.forget_matching(**asked)
    assert len(library.keys()) == 5


def test_what_changes_meanwhile_is_looked_at_anew(
    library: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = associations._found_keys
    reads: list[int] = []

    def racing(*args: Any) -> Any:
        rows = read(*args)
        if not reads:
            library.remember("a/one", "s", "first", kind="opinion")
        reads.append(len(rows))
        return rows

    monkeypatch.setattr(associations, "_found_keys", racing)
    assert library.forget_matching(kind="fact") == 1
    assert reads == [2, 1]
    assert library.recall("a/one") is not None


def test_forever_changing_is_a_conflict(library: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(associations, "_found_keys", lambda *_: [("five", 1)])
    with pytest.raises(Conflict):
        library.forget_matching(kind="fact")


def test_a_recorded_forget_matching_is_replayed(library: Memory) -> None:
    assert Memory("core", run="r1").forget_matching(kind="fact") == 2
    library.remember("new", "s", "b", kind="fact")
    again = Memory("core", run="r1")
    assert again.forget_matching(kind="fact") == 2
    assert again.replayed
    assert library.recall("new") is not None


def test_a_read_only_memory_does_not_store(library: Memory) -> None:
    memory = Memory("core", read_only=True)
    with pytest.raises(NotAllowed):
        memory.store("c")
    with pytest.raises(NotAllowed):
        memory.forget_matching(kind="fact")
    assert memory.find(kind="fact")


def test_async_twins(memory: Memory) -> None:
    done = async_to_sync(memory.astore)("c", slot="s", context="x")
    assert keys(async_to_sync(memory.afind)(slot="s")) == [done.key]
    assert async_to_sync(memory.aforget_matching)(context="x") == 1


# Expiry


@pytest.fixture
def expired(memory: Memory) -> Memory:
    """A memory of a note that has expired, one that will, and one that never does."""
    now = timezone.now()
    memory.remember("gone", "s gone", "text", slot="s", expires_at=now - DAY)
    memory.remember("soon", "s soon", "text", slot="s", expires_at=now + DAY)
    memory.remember("stays", "s stays", "text", slot="s")
    return memory


def test_no_read_shows_an_expired_note(expired: Memory) -> None:
    assert expired.recall("gone") is None
    assert "gone" not in expired.lookup("gon").suggestions  # type: ignore[union-attr]
    assert expired.keys() == ("soon", "stays")
    assert [line.key for line in expired.list_memories()] == ["soon", "stays"]
    assert expired.index_note() == "[memory index]\n- soon: s soon\n- stays: s stays"
    assert keys(expired.find(slot="s")) == ["stays", "soon"]
    for pattern in ("text", "", "s gone", "gone"):
        assert "gone" not in [match.key for match in expired.search(pattern).matches]
    assert expired.search("text").total == expired.search("").total == 2
    assert expired.stats().notes == expired.stats().lines == 2
    assert expired.forget_matching(slot="s") == 2


def test_the_index_text_changes_when_a_note_expires(
    expired: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = expired.index()
    assert expired.index() == before
    later = timezone.now() + 2 * DAY
    monkeypatch.setattr(timezone, "now", lambda: later)
    after = expired.index()
    assert after.text == "[memory index]\n- stays: s stays"
    assert after.version != before.version
    assert expired.index_version() == (after.version, after.workspace_revision)
    monkeypatch.undo()
    assert expired.index() == before


def test_a_new_expiry_is_a_new_index_version(expired: Memory) -> None:
    version = expired.index().version
    expired.remember("stays", "s stays", "text", expires_at=timezone.now() - DAY)
    assert expired.index().text == "[memory index]\n- soon: s soon"
    assert expired.index().version != version


def test_an_expired_note_gives_way_to_a_new_one(expired: Memory) -> None:
    done = expired.remember("gone", "again", "text", expected_revision=0)
    assert done.outcome == "created"
    recalled = expired.recall("gone")
    assert recalled is not None
    assert (recalled.slot, recalled.expires_at) == ("", None)
    assert recalled.created_at == recalled.updated_at
    assert expired.index_note().startswith("[memory index]\n- gone: again")


def test_expected_revisions_of_an_expired_note(expired: Memory) -> None:
    with pytest.raises(Conflict):
        expired.remember("gone", "again", "text", expected_revision=7)
    assert expired.remember("gone", "again", "text", expected_revision=1).outcome == "created"


def test_an_expired_note_can_be_forgotten(expired: Memory) -> None:
    assert expired.forget("gone").outcome == "forgot"
    assert not Note.objects.filter(key="gone").exists()


def test_what_is_restored_is_to_be_seen(expired: Memory) -> None:
    expired.forget("gone")
    expired.restore("gone", 1)
    recalled = expired.recall("gone")
    assert recalled is not None
    assert (recalled.slot, recalled.expires_at) == ("s", None)
    expired.forget("soon")
    expired.restore("soon", 2)
    assert expired.recall("soon").expires_at is not None  # type: ignore[union-attr]


def test_the_past_shows_what_had_not_expired_then(memory: Memory) -> None:
    now = timezone.now()
    memory.remember("k", "s", "b", expires_at=now + DAY)
    memory.remember("other", "s", "b")
    Revision.objects.filter(number=2).update(created_at=now + 2 * DAY)
    assert memory.at(1).recall("k") is not None
    assert memory.at(1).keys() == ("k",)
    assert memory.at(2).recall("k") is None
    assert memory.at(2).keys() == ("other",)
    assert memory.at(2).index_note() == "[memory index]\n- other: s"


def test_a_store_over_an_expired_one(memory: Memory) -> None:
    first = memory.store("c", expires_at=timezone.now() - DAY)
    again = memory.store("c")
    assert (again.key, again.outcome) == (first.key, "created")
    assert memory.recall(first.key) is not None
