"""The verbs, as Python callers meet them."""

from __future__ import annotations

import asyncio
import inspect
import re
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from django_agent_memory import Drop, Memory, Save
from django_agent_memory.exceptions import Conflict, Refused, TooLarge
from django_agent_memory.models import IndexEntry, Note, Revision, Workspace
from django_agent_memory.results import Forgot, Remembered, WasAbsent

NASTY_KEYS = [
    "k", "K", "k ", " k", "café", "cafe", "cafe\u0301", "ß", "ss", "Σ", "σ", "ς", "İ", "ı", "i",
    "a//b", "a/../b", "/lead", "trail/", "..", "a%2Fb", "a?b#c", "ключ", "notes.v1.json", "a\nb",
    "a\tb", "\uffff", "\U00010000", "😀", "😁",
    "user", "user/name", "%", "_", "'", '"', "\\", "k" * 512,
    "😀" * 512,
]  # fmt: skip

NASTY_BODIES: list[Any] = [
    "", " ", "\n", "  indented\n    code\n\n", "a\r\nb\r\n", "\ttab\x0b\x0c\x1b", "\ufeffbom",
    "e\u0301",
    '{"a": 1}', "null", "0", "👩\u200d👩\u200d👧\u200d👦", "\U000e0041\u202e",
    None, 0, False, True, [], {}, 1.0, 2**70, {"b": 1, "a": ["é", None, {"": "\n"}]},
]  # fmt: skip


def counts() -> tuple[int, ...]:
    """Rows of every kind, and the revision, to see that nothing was written."""
    rows = [model.objects.count() for model in (Workspace, Note, IndexEntry, Revision)]
    return (*rows, *Workspace.objects.values_list("revision", flat=True))


def test_the_four_steps(memory: Memory) -> None:
    assert memory.remember("user/name", "Name is Alice", "Alice Liddell") == Remembered(
        key="user/name", outcome="created", revision=1, workspace_revision=1
    )
    recalled = memory.recall("user/name")
    assert recalled is not None
    assert (recalled.body, recalled.summary, recalled.revision) == (
        "Alice Liddell",
        "Name is Alice",
        1,
    )
    assert memory.index_note() == "[memory index]\n- user/name: Name is Alice"
    assert memory.forget("user/name") == Forgot(key="user/name", revision=2, workspace_revision=2)
    assert memory.recall("user/name") is None
    assert memory.index_note() == ""


def test_keys_differ_code_point_by_code_point_and_stand_in_code_point_order(memory: Memory) -> None:
    memory.apply([Save(key=key, summary=f"s {n}", body=n) for n, key in enumerate(NASTY_KEYS)])
    ordered = tuple(sorted(NASTY_KEYS))
    assert memory.keys() == ordered
    assert tuple(line.key for line in memory.list_memories()) == ordered
    for n, key in enumerate(NASTY_KEYS):
        recalled = memory.recall(key)
        assert recalled is not None
        assert recalled.body == n
    for key in NASTY_KEYS:
        assert isinstance(memory.forget(key), Forgot)
    assert memory.keys() == ()


@pytest.mark.parametrize("body", NASTY_BODIES, ids=ascii)
def test_a_body_comes_back_as_it_was(memory: Memory, body: Any) -> None:
    memory.remember("k", "s", body)
    recalled = memory.recall("k")
    assert recalled is not None
    assert recalled.body == body
    assert type(recalled.body) is type(body)
    assert memory.history("k")[-1].body == body
    assert memory.remember("k", "s", body).outcome == "unchanged"


def test_the_values_that_look_alike_are_different_bodies(memory: Memory) -> None:
    lookalikes: list[Any] = ["", None, 0, False, [], "null", "0", "false", "[]", 0.0, '""']
    for n, body in enumerate(lookalikes, start=1):
        assert memory.remember("k", "s", body).revision == n


@pytest.mark.parametrize("summary", ["", " ", "two\nlines", "s" * 10_000, "é\u0301", None])
def test_a_summary_is_stored_whole(memory: Memory, summary: str | None) -> None:
    memory.remember("k", summary, "b")
    recalled = memory.recall("k")
    assert recalled is not None
    assert recalled.summary == summary
    assert memory.remember("k", summary, "b").outcome == "unchanged"


