"""What a session has to itself: seen by it and by nobody else, gone when it ends or expires."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory import Memory, Save
from django_agent_memory.exceptions import Conflict, NotAllowed, Refused, ReplayMismatch
from django_agent_memory.models import Note, RecordedCall, Revision
from django_agent_memory.results import Found, WasAbsent
from django_agent_memory.writing import find_defects, repair
from tests.test_checks import SETTINGS

Read = Callable[[Memory], Any]
HOUR = datetime.timedelta(hours=1)


@pytest.fixture
def own(memory: Memory) -> Memory:
    """A session that has one private note beside a shared one."""
    memory.remember("shared/fact", "All know it", "common zebra")
    session = Memory("core", actor="agent", session="s1")
    session.remember("private/plan", "Only mine", "secret zebra", persist=False, context="plans")
    return session


def other() -> Memory:
    return Memory("core", session="s2")


def outside() -> Memory:
    return Memory("core")


def keys_found(found: tuple[Found, ...]) -> list[str]:
    return sorted(one.key for one in found)


READS: dict[str, Read] = {
    "recall": lambda m: [k for k in ("private/plan", "shared/fact") if m.recall(k)],
    "lookup": lambda m: [
        k for k in ("private/plan", "shared/fact") if hasattr(m.lookup(k), "body")
    ],
    "list_memories": lambda m: [line.key for line in m.list_memories()],
    "listing": lambda m: [line.key for line in m.listing().lines],
    "index": lambda m: [line[2:].split(":")[0] for line in m.index_note().splitlines()[1:]],
    "search": lambda m: [match.key for match in m.search("zebra").matches],
    "search for all": lambda m: [match.key for match in m.search("").matches],
    "find": lambda m: keys_found(m.find("zebra")),
    "find by filter": lambda m: keys_found(m.find(min_weight=0.5)),
    "finding": lambda m: keys_found(m.finding("zebra").found),
    "keys": lambda m: list(m.keys()),
    "history": lambda m: [k for k in ("private/plan", "shared/fact") if m.history(k)],
    "as_of": lambda m: [k for k in ("private/plan", "shared/fact") if m.as_of(k, 2)],
    "at": lambda m: list(m.at(2).keys()),
    "at, index": lambda m: [line.key for line in m.at(2).list_memories()],
    "at, search": lambda m: [match.key for match in m.at(2).search("zebra").matches],
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_each_read_shows_a_private_note_to_its_session_only(own: Memory, read: Read) -> None:
    both, shared = ["private/plan", "shared/fact"], ["shared/fact"]
    again = Memory("core", session="s1", read_only=True)
    assert read(own) == read(again) == both
    assert read(other()) == read(outside()) == shared


PRESENT = {
    name: read for name, read in READS.items() if not name.startswith(("as_of", "at", "hist"))
}


@pytest.mark.parametrize("read", PRESENT.values(), ids=PRESENT)
def test_nothing_shows_a_note_of_a_session_past_its_expiry(own: Memory, read: Read) -> None:
    past = timezone.now() - HOUR
    Note.objects.filter(session="s1").update(expires_at=past)
    assert read(own) == read(other()) == read(outside()) == ["shared/fact"]


def test_totals_suggestions_and_stats_tell_others_nothing(own: Memory) -> None:
    assert own.search("zebra").total == own.search("").total == 2
    assert own.stats().notes == own.stats().lines == own.at(2).stats().notes == 2
    assert own.stats().lines_per_day == 2
    assert own.near_keys("private/pla") == ("private/plan",)
    for stranger in (other(), outside()):
        assert stranger.search("zebra").total == stranger.search("").total == 1
        stats = stranger.stats()
        assert (stats.notes, stats.lines, stats.lines_per_day) == (1, 1, 1)
        assert stranger.at(2).stats().notes == 1
        assert stranger.near_keys("private/pla") == ()
        assert stranger.lookup("private/pla").suggestions == ()  # type: ignore[union-attr]
        forgot = stranger.forget("private/pla")
        assert isinstance(forgot, WasAbsent)
        assert forgot.suggestions == ()


def test_lines_are_in_key_order_within_the_budget(own: Memory) -> None:
    own.remember("zz", "Last", "x", persist=False)
    assert own.index_note() == (
        "[memory index]\n- private/plan: Only mine\n- shared/fact: All know it\n- zz: Last"
    )
    assert outside().index_note() == "[memory index]\n- shared/fact: All know it"


def test_a_private_note_finds_no_note_beside_it_for_others(memory: Memory) -> None:
    own = Memory("core", session="s1")
    for number in range(3):
        memory.remember(f"plans/{number}", None, "common words", subject="Ada")
        terms: dict[str, Any] = {"persist": False, "subject": "Zoe"}
        own.remember(f"plans/private{number}", None, "secret zebra", **terms)
    assert len(own.find("zebra")) == 3
    assert len(own.find("zebra", context="plans")) == 3
    for stranger in (other(), outside()):
        for query in ("zebra", "secret", "What about Zoe?", "private0"):
            assert stranger.find(query) == ()
    own.end_session()
    assert list(find_defects("core")) == []


# The index text and its version


@pytest.mark.django_db(transaction=True)
def test_private_writes_leave_text_version_and_cache_of_all_others(
    own: Memory, django_assert_num_queries: Any
) -> None:
    before = outside().index()
    private = own.index()
    assert private.version != before.version
    own.remember("private/more", "More", "x", persist=False)
    own.forget("private/plan")
    own.index()
    with django_assert_num_queries(1):
        after = outside().index()
    assert (after.text, after.version) == (before.text, before.version)
    assert other().index().version == before.version
    assert own.end_session() == 1
    assert (own.index().text, own.index().version) == (before.text, before.version)
    assert own.index_version()[0] == outside().index_version()[0] == before.version


def test_an_expiry_of_a_private_note_is_none_of_the_others(own: Memory) -> None:
    before = outside().index_version()
    Note.objects.filter(session="s1").update(expires_at=timezone.now() - HOUR)
    assert outside().index_version() == own.index_version() == before


@pytest.mark.django_db(transaction=True)
def test_no_private_line_is_ever_cached(own: Memory, django_assert_num_queries: Any) -> None:
    cache.clear()
    assert "Only mine" in own.index_note()
    with django_assert_num_queries(2):
        assert "Only mine" not in other().index_note()
    with django_assert_num_queries(2):
        assert "Only mine" in own.index_note()
    with django_assert_num_queries(1):
        assert "Only mine" not in outside().index_note()


def test_each_text_of_a_session_has_a_version_of_its_own(own: Memory) -> None:
    versions = {own.index_version()[0]: own.index_note()}

    def seen() -> None:
        index = own.index()
        assert versions.setdefault(index.version, index.text) == index.text

    for write in (
        lambda: own.remember("b", "B", "x", persist=False),
        lambda: own.remember("c", "C", "x", persist=False),
        lambda: own.forget("b"),
        lambda: own.remember("b", "B2", "x", persist=False),
        lambda: own.forget("c"),
        lambda: outside().remember("shared/more", "More", "x"),
        lambda: own.remember("b", "B2", "x"),
        lambda: own.end_session(),
    ):
        write()
        seen()
    assert len(versions) == 9


@pytest.mark.django_db(transaction=True)
def test_statements_without_sessions_are_as_they_were(
    memory: Memory, django_assert_num_queries: Any
) -> None:
    memory.remember("a", "A", "x")
    memory.index()
    session = Memory("core", session="s1")
    for reader in (memory, session):
        with django_assert_num_queries(1):
            reader.index()
        with django_assert_num_queries(1):
            reader.recall("a")
        with django_assert_num_queries(1):
            reader.keys()
        with CaptureQueriesContext(connection) as queries:
            reader.search("x")
        assert not any("NOT IN" in query["sql"] for query in queries)


# Writes


def test_each_write_of_others_finds_nothing_there(own: Memory) -> None:
    for stranger in (other(), outside()):
        assert isinstance(stranger.forget("private/plan"), WasAbsent)
        assert isinstance(stranger.forget("private/plan", expected_revision=0), WasAbsent)
        assert stranger.forget_matching("zebra", key_prefix="private/") == 0
        with pytest.raises(Conflict, match="is at revision 0, not at 2") as conflict:
            stranger.remember("private/plan", None, "x", expected_revision=2)
        assert conflict.value.current_revision == 0
        with pytest.raises(Refused, match="no revision up to 2"):
            stranger.restore("private/plan", 2)
        undone = stranger.rollback(actor="agent", since=1)
        assert undone.restored == undone.left_alone == ()
    assert own.recall("private/plan") is not None


def test_a_shared_note_takes_the_key_of_a_private_one_as_if_it_were_free(own: Memory) -> None:
    done = outside().remember("private/plan", "For all", "new", expected_revision=0)
    assert (done.outcome, done.replaced_revision) == ("created", None)
    for reader in (own, other(), outside()):
        note = reader.recall("private/plan")
        assert note is not None
        assert (note.body, note.session, note.expires_at, note.contexts) == ("new", "", None, ())
        assert note.created_at == note.updated_at
    assert [r.number for r in outside().history("private/plan")] == [3]
    assert [r.number for r in own.history("private/plan")] == [2, 3]
    assert outside().find("secret") == ()
    assert outside().find(context="plans") == ()
    assert own.end_session() == 0


def test_a_restored_note_takes_the_key_too(memory: Memory) -> None:
    memory.remember("k", "First", "shared")
    memory.forget("k")
    own = Memory("core", session="s1")
    own.remember("k", "Mine", "private", persist=False)
    undone = memory.restore("k", 2)
    assert (undone.outcome, undone.exists) == ("unchanged", False)
    assert memory.as_of("k", 3) is None
    assert memory.restore("k", 1).exists
    assert own.recall("k").body == "shared"  # type: ignore[union-attr]


def test_a_private_note_takes_no_key_that_is_in_use(own: Memory) -> None:
    with pytest.raises(Conflict) as conflict:
        own.remember("shared/fact", None, "x", persist=False)
    assert str(conflict.value) == (
        'A note for all is saved under "shared/fact"; give the private note another key.'
    )
    assert conflict.value.current_revision == 1
    with pytest.raises(Conflict) as conflict:
        other().remember("private/plan", None, "x", persist=False)
    assert str(conflict.value) == (
        'The key "private/plan" is taken; give the private note another key.'
    )
    assert conflict.value.current_revision == 0
    assert Revision.objects.count() == 2


def test_a_key_whose_note_is_gone_is_free(own: Memory) -> None:
    Note.objects.update(expires_at=timezone.now() - HOUR)
    assert other().remember("private/plan", None, "x", persist=False).outcome == "created"
    assert own.remember("shared/fact", None, "x", persist=False).outcome == "created"
    own.end_session()
    assert other().remember("shared/fact", None, "x", persist=False).outcome == "created"


def test_saved_again_for_all_a_private_note_is_shared(own: Memory) -> None:
    done = own.remember("private/plan", "Only mine", "secret zebra")
    assert (done.outcome, done.replaced_revision) == ("replaced", 2)
    note = outside().recall("private/plan")
    assert note is not None
    assert (note.session, note.expires_at, note.contexts) == ("", None, ("plans",))
    assert "private/plan" in outside().index_note()
    assert own.end_session() == 0
    assert [r.number for r in outside().history("private/plan")] == [3]


def test_a_private_note_keeps_its_expiry_until_it_changes(own: Memory) -> None:
    assert (
        own.remember("private/plan", "Only mine", "secret zebra", persist=False).outcome
        == "unchanged"
    )
    soon = timezone.now() + HOUR
    Note.objects.filter(session="s1").update(expires_at=soon)
    own.remember("private/plan", "Only mine", "secret zebra", persist=False)
    assert own.recall("private/plan").expires_at == soon  # type: ignore[union-attr]
    own.remember("private/plan", "Only mine", "changed", persist=False)
    assert own.recall("private/plan").expires_at > soon + HOUR  # type: ignore[union-attr, operator]


def test_a_private_note_expires_after_the_hours_of_the_setting(own: Memory, settings: Any) -> None:
    def lives(hours: float | None) -> float:
        expiry = None if hours is None else timezone.now() + hours * HOUR
        own.remember("k", None, str(hours), persist=False, expires_at=expiry)
        (note,) = Note.objects.filter(key="k")
        return round((note.expires_at - note.updated_at) / HOUR, 3)

    assert [lives(hours) for hours in (None, 1, 23, 25, 9_999)] == [24, 1, 23, 24, 24]
    settings.AGENT_MEMORY_SESSION_HOURS = 2
    assert [lives(hours) for hours in (None, 1.5, 3)] == [2, 1.5, 2]
    own.restore("private/plan", 2)
    own.apply([Save(key="applied", body="x", session="s1")])
    assert Note.objects.private().filter(expires_at=None).count() == 0


def test_apply_writes_for_its_own_session_only(own: Memory) -> None:
    for session in ("s2", "x"):
        with pytest.raises(Refused, match="belongs to the session of its memory"):
            own.apply([Save(key="k", body="x", session=session)])
        with pytest.raises(Refused, match="belongs to the session of its memory"):
            outside().apply([Save(key="k", body="x", session="s1")])
    own.apply([Save(key="private/plan", body="kept private")])
    assert outside().recall("private/plan") is None


def test_store_is_private_too_and_knows_what_it_repeats(own: Memory) -> None:
    first = own.store("It rained", persist=False)
    assert own.store("It rained", persist=False).outcome == "unchanged"
    shared = outside().store("It rained")
    assert shared.key != first.key
    assert other().store("It rained", persist=False).key not in (first.key, shared.key)
    assert [found.key for found in outside().find("rained")] == [shared.key]


def test_what_the_session_forgets_others_never_hear_of(own: Memory) -> None:
    assert own.forget("private/plan").outcome == "forgot"
    assert [r.operation for r in own.history("private/plan")] == ["remember", "forget"]
    assert outside().history("private/plan") == ()
    assert own.restore("private/plan", 2).exists
    assert outside().recall("private/plan") is None
    assert own.forget_matching("zebra") == 2
    assert outside().keys() == ()


def test_rollback_in_the_session_takes_its_own_along(own: Memory) -> None:
    assert [r.key for r in own.rollback(actor="agent", since=1).restored] == ["private/plan"]
    assert own.keys() == ("shared/fact",)


def test_redact_and_erase_reach_private_text(own: Memory) -> None:
    own.remember("private/plan", "Only mine", "later", persist=False)
    assert outside().redact("private/plan").revisions == 1
    assert own.recall("private/plan").body == "later"  # type: ignore[union-attr]
    assert outside().history("private/plan") == ()
    assert outside().erase("private/plan").notes == 1
    assert own.recall("private/plan") is None


def test_memory_check_leaves_private_notes_private(own: Memory) -> None:
    own.remember("private/more", None, "x", persist=False, subject="Ada", context=["a", "b"])
    assert list(find_defects("core")) == []
    Note.objects.filter(key="private/plan").update(body="changed by SQL")
    assert repair("core")
    assert list(find_defects("core")) == []
    assert own.recall("private/plan").body == "changed by SQL"  # type: ignore[union-attr]
    assert outside().recall("private/plan") is None
    assert outside().history("private/plan") == ()


# The end


def test_end_session_forgets_all_of_it_and_nothing_else(own: Memory) -> None:
    own.remember("b", None, "x", persist=False)
    other().remember("c", None, "x", persist=False)
    Memory("elsewhere", session="s1").remember("d", None, "x", persist=False)
    Note.objects.filter(key="b").update(expires_at=timezone.now() - HOUR)
    assert own.end_session(reason="Done.") == 2
    assert own.end_session() == 0
    assert sorted(Note.objects.values_list("key", flat=True)) == ["c", "d", "shared/fact"]
    ends = Revision.objects.filter(operation="forget")
    assert {(end.session, end.reason, end.actor) for end in ends} == {("s1", "Done.", "agent")}
    assert Memory("nowhere", session="s1").end_session() == 0


def test_expired_private_notes_get_their_tombstones(own: Memory, capsys: Any) -> None:
    Note.objects.filter(session="s1").update(expires_at=timezone.now() - HOUR)
    call_command("memory_prune", "--expired", "--apply")
    assert "Removed 1 expired notes" in capsys.readouterr().out
    assert list(Note.objects.values_list("key", flat=True)) == ["shared/fact"]
    assert outside().history("private/plan") == ()


# Names and refusals


@pytest.mark.parametrize("name", ["", "x" * 256, "a\x00b", "a\x1bb", "\ud800", 7, b"s"])
def test_a_session_is_1_to_255_storable_characters(name: Any) -> None:
    with pytest.raises(Refused):
        Memory("core", session=name)


@pytest.mark.parametrize("name", ["s", "x" * 254, "x" * 255, "Sitzung ü/1", " "])
def test_sessions_are_told_apart_by_code_points(memory: Memory, name: str) -> None:
    Memory("core", session=name).remember("k", None, "x", persist=False)
    assert Memory("core", session=name).recall("k") is not None
    for stranger in ("S", "x" * 253, "Sitzung u/1", "  "):
        assert Memory("core", session=stranger).recall("k") is None
    assert memory.recall("k") is None


def test_refusals_come_before_anything_is_written(own: Memory) -> None:
    writes: dict[str, Callable[[], Any]] = {
        "Only a memory with a session can keep": lambda: outside().remember(
            "k", None, "x", persist=False
        ),
        "Only a memory with a session": lambda: outside().store("x", persist=False),
        "persist must be true or false": lambda: own.remember(
            "k",
            None,
            "x",
            persist=None,  # type: ignore[arg-type]
        ),
        "no session to end": lambda: outside().end_session(),
    }
    for sentence, write in writes.items():
        with pytest.raises(Refused, match=sentence):
            write()
    with pytest.raises(NotAllowed):
        Memory("core", session="s1", read_only=True).end_session()
    with pytest.raises(NotAllowed):
        own.at(2).remember("k", None, "x", persist=False)
    assert Revision.objects.count() == 2


def test_the_setting_is_checked() -> None:
    assert SETTINGS["SESSION_HOURS"][0] == "E013"


# Recorded runs and async twins


def test_a_run_in_a_session_answers_no_other(memory: Memory) -> None:
    def run(session: str | None) -> Memory:
        return Memory("core", actor="loop", run="run-1", session=session)

    first = run("s1")
    first.remember("k", "Mine", "secret", persist=False)
    assert "Mine" in first.index_note()
    assert first.end_session() == 1
    again = run("s1")
    again.remember("k", "Mine", "secret", persist=False)
    assert again.replayed
    assert "Mine" in again.index_note()
    assert again.end_session() == 1
    assert again.replayed
    for session in ("s2", None):
        with pytest.raises(ReplayMismatch):
            run(session).recall("k")
    assert RecordedCall.objects.count() == 3


def test_async_twins(db: None) -> None:
    async def turn() -> tuple[Any, ...]:
        own = Memory("core", session="s1")
        await own.aremember("k", "Mine", "x", persist=False)
        await own.astore("y", persist=False)
        seen = await own.akeys("k"), await outside().akeys()
        return *seen, await own.aend_session(), await own.akeys()

    assert async_to_sync(turn)() == (("k",), (), 2, ())
