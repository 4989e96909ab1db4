"""The store answers as LangGraph's own `InMemoryStore`, operation for operation.

Known differences, by intent: reading makes no namespace there and an empty one is not listed, as
in LangGraph's stores on databases; times are not compared, for `InMemoryStore` forgets `created_at`
on every put.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from django_agent_memory import Memory
from django_agent_memory.adapters.langgraph import AgentMemoryStore
from django_agent_memory.models import Workspace

ROOT = "oracle/root"


class Oracle(InMemoryStore):
    """LangGraph's, in which a namespace is one that something was put into."""

    def batch(self, ops: Any) -> list[Any]:
        ops = list(ops)
        results = []
        reads = [op for op in ops if not isinstance(op, PutOp)]
        answers = iter(super().batch(reads))
        self._drop_what_was_only_read()
        for op in ops:
            results.append(None if isinstance(op, PutOp) else next(answers))
        last = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        for op in last.values():
            if op.value is not None or op.namespace in self._data:
                super().batch([op])
        return results

    def _drop_what_was_only_read(self) -> None:
        for namespace in [n for n, items in self._data.items() if not items]:
            if namespace not in self._used:
                del self._data[namespace]
        self._used |= set(self._data)

    def _handle_list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        whole = self._data
        self._data = {n: items for n, items in whole.items() if items}
        try:
            return super()._handle_list_namespaces(op)
        finally:
            self._data = whole

    @property
    def _used(self) -> set[tuple[str, ...]]:
        return self.__dict__.setdefault("used", set())

    @_used.setter
    def _used(self, value: set[tuple[str, ...]]) -> None:
        self.__dict__["used"] = value


# Few and alike, so that operations meet; what folds, sorts or escapes in some database or other.
labels = st.sampled_from(["a", "A", "a_b", "a-b", "a b", "é", "e\u0301", "*", "a%", "😀", "/"])
namespaces = st.lists(labels, min_size=1, max_size=3).map(tuple)
prefixes = st.lists(labels, max_size=2).map(tuple)
keys = st.sampled_from(["k", "K", "k ", "user/name", "é", "😀", "%", "k\n"])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, -0.0, 1.0, 2.5, 2**53 + 1]),
    st.sampled_from(["", "x", "X", "tea", "1"]),
)
nested = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)
values = st.fixed_dictionaries(
    {"n": st.integers(-3, 3) | st.sampled_from([0.5, 1.0, 10, 9])},
    optional={"content": st.sampled_from(["tea", "green tea"]), "x": nested, "tag": scalars},
) | st.fixed_dictionaries(
    {
        "content": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
        "n": st.just(7),
    }
)
orders = st.dictionaries(
    st.sampled_from(["$gt", "$gte", "$lt", "$lte", "$eq", "$ne"]),
    st.integers(-3, 3) | st.sampled_from([0.5, 9.5]),
    min_size=1,
    max_size=2,
)
filters = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "n": orders | st.integers(-3, 3),
        "tag": scalars
        | st.fixed_dictionaries({"$ne": scalars})
        | st.fixed_dictionaries({"$eq": scalars}),
        "x": nested,
    },
)
conditions = st.builds(
    MatchCondition,
    match_type=st.sampled_from(["prefix", "suffix"]),
    path=st.lists(labels, min_size=1, max_size=2).map(tuple),
)
counts = st.integers(0, 4)
ops = st.one_of(
    st.tuples(namespaces, keys, values).map(lambda args: PutOp(*args)),
    st.tuples(namespaces, keys, values).map(lambda args: PutOp(*args)),
    st.tuples(namespaces, keys, st.none()).map(lambda args: PutOp(*args)),
    st.tuples(namespaces, keys).map(lambda args: GetOp(*args)),
    st.tuples(prefixes, filters, counts | st.just(50), counts).map(lambda args: SearchOp(*args)),
    st.tuples(
        st.none() | st.lists(conditions, max_size=2).map(tuple),
        st.none() | counts,
        counts | st.just(100),
        counts,
    ).map(lambda args: ListNamespacesOp(*args)),
)
batches = st.lists(st.lists(ops, min_size=1, max_size=6), min_size=1, max_size=5)


def said(result: Any) -> Any:
    """Return a result without its times."""
    if isinstance(result, list):
        return [said(one) for one in result]
    if isinstance(result, Item):
        score = result.score if isinstance(result, SearchItem) else ()
        return type(result), result.namespace, result.key, said_value(result.value), score
    return result


def said_value(value: Any) -> Any:
    """Return a value so that 1, 1.0 and true differ."""
    if isinstance(value, dict):
        return {name: said_value(one) for name, one in value.items()}
    if isinstance(value, list):
        return [said_value(one) for one in value]
    return type(value), value


def compare(batches: list[list[Op]]) -> None:
    """Assert that both stores answer each batch alike, and hold the same at the end."""
    Workspace.objects.all().delete()
    ours, oracle = AgentMemoryStore(ROOT, actor="tester"), Oracle()
    # Of others, which no operation may meet.
    Memory("oracle/root-2/a").remember("k", None, {"n": 1})
    Memory("oracle").remember("k", None, {"n": 1})
    for batch in batches:
        assert said(ours.batch(batch)) == said(oracle.batch(batch))
    everything = [SearchOp((), limit=1_000), ListNamespacesOp()]
    assert said(ours.batch(everything)) == said(oracle.batch(everything))


@pytest.mark.django_db
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(batches)
def test_every_operation_is_answered_alike(batches: list[list[Op]]) -> None:
    compare(batches)
