"""What the store promises beyond answering as LangGraph's own, and what it refuses."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from django_agent_memory import Memory
from django_agent_memory.adapters.langgraph import AgentMemoryStore
from django_agent_memory.adapters.langgraph_namespaces import namespace_of, path_of
from django_agent_memory.exceptions import NotAllowed, Refused, TooLarge
from django_agent_memory.models import Note, NoteUsage, Revision, Workspace
from django_agent_memory.usage import flush

pytestmark = pytest.mark.django_db
ANN = ("users", "ann")


@pytest.fixture
def store() -> AgentMemoryStore:
    return AgentMemoryStore("agents", actor="planner")


@pytest.fixture
def memory() -> Memory:
    """What ANN is in the site."""
    return Memory("agents/users/ann", actor="ed")


# One memory for all


def test_an_item_is_a_note_with_its_history(store, memory) -> None:
    store.put(ANN, "tea", {"content": "Likes tea."})
    store.put(ANN, "tea", {"content": "Likes oolong."})
    assert memory.recall("tea").body == "Likes oolong."
    assert [(r.body, r.actor) for r in memory.history("tea")] == [
        ("Likes tea.", "planner"),
        ("Likes oolong.", "planner"),
    ]
    assert memory.search("OOLONG").total == 1
    store.delete(ANN, "tea")
    memory.restore("tea", 2)
    assert store.get(ANN, "tea").value == {"content": "Likes oolong."}


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("plain\ntext ", {"content": "plain\ntext "}),
        ("", {"content": ""}),
        ([1, "b"], {"content": [1, "b"]}),
        (None, {"content": None}),
        ({"content": "x"}, {"content": "x"}),
        ({"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_whatever_others_remember_is_an_item(store, memory, body, value) -> None:
    memory.remember("k", "A summary", body)
    assert store.get(ANN, "k").value == value
    store.put(ANN, "k", value)
    assert store.get(ANN, "k").value == value
    assert memory.recall("k").summary == "A summary"


def test_what_is_known_of_a_note_survives_a_put(store, memory) -> None:
    memory.remember("k", "s", "b", kind="fact", weight=2, context=["tea"], slot="system")
    store.put(ANN, "k", {"content": "c"})
    note = memory.recall("k")
    assert (note.kind, note.weight, note.contexts, note.slot) == ("fact", 2, ("tea",), "system")


def test_created_at_survives_updates_and_not_a_deletion(store) -> None:
    store.put(ANN, "k", {"n": 1})
    first = store.get(ANN, "k")
    store.put(ANN, "k", {"n": 2})
    second = store.get(ANN, "k")
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at
    store.delete(ANN, "k")
    store.put(ANN, "k", {"n": 2})
    assert store.get(ANN, "k").created_at > first.created_at


def test_putting_what_is_there_changes_nothing(store, memory) -> None:
    store.put(ANN, "k", {"n": 1})
    store.put(ANN, "k", {"n": 1})
    assert memory.revision() == 1


def test_what_a_session_has_to_itself_is_its_own(store, memory) -> None:
    Memory(memory.path, session="s").remember("mine", None, "b", persist=False)
    own = AgentMemoryStore("agents", session="s")
    assert store.get(ANN, "mine") is None
    assert store.search(()) == []
    assert store.list_namespaces() == []
    assert own.get(ANN, "mine").value == {"content": "b"}
    assert own.list_namespaces() == [ANN]


@pytest.mark.django_db(transaction=True)
def test_a_get_is_a_recall_and_a_search_is_none(store) -> None:
    flush()
    store.put(ANN, "k", {"n": 1})
    store.search(())
    store.get(ANN, "k")
    store.batch([GetOp(ANN, "k"), GetOp(("other",), "k")])
    flush()
    assert NoteUsage.objects.get().recall_count == 2


def test_a_read_only_store_reads(store) -> None:
    store.put(ANN, "k", {"n": 1}, ttl=1)
    reader = AgentMemoryStore("agents", read_only=True)
    wait(0.9)
    assert reader.get(ANN, "k").value == {"n": 1}
    assert Revision.objects.count() == 1
    with pytest.raises(NotAllowed):
        reader.put(ANN, "k", {"n": 2})
    assert store.get(ANN, "k").value == {"n": 1}


# Batches


def test_reads_of_a_batch_see_what_was_before_it_and_the_last_put_wins(store, memory) -> None:
    store.put(ANN, "k", {"n": 0})
    results = store.batch(
        [
            PutOp(ANN, "k", {"n": 1}),
            GetOp(ANN, "k"),
            PutOp(ANN, "k", None),
            SearchOp(ANN),
            PutOp(ANN, "k", {"n": 2}),
        ]
    )
    assert [results[1].value, results[3][0].value] == [{"n": 0}, {"n": 0}]
    assert [results[i] for i in (0, 2, 4)] == [None, None, None]
    assert store.get(ANN, "k").value == {"n": 2}
    assert memory.revision() == 2
    assert store.batch([]) == []


@pytest.mark.parametrize("bad", [PutOp(("b",), "", {}), PutOp(("b",), "k", {"n": math.nan})])
def test_nothing_of_a_batch_is_done_that_has_what_is_refused(store, bad) -> None:
    with pytest.raises(Refused):
        store.batch([PutOp(("a",), "k", {"n": 1}), bad, PutOp(("c",), "k", {"n": 1})])
    assert not Workspace.objects.exists()


@pytest.mark.parametrize("count", [1, 10, 300])
def test_a_batch_takes_the_same_statements_however_long(
    store, count, django_assert_num_queries, django_assert_max_num_queries
) -> None:
    store.put(ANN, "first", {"n": 1})
    with django_assert_max_num_queries(16):
        store.batch([PutOp(ANN, f"k{i}", {"n": i}) for i in range(count)])
    for number in range(3):
        store.put(("users", f"u{number}"), "k", {"n": number})
    with django_assert_num_queries(1):
        store.batch([GetOp(ANN, f"k{i}") for i in range(count)])
    with django_assert_num_queries(1):
        found = store.batch([GetOp(("users", f"u{i}"), "k") for i in range(count)])
    assert [item is not None for item in found[:4]] == [True, True, True, False][:count]
    with django_assert_num_queries(1):
        assert len(store.search(("users",), limit=count)) == count
    with django_assert_num_queries(1):
        assert len(store.search(("users",), limit=count, filter={"n": {"$gte": 0}})) == count
    with django_assert_num_queries(1):
        assert len(store.list_namespaces()) == 4


@pytest.mark.parametrize("count", [499, 500, 501])
def test_all_is_found_where_it_takes_several_statements(store, count) -> None:
    store.batch([PutOp((f"n{i % 7}",), f"k{i:03}", {"n": i}) for i in range(count)])
    found = store.search((), filter={"n": {"$gte": 0}}, limit=1_000)
    assert len({item.value["n"] for item in found}) == len(found) == count
    assert found == store.search((), limit=1_000)
    again = store.batch([GetOp(item.namespace, item.key) for item in found])
    assert [item.value for item in again] == [item.value for item in found]


# Namespaces

_LABELS = st.text(st.characters(exclude_characters=".\0"), min_size=1, max_size=12)


@given(st.lists(_LABELS, max_size=3).map(tuple))
def test_any_label_comes_back_as_it_was(namespace) -> None:
    path = path_of(namespace, "root")
    assert namespace_of(path, "root") == namespace


def test_labels_that_look_alike_are_apart(store) -> None:
    """langgraph#8300: a prefix with a wildcard of SQL matched the namespaces of others."""
    names = ["john_doe", "john-doe", "johnxdoe", "john doe", "John_doe", "john%", "john", "jo*"]
    for name in names:
        store.put(("users", name), "k", {"name": name})
    for name in names:
        assert [item.value for item in store.search(("users", name))] == [{"name": name}]
        assert store.list_namespaces(prefix=("users", name)) == [("users", name)]
        assert store.search(("users", name), query=name) == store.search(
            ("users", name), query=name, filter={"name": name}
        )


