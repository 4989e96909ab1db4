"""Text that must go is gone: from every column of every table."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory import Memory, Save, writing
from django_agent_memory.exceptions import Conflict, Refused
from django_agent_memory.journal import Calls
from django_agent_memory.models import (
    IndexEntry,
    Note,
    NoteUsage,
    RecordedCall,
    Revision,
    Workspace,
)
from django_agent_memory.writing import holding

SECRET = "Xq7-SECRET-text"


def tables_that_hold(text: str) -> set[str]:
    """Look for `text` in every column of every table of the database."""
    found = set()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            rows = cursor.fetchall()
            if any(text.lower() in str(value).lower() for row in rows for value in row):
                found.add(table)
    return found


def named(name: str) -> Memory:
    return Memory("core", actor="scribe", calls=Calls("key:1", name=name))


@pytest.fixture
def memory(transactional_db: None) -> Memory:
    memory = Memory("core", actor="scribe")
    memory.remember("kept", "a summary", "a body")
    named("w1").remember("k", f"about {SECRET}", f"it is {SECRET}")
    named("r1").recall("k")
    named("r2").search(SECRET)
    named("r3").list_memories()
    named("r4").recall("kept")
    memory.remember("k", "harmless", f"{SECRET} again")
    memory.index_note()
    return memory


TABLES = {f"agent_memory_{name}" for name in ("note", "indexentry", "revision", "recordedcall")}
# What the search index of the database at hand shows, if it has any.
SEARCH_INDEX = {f"agent_memory_note_{name}" for name in ("trigram", "haystack")}


def test_erase_leaves_no_trace_of_a_key(memory: Memory) -> None:
    assert tables_that_hold(SECRET) - SEARCH_INDEX == TABLES - {"agent_memory_indexentry"}
    erased = memory.erase("k")
    assert (erased.notes, erased.index_entries, erased.revisions) == (1, 1, 2)
    assert erased.recorded_calls == 4
    assert tables_that_hold(SECRET) == set()
    assert memory.keys() == ("kept",)
    assert memory.history("k") == ()
    assert memory.index_note() == "[memory index]\n- kept: a summary"
    assert memory.revision() == 4
    assert Workspace.objects.get().revisions_removed == 3


def test_erase_of_a_workspace(memory: Memory) -> None:
    memory.configure(title=SECRET, description=SECRET)
    other = Memory("core/sub")
    other.remember("k", "s", "theirs")
    erased = memory.erase()
    assert (erased.notes, erased.index_entries, erased.revisions) == (2, 2, 3)
    assert tables_that_hold(SECRET) == set()
    assert memory.keys() == ()
    assert other.keys() == ("k",)
    assert memory.remember("new", "s", "b").revision == memory.revision()


@pytest.mark.parametrize("gone", ["erased", "redacted"])
def test_the_text_goes_from_the_cache_too(memory: Memory, gone: str) -> None:
    for summary in (SECRET, f"{SECRET} 2", "clean"):
        memory.remember("k", summary, "b")
        memory.index_note()
        assert len(cache._cache) == 1
    memory.remember("k", SECRET, "b")
    memory.index_note()
    assert SECRET.encode() in b"".join(cache._cache.values())
    if gone == "erased":
        memory.erase("k")
    else:
        memory.remember("k", "clean", "b")
        memory.redact("k")
    assert not cache._cache


def test_a_late_retry_does_not_bring_erased_text_back(memory: Memory) -> None:
    memory.erase("k")
    with pytest.raises(Refused, match="redacted"):
        named("w1").remember("k", f"about {SECRET}", f"it is {SECRET}")
    assert tables_that_hold(SECRET) == set()


def test_erasing_nothing_changes_nothing(memory: Memory) -> None:
    before = Workspace.objects.values().get()
    erased = memory.erase("never")
    assert erased == type(erased)(notes=0, index_entries=0, revisions=0, recorded_calls=0)
    assert Workspace.objects.values().get() == before
    assert Memory("nowhere").erase().notes == 0
    with pytest.raises(Refused):
        memory.erase("")


def test_redact_blanks_the_past_and_keeps_who_and_when(memory: Memory) -> None:
    memory.remember("k", "harmless", "clean")
    before = [(r.number, r.operation, r.actor, r.created_at) for r in memory.history("k")]
    redacted = memory.redact("k", reason="a secret")
    assert (redacted.revisions, redacted.recorded_calls, redacted.kept_revision) == (2, 4, 4)
    assert redacted.revision == 5
    assert tables_that_hold(SECRET) == set()
    history = memory.history("k")
    assert [(r.number, r.operation, r.actor, r.created_at) for r in history[:-1]] == before
    assert [r.redacted for r in history] == [True, True, False, False]
    assert (history[0].body, history[0].summary) == ("", "")
    assert (history[-1].operation, history[-1].body, history[-1].reason) == (
        "redact", "clean", "a secret",
    )  # fmt: skip
    recalled = memory.recall("k")
    assert recalled is not None
    assert (recalled.body, recalled.revision) == ("clean", 5)
    assert memory.redact("kept").revisions == 0


def test_to_redact_twice_blanks_nothing_the_second_time(memory: Memory) -> None:
    memory.redact("k")
    again = memory.redact("k")
    assert (again.revisions, again.revision, again.kept_revision) == (0, None, 4)
    # The revision before the redaction says what the note says, as that itself does.
    with pytest.raises(Refused, match="says now"):
        memory.redact("k", 3)
    memory.remember("k", "s", "new")
    assert memory.redact("k").revisions == 2


def test_redact_of_a_forgotten_key_blanks_all(memory: Memory) -> None:
    memory.forget("k")
    redacted = memory.redact("k")
    assert (redacted.revisions, redacted.kept_revision) == (2, None)
    assert tables_that_hold(SECRET) == set()
    assert memory.recall("k") is None


def test_what_never_was_is_neither_redacted_nor_erased(memory: Memory) -> None:
    before = [list(model.objects.values()) for model in (Workspace, Revision, RecordedCall)]
    redacted = memory.redact("never")
    assert (redacted.revisions, redacted.recorded_calls, redacted.revision) == (0, 0, None)
    assert memory.erase("never").recorded_calls == 0
    with pytest.raises(Refused, match="no revision 0"):
        memory.redact("never", 0)
    assert before == [list(m.objects.values()) for m in (Workspace, Revision, RecordedCall)]


def test_blanked_calls_keep_no_digest_to_guess_by(memory: Memory) -> None:
    memory.erase("k")
    assert set(RecordedCall.objects.filter(answer="").values_list("digest", "key")) == {("", "")}


def test_redact_of_one_revision(memory: Memory) -> None:
    assert memory.redact("k", 2).revisions == 1
    with pytest.raises(Refused, match="redacted"):
        memory.restore("k", 2)
    assert Revision.objects.get(number=3).body == f"{SECRET} again"


@pytest.mark.parametrize("number", [0, 1, 99, True, "2"])
def test_redact_takes_a_past_revision_of_the_key(memory: Memory, number: Any) -> None:
    with pytest.raises(Refused):
        memory.redact("k", number)
    with pytest.raises(Refused, match="says now"):
        memory.redact("k", 3)
    with pytest.raises(Refused):
        Memory("nowhere").redact("k", 1)
    assert not Revision.objects.filter(redacted=True).exists()


# What goes is counted beforehand, by the same rows


def said(memory: Memory, key: str | None = None) -> int:
    """Return how many characters of text there are, counted in Python."""
    rows: list[Any] = []
    for model in (Note, IndexEntry, Revision):
        found = model._default_manager.filter(workspace__path=memory.path)
        rows += [row for row in found if key in (None, row.key)]
    return sum(len(getattr(row, n, None) or "") for row in rows for n in ("body", "summary"))


@pytest.mark.parametrize("key", ["k", "kept", "forgotten", "private", "lonely", "never", None])
def test_what_erase_removes_is_counted_beforehand(memory: Memory, key: str | None) -> None:
    for note in Note.objects.all():
        NoteUsage.objects.create(
            workspace=note.workspace,
            position=note.position,
            recalled_at=timezone.now(),
            recall_count=3,
        )
    memory.remember("forgotten", "s", "b\U0001f511")
    memory.forget("forgotten")
    Memory("core", session="s").remember("private", "s", "b", persist=False)
    IndexEntry.objects.create(workspace=Workspace.objects.get(), key="lonely", summary="by SQL")
    before = writing.erasable("core", key)
    assert before.characters == said(memory, key)
    assert before.rows == memory.erase(key, expected_revision=before.last_revision)
    assert writing.erasable("core", key).rows == holding.NOTHING
    assert writing.erasable("nowhere", key).rows == holding.NOTHING
    if key is None:
        assert before.rows.usage == 2
        assert not NoteUsage.objects.exists()


@pytest.mark.parametrize("key", ["k", "kept", "forgotten", "never"])
def test_what_redact_blanks_is_counted_beforehand(memory: Memory, key: str) -> None:
    memory.remember("forgotten", "s", "body")
    memory.forget("forgotten")
    for revision in (2, None):
        if revision and key != "k":
            continue
        before = writing.redactable("core", key, revision=revision)
        redacted = memory.redact(key, revision, expected_revision=before.last_revision)
        assert (redacted.revisions, redacted.recorded_calls) == (
            before.revisions,
            before.recorded_calls,
        )
        assert redacted.kept_revision == before.kept_revision
        assert (before.characters > 0) == (before.revisions > 0)
    after = writing.redactable("core", key)
    assert (after.revisions, after.characters, after.recorded_calls) == (0, 0, 0)


@pytest.mark.parametrize("number", [0, 1, 3, 99, True, "2"])
def test_counting_refuses_what_redact_refuses(memory: Memory, number: Any) -> None:
    for path in ("core", "nowhere"):
        sentences = []
        for ask in (writing.redactable, writing.redact):
            with pytest.raises(Refused) as refused:
                ask(path, "k", revision=number)
            sentences.append(str(refused.value))
        assert sentences[0] == sentences[1]


def test_counting_writes_nothing_and_takes_the_same_statements(memory: Memory) -> None:
    counts = []
    for n in (1, 60):
        memory.apply([Save(key=f"k{i}", summary="s", body=f"b{n}") for i in range(n)])
        before = memory.revision()
        for ask in (
            lambda: writing.erasable("core", "k0"),
            lambda: writing.erasable("core"),
            lambda: writing.redactable("core", "k0"),
        ):
            with CaptureQueriesContext(connection) as queries:
                ask()
            assert all(sent["sql"].startswith("SELECT") for sent in queries)
            counts.append(len(queries))
        assert memory.revision() == before
    assert counts[:3] == counts[3:]
    assert max(counts) <= 11


def test_what_was_written_since_is_not_taken_along(memory: Memory) -> None:
    of_key, of_all = writing.erasable("core", "k"), writing.erasable("core")
    memory.remember("kept", "s", "another")
    with pytest.raises(Conflict) as all_of_it:
        memory.erase(expected_revision=of_all.last_revision)
    assert all_of_it.value.current_revision == memory.revision()
    memory.forget("k")
    memory.remember("k", "s", "b")
    memory.forget("k")
    for remove in (memory.redact, memory.erase):
        with pytest.raises(Conflict) as one:
            remove("k", expected_revision=of_key.last_revision)
        assert one.value.current_revision == memory.revision()
        with pytest.raises(Conflict):
            remove("never", expected_revision=1)
        with pytest.raises(Refused):
            remove("k", expected_revision=True)
    with pytest.raises(Conflict):
        Memory("nowhere").erase(expected_revision=1)
    assert len(memory.history("k")) == 5
    assert not Revision.objects.filter(redacted=True).exists()
    assert memory.erase("never", expected_revision=0).revisions == 0
    assert memory.redact("k", expected_revision=memory.revision()).revisions == 3
    assert memory.erase("k", expected_revision=memory.revision()).revisions == 6


def test_every_table_with_text_is_among_those_that_are_looked_through() -> None:
    models = {model._meta.db_table for model in apps.get_app_config("agent_memory").get_models()}
    assert models >= TABLES
