"""`memory.values`: a mapping over the bodies of notes, exact to the type."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, MutableMapping
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from django_agent_memory import Drop, Memory, Save
from django_agent_memory.exceptions import Busy, Conflict, NotAllowed, Refused, TooLarge
from django_agent_memory.models import IndexEntry, Note, RecordedCall, Revision, Workspace
from django_agent_memory.values import Values
from django_agent_memory.writing import KEEP

from .test_memory import NASTY_KEYS, counts

VALUES: list[Any] = [
    "dark", "", " ", "0", "null", '{"a": 1}', "a\r\nb\n", "é", "e\u0301", "😀", "\u2028",
    0, 1, -1, 2**53 + 1, 2**63, -(2**64), 10**300, False, True, [], {}, [[]], [{}],
    1.0, -0.0, 0.0, 1e-7, 0.1 + 0.2, 1e308, 5e-324,
    {"b": 1, "a": 2, "": None, "é": {"z": [1, 1.0, True, "1", None], "A": {}, "a": []}},
    [None, [1, [2, [3]]]],
]  # fmt: skip


def exact(value: Any) -> str:
    """Return what tells 1 from 1.0 and True, 0.0 from -0.0, and one order of names from another."""
    return json.dumps(value)


@pytest.fixture
def values(memory: Memory) -> Values:
    return memory.values


# Round trips


@pytest.mark.parametrize("value", VALUES, ids=ascii)
def test_a_value_comes_back_as_it_was(values: Values, value: Any) -> None:
    assert values.set("k", value).outcome == "created"
    for found in (values.get("k"), values["k"], values.list()[0]["value"], *values.values()):
        assert exact(found) == exact(value)
    assert exact(values.at(1)["k"]) == exact(value)
    assert values.set("k", value).outcome == "unchanged"
    assert counts() == (1, 1, 0, 1, 1)


def test_values_that_python_takes_for_equal_are_different(values: Values) -> None:
    alike = [0, 0.0, -0.0, False, "0", "", [], {}]
    for n, value in enumerate(alike, start=1):
        assert values.set("k", value).revision == n
    order = [{"a": 1, "b": 2}, {"b": 2, "a": 1}]
    assert [values.set("k", value).outcome for value in order] == ["replaced", "replaced"]


def test_a_tuple_is_a_list(values: Values) -> None:
    values["k"] = (1, ("a",))
    assert values["k"] == [1, ["a"]]


@pytest.mark.parametrize("key", NASTY_KEYS)
def test_any_key_of_a_note_is_one_of_a_value(values: Values, key: str) -> None:
    values[key] = 1
    assert key in values
    assert values.keys() == (key,)
    assert values.list(key) == [{"key": key, "value": 1}]
    del values[key]
    assert key not in values


# The mapping


def test_it_is_a_mutable_mapping(values: Values) -> None:
    assert isinstance(values, MutableMapping)
    assert not values
    values["b"], values["a"], values["B"] = 1, "x", [None]
    assert list(values) == ["B", "a", "b"]
    assert len(values) == 3
    assert values == {"a": "x", "B": [None], "b": 1}
    assert list(values.items()) == [("B", [None]), ("a", "x"), ("b", 1)]
    assert list(values.values()) == [[None], "x", 1]
    assert ("a", "x") in values.items()
    assert [None] in values.values()
    assert "y" not in values.values()
    assert dict(values) == values
    assert values.get("c") is None
    assert values.get("c", 5) == 5
    del values["a"]
    assert (values.pop("b"), values.pop("b", 7)) == (1, 7)
    assert values.popitem() == ("B", [None])
    for missing in (
        lambda: values["a"],
        lambda: values.pop("a"),
        lambda: values.popitem(),
        lambda: values.__delitem__("a"),
    ):
        with pytest.raises(KeyError):
            missing()


def test_every_note_is_a_value_whoever_wrote_it(memory: Memory, values: Values) -> None:
    memory.remember("text", "A text", "hello")
    memory.remember("data", "Data", {"a": 1})
    memory.remember("null", "Nothing", None)
    memory.remember("silent", None, "no line")
    values["value"] = True
    expected = {"text": "hello", "data": {"a": 1}, "null": None, "silent": "no line", "value": True}
    assert dict(values.items()) == expected
    assert len(values) == len(expected)
    assert set(values) == set(expected)
    for key, body in expected.items():
        assert key in values
        assert values[key] == body
        assert values.get(key, "other") == body
        assert memory.recall(key).body == body  # type: ignore[union-attr]


def test_a_value_costs_no_context_and_is_found(memory: Memory, values: Values) -> None:
    values["user_theme"] = "dark"
    assert memory.index_note() == ""
    assert not IndexEntry.objects.exists()
    assert [match.key for match in memory.search("DARK").matches] == ["user_theme"]


@pytest.mark.parametrize("summary", ["", "A line", "two\nlines"])
def test_a_summary_stays(memory: Memory, values: Values, summary: str) -> None:
    memory.remember("k", summary, "old")
    version = memory.index().version
    assert values.set("k", {"n": 1}).replaced_revision == 1
    recalled = memory.recall("k")
    assert recalled is not None
    assert (recalled.summary, recalled.body) == (summary, {"n": 1})
    assert memory.history("k")[-1].summary == summary
    assert memory.index().version == version
    assert memory.search("old").total == 0
    if summary == "A line":
        assert memory.search("a line").total == 1
    assert values.set("k", {"n": 1}).outcome == "unchanged"
    memory.restore("k", 1)
    assert values["k"] == "old"


def test_a_summary_that_was_written_before_in_the_same_section_stays(memory: Memory) -> None:
    save = Save(key="k", body=2, summary=KEEP)
    memory.apply([Save(key="k", summary="s", body=1), save])
    assert memory.recall("k").summary == "s"  # type: ignore[union-attr]
    memory.apply([Drop(key="k"), save])
    assert memory.recall("k").summary is None  # type: ignore[union-attr]


def test_a_summary_whose_note_is_gone_stays_too(memory: Memory, values: Values) -> None:
    memory.remember("k", "s", "b")
    Note.objects.all().delete()
    assert "k" not in values
    assert len(values) == 0
    values["k"] = 1
    assert memory.recall("k").summary == "s"  # type: ignore[union-attr]


def test_the_prefix_is_exact(values: Values) -> None:
    names = ["a", "A/x", "a/x", "a/y", "a0", "a_", "a%", "é", "\ud7ffx", "\ue000", "\U0010ffffz"]
    values.update({name: n for n, name in enumerate(names)})
    assert values.keys("a/") == ("a/x", "a/y")
    assert values.keys("a") == ("a", "a%", "a/x", "a/y", "a0", "a_")
    for prefix in ("", "a", "a_", "a%", "A", "e", "é", "\ud7ff", "\U0010ffff", "a/x", "a/x/"):
        wanted = sorted(name for name in names if name.startswith(prefix))
        assert list(values.keys(prefix)) == wanted
        assert values.list(prefix) == [{"key": k, "value": names.index(k)} for k in wanted]
        assert list(values.at(values.memory.revision()).keys(prefix)) == wanted
        assert values.at(values.memory.revision()).list(prefix) == values.list(prefix)


def test_delete_says_whether_anything_was_there(values: Values) -> None:
    values["k"] = False
    assert values.delete("k") is True
    assert values.delete("k") is False
    assert Revision.objects.count() == 2


# Refusals


@pytest.mark.parametrize("write", [
    lambda values: values.set("k", None),
    lambda values: values.update(good=1, k=None),
    lambda values: values.setdefault("k"),
    lambda values: values.set("k", float("nan")),
    lambda values: values.set("k", [float("inf")]),
    lambda values: values.set("k", {"a": -float("inf")}),
    lambda values: values.set("k", "\x00"),
    lambda values: values.set("k", {"\ud800": 1}),
    lambda values: values.set("k", {1: 1}),
    lambda values: values.set("k", {1, 2}),
    lambda values: values.set("k", b"b"),
    lambda values: values.set("k", object()),
    lambda values: values.set("", 1),
    lambda values: values.set(5, 1),
    lambda values: values.set("k\x00", 1),
    lambda values: values.set("k" * 513, 1),
    lambda values: values.set("k", 1, reason=5),
    lambda values: values.set("k", 1, expected_revision=True),
    lambda values: values.set("k", 10**5000),
    lambda values: values.update({"good": 1, "": 2}),
    lambda values: values.delete(""),
    lambda values: values.delete(None),
    lambda values: values.clear(reason="\x00"),
    lambda values: values.get(""),
    lambda values: "" in values,
    lambda values: values.keys("\x00"),
    lambda values: values.list("k" * 513),
    lambda values: values.list(None),
    lambda values: values.namespace(""),
    lambda values: values.namespace(None),
    lambda values: values.namespace("n" * 251),
])  # fmt: skip
def test_what_cannot_be_is_refused_and_nothing_is_written(
    values: Values, write: Callable[[Values], Any]
) -> None:
    values["kept"] = 1
    before = counts()
    with pytest.raises(Refused) as caught:
        write(values)
    assert 0 < len(str(caught.value)) <= 300
    assert counts() == before


@pytest.mark.parametrize(("levels", "fits"), [(99, True), (100, True), (101, False)])
def test_a_value_is_at_most_a_hundred_levels_deep(values: Values, levels: int, fits: bool) -> None:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    if fits:
        values["k"] = value
        assert values["k"] == value
        return
    with pytest.raises(Refused, match="deeper"):
        values["k"] = value


@pytest.mark.parametrize(("size", "fits"), [(9, True), (10, True), (11, False)])
def test_a_value_is_as_long_as_its_text(
    values: Values, settings: Any, size: int, fits: bool
) -> None:
    settings.AGENT_MEMORY_MAX_BODY_LENGTH = 10
    for value in ("x" * size, ["x" * (size - 4)]):
        if fits:
            values["k"] = value
            assert values["k"] == value
            continue
        with pytest.raises(TooLarge):
            values["k"] = value


def test_a_read_only_memory_has_read_only_values(memory: Memory) -> None:
    memory.values["k"] = 1
    values = Memory("core", read_only=True).values
    assert values["k"] == 1
    for write in (
        lambda: values.set("k", 2),
        lambda: values.delete("k"),
        lambda: values.clear(),
        lambda: values.update(k=2),
        lambda: values.pop("k"),
        lambda: values.namespace("n").set("k", 2),
    ):
        with pytest.raises(NotAllowed):
            write()
    assert Revision.objects.count() == 1


# Several at once


def test_update_is_all_or_nothing_and_one_section(values: Values) -> None:
    values.update({"a": 1}, b=2)
    values.update([("a", 3), ("c", 4)])
    assert values == {"a": 3, "b": 2, "c": 4}
    with pytest.raises(Refused):
        values.update({"a": 9, "b": float("nan")})
    assert values["a"] == 3


def test_clear_forgets_all_and_leaves_workspace_and_history(memory: Memory) -> None:
    memory.values.update(a=1, b=2)
    memory.remember("c", "s", "b")
    below = memory.values.namespace("below")
    below["a"] = 1
    assert memory.values.clear(reason="done") == 3
    assert memory.values == {}
    assert memory.index_note() == ""
    assert Workspace.objects.filter(path="core").exists()
    assert [(r.operation, r.exists, r.reason) for r in memory.history("a")] == [
        ("remember", True, ""),
        ("forget", False, "done"),
    ]
    assert memory.values.at(3) == {"a": 1, "b": 2, "c": "b"}
    assert below == {"a": 1}
    assert memory.values.clear() == 0
    assert memory.clear().workspace_revision == 6


def test_a_clear_of_nothing_makes_no_workspace(memory: Memory) -> None:
    cleared = memory.clear()
    assert (cleared.notes, cleared.workspace_revision) == (0, 0)
    assert not Workspace.objects.exists()


def test_a_clear_of_many_batches(memory: Memory) -> None:
    memory.apply([Save(key=f"k{n:04}", body=n) for n in range(1_001)])
    assert memory.values.clear() == 1_001
    assert Revision.objects.count() == 2_002


def test_expected_revision(values: Values) -> None:
    seen = values.set("k", 1, expected_revision=0).revision
    values["k"] = 2
    for write in (
        lambda: values.set("k", 3, expected_revision=seen),
        lambda: values.set("k", 3, expected_revision=0),
        lambda: values.delete("k", expected_revision=seen),
    ):
        with pytest.raises(Conflict) as caught:
            write()
        assert caught.value.current_revision == 2
    assert values["k"] == 2
    assert values.delete("k", expected_revision=2)


class Interfered(Memory):
    """A memory that somebody else writes to just before each of its own writes."""

    interferences: list[Callable[[], Any]] = []

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        if self.interferences:
            self.interferences.pop(0)()
        return super().apply(*args, **kwargs)


def test_what_is_popped_is_what_was_forgotten(memory: Memory) -> None:
    other = memory.values
    other["k"] = 1
    interfered = Interfered("core")
    interfered.interferences = [lambda: other.set("k", 2), lambda: other.set("k", 3)]
    assert interfered.values.pop("k") == 3
    assert "k" not in other
    other["k"] = 4
    interfered.interferences = [lambda: other.delete("k")]
    with pytest.raises(KeyError):
        interfered.values.pop("k")


def test_a_default_never_overwrites(memory: Memory) -> None:
    other = memory.values
    interfered = Interfered("core")
    interfered.interferences = [lambda: other.set("k", "theirs")]
    assert interfered.values.setdefault("k", "mine") == "theirs"
    assert other["k"] == "theirs"
    assert other.setdefault("new", [1]) == [1]
    assert other["new"] == [1]


def test_trying_ends(memory: Memory) -> None:
    other = memory.values
    other["k"] = 0
    interfered = Interfered("core")
    interfered.interferences = [lambda n=n: other.set("k", n) for n in range(1, 11)]
    with pytest.raises(Busy):
        interfered.values.pop("k")
    assert other["k"] == 10
    del other["k"]
    interfered.interferences = [
        lambda n=n: (other.set("k", n), other.delete("k"), other.set("k", n)) for n in range(10)
    ]
    assert interfered.values.setdefault("k", 1) == 0


def test_popitem_passes_what_is_gone_by_then(memory: Memory) -> None:
    other = memory.values
    other.update(a=1, b=2)
    interfered = Interfered("core")
    interfered.interferences = [lambda: other.delete("a")]
    assert interfered.values.popitem() == ("b", 2)


# Other stores, and the past


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("per user/é.json", "core/per_user___json"),
        ("default", "core"),
        ("Default", "core/Default"),
        ("a-b_C9", "core/a-b_C9"),
        ("..", "core/__"),
        (".", "core/_"),
        ("a/b", "core/a_b"),
        (" ", "core/_"),
        ("e\u0301", "core/e_"),
        ("٣", "core/_"),
        ("😀", "core/_"),
        ("\x00\ud800", "core/__"),
        ("n" * 250, "core/" + "n" * 250),
    ],
)
def test_a_namespace_is_a_workspace_below(values: Values, name: str, path: str) -> None:
    assert values.namespace(name).memory.path == path


def test_no_name_is_the_workspace_itself(values: Values) -> None:
    assert values.namespace() is values
    assert values.namespace("n").namespace().memory.path == "core/n"
    assert values.namespace("n").namespace("m").memory.path == "core/n/m"


@pytest.mark.django_db
def test_a_namespace_shares_nothing_but_its_terms() -> None:
    values = Memory("core", actor="scribe", using="default").values
    below = values.namespace("n")
    values["k"], below["k"] = 1, 2
    assert (values["k"], below["k"], Memory("core/n").values["k"]) == (1, 2, 2)
    assert (below.memory.actor, below.memory.using) == ("scribe", "default")
    below.clear()
    assert values == {"k": 1}
    assert Memory("core/n").history("k")[0].actor == "scribe"


def test_the_past(memory: Memory, values: Values) -> None:
    values["k"] = {"n": 1}
    values["k"] = 1.0
    values["other"] = "x"
    del values["k"]
    then = memory.at(1).values
    assert then == {"k": {"n": 1}}
    assert then.list() == [{"key": "k", "value": {"n": 1}}]
    assert exact(dict(values.at(3))) == '{"k": 1.0, "other": "x"}'
    assert values.at(0) == {}
    assert values.at(values.memory.revision()) == values == {"other": "x"}
    for write in (lambda: then.set("k", 2), lambda: then.clear(), lambda: then.delete("k")):
        with pytest.raises(NotAllowed):
            write()
    with pytest.raises(Refused, match="namespace"):
        then.namespace("n")
    assert then.namespace() is then
    assert values.namespace("n").at(1) == {}


# Replay


def a_run(values: Values) -> list[Any]:
    """A run that uses every verb."""
    below = values.namespace("below")
    return [
        values.set("k", {"n": [1, 1.0, -0.0, None, "é"]}),
        values.get("k"),
        values.get("missing", "default"),
        "k" in values,
        values.update(a=1, b=2),
        values.keys("a"),
        values.list(),
        list(values.items()),
        len(values),
        values.pop("b"),
        values.setdefault("c", 3),
        values.delete("k"),
        values.delete("k"),
        below.set("k", 1),
        below.clear(),
        values.clear(),
        values.clear(),
    ]


@pytest.mark.django_db
def test_a_run_that_is_started_again_does_nothing_twice() -> None:
    def run() -> Values:
        return Memory("core", actor="scribe", run="r1").values

    first = a_run(run())
    recorded = RecordedCall.objects.count()
    Memory("core").values["k"] = "later"
    revision = Memory("core").revision()
    values = run()
    again = a_run(values)
    assert again == first
    assert exact([again[1], again[6]]) == exact([first[1], first[6]])
    assert values.memory.replayed
    assert Memory("core").values == {"k": "later"}
    assert Memory("core").revision() == revision
    assert RecordedCall.objects.count() == recorded
    values["next"] = 1
    assert not values.memory.replayed


# Cost


@pytest.mark.django_db(transaction=True)
def test_statements_of_each_verb(django_assert_num_queries: Any) -> None:
    values = Memory("core").values
    values["k"] = 1
    brackets = 2  # BEGIN and COMMIT
    # No statement for the index entry: there is none.
    with django_assert_num_queries(6 + brackets):
        values["new"] = 1
    with django_assert_num_queries(2 + brackets):
        values["new"] = 1
    # Of many keys, notes and index entries are read apart from the workspace.
    with django_assert_num_queries(8 + brackets):
        values.update({f"n{n}": n for n in range(30)})
    with django_assert_num_queries(1):
        assert "k" in values
    for read in (values.list, values.keys, values.values().__len__, lambda: dict(values.items())):
        with django_assert_num_queries(1):
            read()
    with django_assert_num_queries(2 + brackets):
        assert not values.delete("missing")
    with django_assert_num_queries(9 + brackets):
        assert values.clear() == 32
    with django_assert_num_queries(4 + brackets):
        assert values.clear() == 0


# Async


def test_every_named_method_has_an_async_twin_with_the_same_words() -> None:
    verbs = {name for name, member in vars(Values).items() if inspect.isfunction(member)}
    views = {"items", "values", "namespace"}  # They read nothing by themselves.
    named = {name for name in verbs - views if not name.startswith(("_", "a"))} | {"at"}
    assert named >= {"set", "get", "delete", "list", "keys", "clear", "update", "pop"}
    for verb in named:
        twin = getattr(Values, f"a{verb}")
        assert asyncio.iscoroutinefunction(twin)
        assert twin.__doc__ == getattr(Values, verb).__doc__


@pytest.mark.django_db(transaction=True)
def test_the_async_twins_do_what_the_verbs_do() -> None:
    async def turn() -> None:
        values = Memory("core", actor="scribe").values
        await asyncio.gather(*(values.aset(f"k{n}", n) for n in range(10)))
        assert await values.aget("k3") == 3
        assert await values.adelete("k3")
        assert len(await values.alist("k")) == 9
        assert await values.akeys("k1") == ("k1",)
        assert await values.apop("k1") == 1
        assert await values.asetdefault("k1", "x") == "x"
        await values.aupdate({"z": 1})
        assert (await values.namespace("n").aset("k", 1)).revision == 1
        assert (await values.aat(1)).memory.read_only
        assert await values.apopitem() == ("k0", 0)
        assert await values.aclear() == 9
        await sync_to_async(connections.close_all)()

    asyncio.run(turn())