def test_a_prefix_is_of_whole_labels_below_the_root_alone(store) -> None:
    for path in ("agents", "agents/a", "agents/a/b", "agents/ab", "agents-2/a", "agent/a", "a"):
        Memory(path).remember("k", None, path)
    assert [item.value["content"] for item in store.search(())] == [
        "agents",
        "agents/a",
        "agents/a/b",
        "agents/ab",
    ]
    assert [item.namespace for item in store.search(("a",))] == [("a",), ("a", "b")]
    assert len(store.search((), query="agents")) == 4
    assert store.list_namespaces() == [(), ("a",), ("a", "b"), ("ab",)]
    assert store.list_namespaces(suffix=("b",)) == [("a", "b")]
    assert store.list_namespaces(prefix=("*", "b")) == [("a", "b")]
    assert store.list_namespaces(max_depth=1) == [(), ("a",), ("ab",)]


def test_the_names_of_workspaces_made_elsewhere_are_shown_as_they_are(store) -> None:
    for name in ("user.42", "a.zz.", "a.110000.", "a.041.", ".2E."):
        Memory(f"agents/{name}").remember("k", None, name)
        assert (name,) in store.list_namespaces()
    assert len(store.search(())) == 5
    with pytest.raises(InvalidNamespaceError):
        store.put(("user.42",), "k", {"n": 1})
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("user.42",), "k", {"n": 1})])