def test_a_note_without_a_summary_has_no_index_line(memory: Memory) -> None:
    memory.remember("k", None, "the body")
    assert memory.index_note() == ""
    assert memory.list_memories() == ()
    assert memory.keys() == ("k",)
    assert memory.search("body").total == 1


def test_taking_the_summary_away_takes_the_line_away(memory: Memory) -> None:
    memory.remember("k", "s", "b")
    memory.remember("k", None, "b")
    assert not IndexEntry.objects.exists()
    assert [revised.summary for revised in memory.history("k")] == ["s", None]


def test_storing_what_is_there_touches_no_row(memory: Memory) -> None:
    memory.remember("k", "s", "b")
    rows = [list(model.objects.values()) for model in (Workspace, Note, IndexEntry, Revision)]
    again = memory.remember("k", "s", "b")
    assert (again.outcome, again.revision) == ("unchanged", 1)
    assert rows == [list(m.objects.values()) for m in (Workspace, Note, IndexEntry, Revision)]


def test_a_replaced_note_keeps_its_place_and_names_its_old_revision(memory: Memory) -> None:
    memory.remember("k", "s", "one")
    first = Note.objects.get()
    memory.remember("other", "s", "x")
    outcome = memory.remember("k", "s", "two")
    assert (outcome.outcome, outcome.replaced_revision, outcome.revision) == ("replaced", 1, 3)
    second = Note.objects.get(key="k")
    assert (second.pk, second.position, second.created_at) == (first.pk, 1, first.created_at)
    assert second.updated_at > first.updated_at
    assert memory.history("k")[0].body == "one"


def test_a_note_remembered_after_a_forget_is_new(memory: Memory) -> None:
    memory.remember("k", "s", "one")
    first = Note.objects.get()
    memory.forget("k")
    outcome = memory.remember("k", "s", "one")
    assert (outcome.outcome, outcome.replaced_revision, outcome.revision) == ("created", None, 3)
    again = Note.objects.get()
    assert again.position == 3
    assert again.created_at > first.created_at


def test_a_forget_leaves_the_notes_below(memory: Memory) -> None:
    memory.remember("user", "s", "b")
    memory.remember("user/name", "s", "b")
    memory.forget("user")
    assert memory.keys() == ("user/name",)


def test_was_absent_changes_nothing_and_suggests(memory: Memory) -> None:
    memory.remember("user/name", "s", "b")
    before = counts()
    assert memory.forget("user/nam") == WasAbsent(
        key="user/nam", suggestions=("user/name",), workspace_revision=1
    )
    assert counts() == before
    assert memory.recall("user/name") is not None


def test_a_forget_in_a_workspace_that_is_not_there_makes_none(memory: Memory) -> None:
    assert memory.forget("k") == WasAbsent(key="k", workspace_revision=0)
    assert counts() == (0, 0, 0, 0)


def test_reads_of_a_workspace_that_is_not_there(memory: Memory) -> None:
    assert memory.recall("k") is None
    assert memory.list_memories() == ()
    assert memory.index_note() == ""
    assert memory.search("").total == 0
    assert memory.keys() == ()
    assert memory.history("k") == ()
    assert memory.near_keys("k") == ()
    assert memory.revision() == 0
    assert counts() == (0, 0, 0, 0)


def test_history_tells_who_what_why_and_when(memory: Memory) -> None:
    memory.remember("k", "s", {"a": 1}, reason="told by the user")
    Memory("core", actor="admin").forget("k", reason="wrong")
    remembered, forgot = memory.history("k")
    assert (remembered.number, remembered.operation, remembered.actor) == (1, "remember", "scribe")
    assert (remembered.summary, remembered.body, remembered.reason) == (
        "s", {"a": 1}, "told by the user"
    )  # fmt: skip
    assert (forgot.number, forgot.operation, forgot.actor) == (2, "forget", "admin")
    assert (forgot.summary, forgot.body, forgot.reason) == (None, None, "wrong")
    assert forgot.created_at >= remembered.created_at


def test_revision_numbers_are_one_count_for_the_whole_workspace(memory: Memory) -> None:
    other = Memory("other")
    memory.remember("a", "s", "b")
    other.remember("a", "s", "b")
    memory.remember("b", "s", "b")
    memory.forget("a")
    numbers = Revision.objects.filter(workspace__path="core").order_by("number")
    assert list(numbers.values_list("number", "key")) == [(1, "a"), (2, "b"), (3, "a")]
    assert (memory.revision(), other.revision()) == (3, 1)


