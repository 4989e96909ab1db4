"""The store of pydantic-ai-harness: its protocol, beside the package's own stores."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic_ai_harness.memory import (
    InMemoryStore,
    MemoryConflictError,
    MemoryMutation,
    MemoryOperation,
    MemoryOperationConflictError,
    MemoryStore,
    MetadataMemoryStore,
    SearchableMemoryStore,
    SqliteMemoryStore,
)

from django_agent_memory import Memory
from django_agent_memory.adapters.pydantic_ai import NoteStore
from django_agent_memory.exceptions import NotAllowed
from tests.concurrency.crew import Crew

from .pydantic_ai_tasks import append_words, write_one_operation

pytestmark = pytest.mark.django_db(transaction=True)
FIRST = MemoryOperation(id="op", fingerprint="f")


class Done:
    """A store whose methods are called and waited for."""

    def __init__(self, store: Any) -> None:
        self.store = store

    def __getattr__(self, name: str) -> Any:
        return async_to_sync(getattr(self.store, name))


@pytest.fixture
def store() -> Done:
    return Done(NoteStore(Memory("core", actor="bot")))


def test_it_is_what_the_package_takes(store):
    assert isinstance(store.store, MemoryStore)
    assert isinstance(store.store, SearchableMemoryStore)
    assert not isinstance(store.store, MetadataMemoryStore)
    assert repr(store.store) == "NoteStore(Memory('core', actor='bot'))"


def test_a_file_is_a_note(store):
    made = store.write("main/MEMORY.md", "- likes tea\n", expected_version=None)
    assert made == MemoryMutation(version="1", replayed=False, existed=False)
    note = Memory("core").recall("main/MEMORY.md")
    assert (note.body, note.summary) == ("- likes tea\n", "- likes tea")
    (revised,) = Memory("core").history("main/MEMORY.md")
    assert (revised.actor, revised.reason) == ("bot", "")


def test_what_others_write_is_seen_with_its_version(store):
    store.write("main/a.md", "x", expected_version=None, operation=FIRST)
    assert store.read("main/a.md", max_chars=9).operation_id == "op"
    Memory("core", actor="editor").remember("main/a.md", "By hand", {"n": 1})
    seen = store.read("main/a.md", max_chars=9)
    assert (seen.content, seen.version, seen.operation_id) == ('{"n":1}', "2", None)
    store.write("main/a.md", "y", expected_version="2")
    assert Memory("core").recall("main/a.md").summary == "By hand"


def test_an_operation_is_done_once(store):
    made = store.write("a", "x", expected_version=None, operation=FIRST)
    again = store.write("a", "other", expected_version="77", operation=FIRST)
    assert again == MemoryMutation(version=made.version, replayed=True, existed=False)
    assert store.get_operation(FIRST) == again
    assert store.delete("a", expected_version=None, operation=FIRST) == again
    assert store.read("a", max_chars=9).content == "x"
    assert store.get_operation(MemoryOperation(id="new", fingerprint="f")) is None


@pytest.mark.parametrize("method", ["write", "delete", "get_operation"])
def test_its_id_names_no_other_one(store, method):
    store.write("a", "x", expected_version=None, operation=FIRST)
    other = MemoryOperation(id="op", fingerprint="g")
    calls = {
        "write": lambda: store.write("a", "y", expected_version="1", operation=other),
        "delete": lambda: store.delete("a", expected_version="1", operation=other),
        "get_operation": lambda: store.get_operation(other),
    }
    with pytest.raises(MemoryOperationConflictError):
        calls[method]()
    assert Memory("core").revision() == 1


def test_what_failed_has_no_receipt(store):
    with pytest.raises(MemoryConflictError):
        store.write("a", "x", expected_version="1", operation=FIRST)
    assert store.get_operation(FIRST) is None
    assert store.write("a", "x", expected_version=None, operation=FIRST).version == "1"


def test_a_write_of_what_is_there_writes_nothing(store):
    store.write("a", "x", expected_version=None)
    again = store.write("a", "x", expected_version="1", operation=FIRST)
    assert again == MemoryMutation(version="1", replayed=False, existed=True)
    assert Memory("core").revision() == 1
    assert store.get_operation(FIRST).replayed


@pytest.mark.parametrize(
    "version", ["", "0", "01", "-1", "1.0", " 1", "x", "9" * 19, "9" * 6000, "²"]
)
def test_a_version_that_is_none_conflicts(store, version):
    for path in ("a", "b"):
        with pytest.raises(MemoryConflictError):
            store.write(path, "y", expected_version=version)
        with pytest.raises(MemoryConflictError):
            store.delete(path, expected_version=version)
        store.store.memory.remember("a", None, "x")


def test_a_version_does_not_come_back(store):
    store.write("a", "x", expected_version=None)
    store.delete("a", expected_version="1")
    assert store.write("a", "x", expected_version=None).version == "3"
    with pytest.raises(MemoryConflictError):
        store.delete("a", expected_version="1")


@pytest.mark.parametrize(
    "path",
    ["", "/", "a/", "/a", "a//b", ".", "a/./b", "..", "../a", "a/..", "a..b", "a b", "é", "a\n",
     "x" * 201, "a\\b", "a\x00"],
    ids=ascii,
)  # fmt: skip
def test_what_is_no_path_is_refused_as_by_the_package(store, path):
    for one in (store, Done(InMemoryStore())):
        with pytest.raises(ValueError, match="path"):
            one.read(path, max_chars=1)
        with pytest.raises(ValueError, match="path"):
            one.write(path, "x", expected_version=None)
        with pytest.raises(ValueError, match="path"):
            one.delete(path, expected_version=None)
    assert Memory("core").revision() == 0


def test_the_longest_paths(store):
    longest = "/".join(["x" * 200, "y" * 200, "z" * 110])
    assert len(longest) == 512
    store.write(longest, "x", expected_version=None)
    assert store.list_paths("x" * 200 + "/", limit=1) == [longest]
    with pytest.raises(ValueError, match="the limit is 512"):
        store.write(f"{longest}z", "x", expected_version=None)


@pytest.mark.parametrize("size", [0, 1, 243, 244])
def test_the_longest_operation_id(store, size):
    operation = MemoryOperation(id="o" * size, fingerprint="f")
    if size in (0, 244):
        with pytest.raises(ValueError, match="call name"):
            store.write("a", "x", expected_version=None, operation=operation)
        assert Memory("core").revision() == 0
        return
    store.write("a", "x", expected_version=None, operation=operation)
    assert store.read("a", max_chars=1).operation_id == operation.id


@pytest.mark.parametrize("number", [0, -1])
def test_bounds_must_be_positive(store, number):
    with pytest.raises(ValueError, match="max_chars"):
        store.read("a", max_chars=number)
    with pytest.raises(ValueError, match="limit"):
        store.list_paths(limit=number)


def test_keys_that_are_no_paths_are_not_there(store):
    for key in ("a b", "a//b", "../a", "a/b.md", "é"):
        Memory("core").remember(key, None, "word")
    assert store.list_paths(limit=9) == ["a/b.md"]
    bounds = {"limit": 9, "max_files": 9, "max_chars": 99, "max_file_chars": 9}
    assert [match.path for match in store.search("a/", "word", **bounds).matches] == ["a/b.md"]
    assert store.search("", "word", **bounds).matches == []


def test_a_read_only_memory_is_not_written():
    store = Done(NoteStore(Memory("core", read_only=True)))
    for operation in (None, FIRST):
        with pytest.raises(NotAllowed):
            store.write("a", "x", expected_version=None, operation=operation)
    assert store.read("a", max_chars=1) is None


def test_two_stores_of_two_workspaces_share_no_operations():
    one, other = (Done(NoteStore(Memory(path))) for path in ("one", "other"))
    one.write("a", "x", expected_version=None, operation=FIRST)
    assert other.get_operation(FIRST) is None
    assert not other.write("a", "y", expected_version=None, operation=FIRST).replayed


def test_nothing_is_lost_between_processes(crew: Crew) -> None:
    assert crew.run(append_words, "core", 5) == [[]] * 16
    words = Memory("core").recall("main/MEMORY.md").body.split()
    assert sorted(words) == sorted(
        f"w{worker}n{number}" for worker in range(16) for number in range(5)
    )


def test_one_operation_of_many_processes_is_done_once(crew: Crew) -> None:
    answers = crew.run(write_one_operation, "core")
    assert {version for version, _ in answers} == {"1"}
    assert sorted(replayed for _, replayed in answers) == [False] + [True] * 15
    assert Memory("core").revision() == 1


PATHS = st.sampled_from(["m/a.md", "m/b.md", "m/n/a.md", "n/a.md", "M/a.md"])
WORDS = st.text("ab .\nÄ", max_size=12)
STEPS = st.one_of(
    st.tuples(st.just("write"), PATHS, WORDS, st.integers(0, 3), st.integers(0, 4)),
    st.tuples(st.just("delete"), PATHS, st.integers(0, 3), st.integers(0, 4)),
    st.tuples(st.just("read"), PATHS, st.integers(1, 12)),
    st.tuples(st.just("list"), st.sampled_from(["", "m", "m/", "m/n/", "x/"]), st.integers(1, 4)),
    st.tuples(
        st.just("search"),
        st.sampled_from(["", "m/", "n/"]),
        st.sampled_from(["a", "b a", "md", "ä", ". x", " "]),
        st.integers(0, 3),
        st.integers(0, 3),
        st.integers(0, 30),
        st.integers(0, 9),
    ),
)


@pytest.mark.parametrize("oracle", ["in memory", "sqlite"])
@given(steps=st.lists(STEPS, min_size=1, max_size=15))
@settings(
    max_examples=60,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_it_does_what_the_stores_of_the_package_do(
    oracle: str, steps: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = f"oracle/{uuid.uuid4().hex}"
    folder: Path = tmp_path_factory.mktemp("oracle")
    theirs = InMemoryStore() if oracle == "in memory" else SqliteMemoryStore(database=folder / "db")
    pair = [Player(NoteStore(Memory(path))), Player(theirs)]
    numbers = itertools.count()
    for step in steps:
        # A write of what is there already is another version in theirs only.
        unique = f" {next(numbers)}"
        ours, other = (async_to_sync(player.play)(step, unique) for player in pair)
        assert ours == other


class Player:
    """Plays steps on one store; versions are named by the step that made them."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.versions: dict[str, list[str]] = {}
        self.names: dict[str | None, str | None] = {None: None}

    async def play(self, step: tuple[Any, ...], unique: str) -> Any:
        try:
            return await getattr(self, f"_{step[0]}")(unique, *step[1:])
        except (MemoryConflictError, MemoryOperationConflictError, ValueError) as error:
            return type(error).__name__

    async def _write(self, unique: str, path: str, text: str, back: int, number: int) -> Any:
        done = await self.store.write(
            path,
            text + unique,
            expected_version=self._version(path, back),
            operation=self._operation(number, f"write {path}"),
        )
        return self._told(path, done, unique)

    async def _delete(self, unique: str, path: str, back: int, number: int) -> Any:
        done = await self.store.delete(
            path,
            expected_version=self._version(path, back),
            operation=self._operation(number, f"delete {path}"),
        )
        return self._told(path, done, unique)

    async def _read(self, _unique: str, path: str, max_chars: int) -> Any:
        found = await self.store.read(path, max_chars=max_chars)
        if found is None:
            return None
        return (found.content, self.names[found.version], found.operation_id, found.truncated)

    async def _list(self, _unique: str, prefix: str, limit: int) -> Any:
        return await self.store.list_paths(prefix, limit=limit)

    async def _search(self, _unique: str, prefix: str, query: str, *bounds: int) -> Any:
        names = ("limit", "max_files", "max_chars", "max_file_chars")
        return await self.store.search(prefix, query, **dict(zip(names, bounds, strict=True)))

    def _version(self, path: str, back: int) -> str | None:
        """Return the last version of the path, one before it, or None."""
        return next(itertools.islice(reversed(self.versions.get(path, [])), back, None), None)

    def _operation(self, number: int, fingerprint: str) -> MemoryOperation | None:
        return MemoryOperation(id=f"op-{number}", fingerprint=fingerprint) if number else None

    def _told(self, path: str, done: MemoryMutation, unique: str) -> Any:
        if done.version is not None and not done.replayed:
            self.versions.setdefault(path, []).append(done.version)
            self.names[done.version] = unique
        return (self.names[done.version], done.replayed, done.existed)


async def _both(*calls: Any) -> list[Any]:
    return list(await asyncio.gather(*calls, return_exceptions=True))


def test_of_two_at_once_one_is_told_of_the_conflict(store):
    done = async_to_sync(_both)(
        store.store.write("a", "x", expected_version=None),
        store.store.write("a", "y", expected_version=None),
    )
    assert sorted(type(one).__name__ for one in done) == ["MemoryConflictError", "MemoryMutation"]