def test_a_namespace_is_bounded_as_a_path_is(store) -> None:
    fits = "x" * (255 - len("agents/"))
    store.put((fits,), "k", {"n": 1})
    assert store.get((fits,), "k").value == {"n": 1}
    for act in (store.get, store.delete):
        with pytest.raises(TooLarge, match="workspace path is too long: 256 characters"):
            act((f"{fits}x",), "k")


# Filters and queries


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ({"$gt": 9}, [10, 9.5, "10"]),
        ({"$gte": 9.5}, [10, 9.5, "10"]),
        ({"$lt": "10"}, [9.5, 2, "1"]),
        ({"$lte": 2}, [2, "1"]),
        ({"$gt": "2026-01-01"}, ["2026-02-01", "tea"]),
        ({"$ne": 10}, [9.5, 2, "10", "1", "2026-02-01", "tea", None, [1], {"a": 1}]),
        ({"$eq": None}, [None]),
        (None, [None]),
        ([{"$gt": 0}], [[1]]),
        ({"a": {"$lt": 2}}, [{"a": 1}]),
        ({"$gt": None}, []),
    ],
)
def test_numbers_are_compared_as_numbers_and_what_cannot_be_is_not_found(
    store, condition, found
) -> None:
    values = [10, 9.5, 2, "10", "1", "2026-02-01", "tea", None, [1], {"a": 1}]
    store.batch([PutOp(("n",), f"k{i}", {"v": value}) for i, value in enumerate(values)])
    assert [
        item.value["v"] for item in store.search(("n",), filter={"v": condition}, limit=99)
    ] == (found)


def test_a_query_finds_without_embeddings_best_first(store) -> None:
    store.put(ANN, "a", {"content": "Ann drinks tea every morning, and tea at night."}, index=False)
    store.put(ANN, "b", {"text": "The garden needs water.", "n": 1})
    store.put(("users", "bob"), "c", {"text": "Bob's tea is cold.", "n": 2})
    found = store.search(("users",), query="who drinks tea?")
    assert [item.key for item in found] == ["a", "c"]
    assert found[0].score > found[1].score > 0
    assert [item.key for item in store.search((), query="tea", offset=1)] == ["c"]
    assert [item.key for item in store.search((), query="tea", limit=1)] == ["a"]
    assert [item.key for item in store.search((), query="tea", filter={"n": 2})] == ["c"]
    assert [item.key for item in store.search((), query="  ")] == ["a", "b", "c"]
    assert store.search((), query="xylophone") == []
    assert store.search((), query="tea", limit=0) == []


# Expiry


def wait(minutes: float) -> None:
    """Let time pass: what is to expire does so that much sooner."""
    for note in Note.objects.exclude(expires_at=None):
        sooner = note.expires_at - datetime.timedelta(minutes=minutes)
        Note.objects.filter(pk=note.pk).update(expires_at=sooner)