@pytest.mark.parametrize(
    "neighbour", ["core/sub", "cor", "core-corp", "Core", "c_re", "core.", "core2"]
)
def test_workspaces_share_nothing(memory: Memory, neighbour: str) -> None:
    other = Memory(neighbour)
    memory.remember("user/name", "mine", "mine")
    assert other.recall("user/name") is None
    assert other.search("mine").total == 0
    assert other.index_note() == ""
    assert other.near_keys("user/nam") == ()
    assert isinstance(other.forget("user/name"), WasAbsent)
    other.remember("user/name", "theirs", "theirs")
    memory.forget("user/name")
    assert other.index_note() == "[memory index]\n- user/name: theirs"


def test_keys_by_exact_prefix(memory: Memory) -> None:
    keys = ["a", "A/x", "a/x", "a/y", "a0", "a_", "a%", "é", "\ud7ffx", "\ue000", "\U0010ffffz"]
    memory.apply([Save(key=key, body="b") for key in keys])
    assert memory.keys("a/") == ("a/x", "a/y")
    assert memory.keys("a") == ("a", "a%", "a/x", "a/y", "a0", "a_")
    assert memory.keys("a_") == ("a_",)
    for limit in (1, 5, 6, 7):
        assert memory.keys("a", limit=limit) == memory.keys("a")[:limit]
        assert memory.at(memory.revision()).keys("a", limit=limit) == memory.keys("a")[:limit]
    for limit in (0, -1, True):
        with pytest.raises(Refused, match=r"^The limit must be a whole number of at least 1\."):
            memory.keys("a", limit=limit)
    assert memory.keys("A") == ("A/x",)
    assert memory.keys("e") == ()
    assert memory.keys("\ud7ff") == ("\ud7ffx",)
    assert memory.keys("\U0010ffff") == ("\U0010ffffz",)


@pytest.mark.parametrize(
    ("expected", "fails"), [(None, False), (2, False), (0, True), (1, True), (3, True)]
)
def test_expected_revision_of_a_note_that_is_there(
    memory: Memory, expected: int | None, fails: bool
) -> None:
    memory.remember("k", "s", "A")
    memory.remember("k", "s", "B")
    before = counts()
    if not fails:
        assert memory.remember("k", "s", "C", expected_revision=expected).revision == 3
        assert isinstance(memory.forget("k", expected_revision=3), Forgot)
        return
    for write in (
        lambda: memory.remember("k", "s", "C", expected_revision=expected),
        lambda: memory.remember("k", "s", "B", expected_revision=expected),
        lambda: memory.forget("k", expected_revision=expected),
    ):
        with pytest.raises(Conflict) as caught:
            write()
        assert caught.value.current_revision == 2
    assert counts() == before


def test_expected_revision_where_there_is_no_workspace(memory: Memory) -> None:
    with pytest.raises(Conflict) as caught:
        memory.forget("k", expected_revision=1)
    assert caught.value.current_revision == 0
    assert isinstance(memory.forget("k", expected_revision=0), WasAbsent)


def test_expected_revision_of_a_note_that_is_not_there(memory: Memory) -> None:
    with pytest.raises(Conflict) as caught:
        memory.remember("k", "s", "b", expected_revision=1)
    assert caught.value.current_revision == 0
    assert memory.remember("k", "s", "b", expected_revision=0).outcome == "created"


def test_a_b_a_is_a_change(memory: Memory) -> None:
    seen = memory.remember("k", "s", "A").revision
    memory.remember("k", "s", "B")
    memory.remember("k", "s", "A")
    with pytest.raises(Conflict):
        memory.remember("k", "s", "C", expected_revision=seen)


@pytest.mark.parametrize("expected", [True, "1", 1.0, -1])
def test_expected_revision_is_a_whole_number(memory: Memory, expected: Any) -> None:
    with pytest.raises(Refused, match="whole number"):
        memory.remember("k", "s", "b", expected_revision=expected)


BAD_WRITES: list[tuple[Any, Any, Any]] = [
    ("", "s", "b"), ("k" * 513, "s", "b"), ("k\x00", "s", "b"), ("k\x01", "s", "b"),
    ("\ud800", "s", "b"), (None, "s", "b"), (7, "s", "b"), ("k", "s" * 10_001, "b"),
    ("k", "s\x00", "b"), ("k", 5, "b"), ("k", "\udfff", "b"), ("k", "s", "b\x00"),
    ("k", "s", "b" * 1_000_001), ("k", "s", float("nan")), ("k", "s", {"a\x00": 1}),
    ("k", "s", b"b"), ("k", "s", ["x" * 1_000_000]),
]  # fmt: skip