def is_there(store: AgentMemoryStore, *, refresh: bool = False) -> bool:
    there = store.get(ANN, "k", refresh_ttl=refresh) is not None
    assert there == bool(store.search((), refresh_ttl=False))
    assert there == bool(store.search((), query="tea", refresh_ttl=False))
    assert there == bool(store.list_namespaces())
    return there


def test_what_expired_is_never_returned(store) -> None:
    store.put(ANN, "k", {"content": "tea"}, ttl=10)
    wait(9.9)
    assert is_there(store)
    wait(0.2)
    assert not is_there(store)
    store.put(ANN, "k", {"content": "more tea"})
    wait(100)
    assert is_there(store)


@pytest.mark.parametrize(
    "read",
    [
        lambda store: store.get(ANN, "k"),
        lambda store: store.search(("users",)),
        lambda store: store.search((), query="tea"),
        lambda store: store.search((), filter={"content": "tea"}),
    ],
    ids=["get", "search", "query", "filter"],
)
def test_a_read_lets_it_live_for_its_whole_ttl_again(
    store, memory, read: Callable[[AgentMemoryStore], Any]
) -> None:
    store.put(ANN, "k", {"content": "tea"}, ttl=10)
    wait(0.4)
    read(store)
    assert memory.revision() == 1  # nearly all of it was left
    wait(8)
    read(store)
    assert memory.revision() == 2
    wait(9.9)
    assert is_there(store)
    wait(0.2)
    assert not is_there(store)


def test_no_read_refreshes_that_is_told_not_to(store, memory) -> None:
    quiet = AgentMemoryStore("agents", ttl={"refresh_on_read": False, "default_ttl": 5})
    store.put(ANN, "k", {"content": "tea"}, ttl=10)
    wait(8)
    quiet.get(ANN, "k")
    quiet.search(ANN)
    store.get(ANN, "k", refresh_ttl=False)
    assert memory.revision() == 1
    quiet.put(ANN, "k", {"content": "green tea"})
    wait(4.9)
    assert is_there(store)
    wait(0.2)
    assert not is_there(store)


def test_only_what_was_put_with_a_ttl_is_refreshed(store, memory) -> None:
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=10)
    memory.remember("fixed", None, "b", expires_at=soon)
    memory.remember("damaged", None, "b", expires_at=soon, source="langgraph ttl=soon")
    store.put(ANN, "for ever", {"n": 1})
    wait(9)
    assert len(store.search(ANN)) == 3
    assert memory.revision() == 3


def test_an_edit_by_others_keeps_the_ttl(store, memory) -> None:
    store.put(ANN, "k", {"content": "tea"}, ttl=10)
    wait(6)
    memory.remember("k", None, "green tea")
    wait(3)
    store.get(ANN, "k")
    wait(9.9)
    assert is_there(store)


def test_several_are_refreshed_in_one_write_a_workspace(store, memory) -> None:
    store.batch([PutOp(ANN, f"k{i}", {"n": i}, ttl=10) for i in range(5)])
    wait(5)
    with patch.object(Memory, "apply", autospec=True, side_effect=Memory.apply) as apply:
        assert len(store.search(ANN)) == 5
    assert apply.call_count == 1
    assert memory.revision() == 10


def test_a_refresh_never_undoes_a_write_and_never_fails_a_read(store, memory) -> None:
    store.batch([PutOp(ANN, key, {"n": 1}, ttl=10) for key in ("a", "b")])
    wait(5)
    read = store.tree.recall

    def read_then_write(places: Any) -> Any:
        found = read(places)
        memory.remember("a", None, {"n": 2})
        return found

    with patch.object(store.tree, "recall", read_then_write):
        found = store.batch([GetOp(ANN, "a"), GetOp(ANN, "b")])
    assert [item.value for item in found] == [{"n": 1}, {"n": 1}]
    assert memory.recall("a").body == {"n": 2}
    assert [one.reason for one in memory.history("b")] == ["", "read before its TTL was over"]


@pytest.mark.parametrize("ttl", [0, -1, math.nan, math.inf, 1e300, True, "10"])
def test_a_ttl_is_minutes_above_0(store, ttl) -> None:
    with pytest.raises(Refused, match=r"^The ttl must be a number of minutes above 0"):
        store.put(ANN, "k", {"n": 1}, ttl=ttl)
    assert store.get(ANN, "k") is None


# Refusals: one sentence each


@pytest.mark.parametrize("key", ["", "k" * 513, "a\0b", "\ud800", "a\x07", "a\rb"])
def test_a_key_is_that_of_a_note(store, key) -> None:
    for act in (store.get, store.delete, lambda n, k: store.put(n, k, {})):
        with pytest.raises(Refused, match="key"):
            act(ANN, key)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("text", "must be a dict"),
        ([1], "must be a dict"),
        ({1: 2}, "object key that is a number"),
        ({"a": math.inf}, "contains inf"),
        ({"a": "\0"}, "NUL"),
        ({"content": "\0"}, "NUL"),
        ({"a": datetime.date(2026, 1, 1)}, "a Python date is neither"),
        ({"a": "x" * 1_000_001}, "body is too long"),
    ],
)
def test_a_value_is_json(store, value, said) -> None:
    with pytest.raises(Refused, match=said):
        store.put(ANN, "k", value)
    assert not Workspace.objects.exists()


@pytest.mark.parametrize(
    ("op", "said"),
    [
        (SearchOp((), limit=-1), "limit"),
        (SearchOp((), offset=-1), "offset"),
        (SearchOp((), limit=True), "limit"),
        (SearchOp((), filter={"a": {"$in": [1]}}), "no operator '\\$in'"),
        (SearchOp((), filter={"a": {"b": {"$gt": 1, "c": 2}}}), "no operator 'c'"),
        (SearchOp((), filter={"a": [{"$x": 1}]}), "no operator"),
        (SearchOp((), filter=["a"]), "filter is a dict"),
        (SearchOp((), query="a\0"), "query"),
        (ListNamespacesOp(limit=-1), "limit"),
        (ListNamespacesOp(max_depth=-1), "max_depth"),
        (ListNamespacesOp((MatchCondition("infix", ("a",)),)), "'prefix' or by 'suffix'"),
        (("put", "k"), "no operation tuple"),
    ],
)
def test_an_operation_that_makes_no_sense_is_refused(store, op, said) -> None:
    store.put(ANN, "k", {"n": 1})
    with pytest.raises(Refused, match=said):
        store.batch([op])


@pytest.mark.parametrize("root", ["", "/agents", "a//b", "..", "a b"])
def test_the_root_is_a_path(root) -> None:
    with pytest.raises(Refused):
        AgentMemoryStore(root)


@pytest.mark.parametrize("options", [{}, {"query": "x"}, {"filter": {"a": 1}}])
@pytest.mark.parametrize("name", ["limit", "offset"])
def test_a_count_has_an_end(store: AgentMemoryStore, name: str, options: dict[str, Any]) -> None:
    store.put(("a",), "k", {"a": 1})
    assert isinstance(store.search(("a",), **{name: 2**31 - 1}, **options), list)
    for count in (2**31, 10**30):
        with pytest.raises(Refused, match=f"The {name} must be a whole number from 0 to 2147"):
            store.search(("a",), **{name: count}, **options)


def test_what_is_no_query_no_ttl_and_no_namespace_is_said(store: AgentMemoryStore) -> None:
    for query in (5, ["a"], {"a": 1}):
        with pytest.raises(Refused, match="The query must be a string"):
            store.search(("a",), query=query)
    with pytest.raises(Refused, match="The ttl must be a dict"):
        AgentMemoryStore("core", ttl=5)
    for op in (PutOp(None, "a", {"b": 1}), GetOp("ab", "a")):
        with pytest.raises(Refused, match="A namespace must be a tuple of strings"):
            store.batch([PutOp(("a",), "k", {"a": 1}), op])
    assert store.search(("a",)) == []