@pytest.mark.parametrize(("key", "summary", "body"), BAD_WRITES, ids=range(len(BAD_WRITES)))
def test_a_bad_write_is_one_sentence_and_writes_nothing(
    memory: Memory, key: Any, summary: Any, body: Any
) -> None:
    memory.remember("kept", "s", "b")
    before = counts()
    for write in (
        lambda: memory.remember(key, summary, body),
        lambda: memory.apply(
            [
                Save(key="good", body="b"),
                Drop(key="kept"),
                Save(key=key, summary=summary, body=body),
            ]
        ),
    ):
        with pytest.raises(Refused) as caught:
            write()
        assert 0 < len(str(caught.value)) <= 300
    assert counts() == before


@pytest.mark.parametrize("size", [999_999, 1_000_000])
def test_a_body_at_its_limit(memory: Memory, size: int) -> None:
    memory.remember("k", "s", "😀" * size)
    recalled = memory.recall("k")
    assert recalled is not None
    assert recalled.body == "😀" * size
    with pytest.raises(TooLarge, match=r"1000001 characters, the limit is 1000000"):
        memory.remember("k", "s", "😀" * 1_000_001)


def test_a_limit_is_a_live_setting(memory: Memory, settings: Any) -> None:
    settings.AGENT_MEMORY_MAX_BODY_LENGTH = 3
    memory.remember("k", "s", "abc")
    with pytest.raises(TooLarge):
        memory.remember("k", "s", "abcd")


@pytest.mark.parametrize("actor", ["a" * 256, "\x00", None, 5])
def test_a_bad_actor_is_refused(actor: Any) -> None:
    with pytest.raises(Refused):
        Memory("core", actor=actor)


def test_a_workspace_instance_names_its_path(memory: Memory) -> None:
    workspace = memory.configure(title="Core", index_budget=10)
    assert (workspace.title, workspace.index_budget) == ("Core", 10)
    assert Memory(workspace).path == "core"
    with pytest.raises(Refused):
        Memory("core/")


def test_sizes_are_those_of_the_text_in_bytes_and_no_body_is_read(memory: Memory) -> None:
    for number, body in enumerate(NASTY_BODIES):
        memory.remember(f"n/{number:02}", None, body)
    memory.remember("other", None, "x" * 5)
    with CaptureQueriesContext(connection) as sent:
        sizes = memory.sizes("n/")
    texts = Note.objects.filter(key__startswith="n/").order_by("key").values_list("key", "body")
    assert sizes == tuple((key, len(text.encode())) for key, text in texts)
    assert len(sizes) == len(NASTY_BODIES)
    (sql,) = (query["sql"] for query in sent)
    assert len(re.findall("body", sql)) == len(re.findall(r"LENGTH\([^)]*body", sql)) == 1
    assert memory.sizes() == (*sizes, ("other", 5))
    assert memory.sizes("none") == ()
    then = memory.at(memory.revision())
    memory.clear()
    assert memory.sizes() == ()
    assert then.sizes("n/") == sizes
    for damaged in (5, "a\x00", "p" * 513):
        with pytest.raises(Refused):
            memory.sizes(damaged)  # type: ignore[arg-type]


def test_configure_refuses_what_does_not_fit(memory: Memory) -> None:
    bad: list[dict[str, Any]] = [
        {"title": "t" * 201}, {"title": None}, {"description": "\x00"}, {"index_budget": -1},
        {"index_budget": True}, {"index_budget": 2**31},
    ]  # fmt: skip
    for values in bad:
        with pytest.raises(Refused):
            memory.configure(**values)
    with pytest.raises(TypeError):
        memory.configure(path="elsewhere")  # type: ignore[call-arg]
    assert counts() == (0, 0, 0, 0)


def test_configuring_what_is_so_already_touches_no_row(memory: Memory) -> None:
    memory.configure(title="T", index_budget=5)
    before = Workspace.objects.values().get()
    memory.configure(title="T", index_budget=5)
    assert Workspace.objects.values().get() == before


def test_every_verb_has_an_async_twin_with_the_same_words() -> None:
    verbs = [
        name
        for name, member in vars(Memory).items()
        if inspect.isfunction(member)
        and not name.startswith(("_", "a"))
        and name != "tools"  # which asks the database nothing
    ]
    assert len(verbs) >= 11
    for verb in (*verbs, "apply"):
        twin = getattr(Memory, f"a{verb}")
        assert asyncio.iscoroutinefunction(twin)
        assert twin.__doc__ == getattr(Memory, verb).__doc__


@pytest.mark.django_db(transaction=True)
def test_the_async_twins_do_what_the_verbs_do() -> None:
    async def turn() -> None:
        memory = Memory("core", actor="scribe")
        await asyncio.gather(*(memory.aremember(f"k{n}", "s", n) for n in range(10)))
        assert len(await memory.akeys()) == 10
        recalled = await memory.arecall("k3")
        assert recalled is not None
        assert recalled.body == 3
        assert (await memory.asearch("k3")).total == 1
        assert len(await memory.alist_memories()) == 10
        assert (await memory.aindex_note()).count("\n") == 10
        assert (await memory.aforget("k3")).outcome == "forgot"
        assert len(await memory.ahistory("k3")) == 2
        assert (await memory.aapply([Drop(key="k4")]))[0].outcome == "forgot"
        assert await memory.arevision() == 12
        await sync_to_async(connections.close_all)()

    asyncio.run(turn())


@pytest.mark.django_db(transaction=True)
def test_statements_of_each_verb(django_assert_num_queries: Any) -> None:
    memory = Memory("core")
    memory.remember("a", "s", "b")
    brackets = 2  # BEGIN and COMMIT are captured too
    with django_assert_num_queries(8 + brackets):
        memory.remember("x/b", "s", "b")
    with django_assert_num_queries(8 + brackets):
        memory.remember("x/b", "s2", "b2")
    with django_assert_num_queries(2 + brackets):
        memory.remember("x/b", "s2", "b2")
    with django_assert_num_queries(8 + brackets):
        memory.forget("x/b")
    with django_assert_num_queries(9 + brackets):
        memory.apply([Save(key=f"n{n}", summary="s", body="b") for n in range(30)])
    with django_assert_num_queries(1):
        memory.recall("a")
    with django_assert_num_queries(1):
        memory.list_memories()
    # The workspace, a look at the first notes, the matches; MariaDB is asked for its copy, then
    # searched in a snapshot.
    with django_assert_num_queries(5 + brackets if connection.vendor == "mysql" else 3):
        memory.search("b")
    with django_assert_num_queries(1):
        memory.keys()
    with django_assert_num_queries(1):
        memory.history("a")
    with django_assert_num_queries(3):
        memory.near_keys("a/b")
    with django_assert_num_queries(2):
        memory.index_note()
    with django_assert_num_queries(1):
        memory.index_note()


@pytest.mark.django_db(transaction=True)
def test_a_change_of_the_body_alone_leaves_the_index_version() -> None:
    memory = Memory("core")
    memory.remember("k", "s", "one")
    version = memory.index().version
    memory.remember("k", "s", "two")
    assert memory.index().version == version
    memory.remember("k", "s2", "two")
    assert memory.index().version != version


def test_dumpdata_and_loaddata_carry_a_memory(memory: Memory, tmp_path: Any) -> None:
    from django.core.management import call_command

    memory.remember("k", "s", {"a": 1})
    dump = tmp_path / "dump.json"
    call_command("dumpdata", "agent_memory", output=str(dump))
    memory.forget("k")
    call_command("loaddata", str(dump), verbosity=0)
    recalled = memory.recall("k")
    assert recalled is not None
    assert (recalled.body, recalled.summary) == ({"a": 1}, "s")


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite reads without locks")
def test_reads_inside_the_lock_are_locking_reads(django_assert_max_num_queries: Any) -> None:
    memory = Memory("core")
    with django_assert_max_num_queries(30) as captured:
        memory.remember("k", "s", "b")
        memory.apply([Save(key="a", body="b"), Save(key="b", body="b")])
    selects = [q["sql"] for q in captured.captured_queries if q["sql"].startswith("SELECT")]
    assert len(selects) == 1 + 3
    wanted = "FOR NO KEY UPDATE" if connection.vendor == "postgresql" else "FOR UPDATE"
    assert all(wanted in sql for sql in selects)
