"""The every-turn index: byte-stable, cached under a version that nothing can poison."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction

from django_agent_memory import Memory, Save, large_texts, streaming
from django_agent_memory.models import IndexEntry, Note, Workspace


@pytest.fixture
def memory(transactional_db: None) -> Memory:
    memory = Memory("core")
    memory.apply([Save(key=f"k{n}", summary=f"summary {n}", body="b") for n in range(3)])
    return memory


TEXT = "[memory index]\n- k0: summary 0\n- k1: summary 1\n- k2: summary 2"


def cached_texts() -> list[str]:
    """Return every text in the cache, whatever it is filed under."""
    return [pickle.loads(entry)[1] for entry in cache._cache.values()]


def test_reads_leave_it_byte_identical(memory: Memory) -> None:
    texts = set()
    for _ in range(10):
        texts.add(memory.index_note())
        memory.recall("k1")
        memory.search("summary")
        memory.list_memories()
        memory.forget("unknown")
        memory.remember("k1", "summary 1", "b")
    assert texts == {TEXT}


def test_a_remember_changes_only_its_line(memory: Memory) -> None:
    memory.index_note()
    memory.remember("k1", "changed", "b")
    assert memory.index_note() == TEXT.replace("summary 1", "changed")


def large(path: str = "core", *, lines: int = 1_000) -> Memory:
    memory = Memory(path)
    memory.apply([Save(key=f"k{n:04}", summary="x" * 110, body="b") for n in range(lines)])
    return memory


def test_a_large_text_is_at_hand_without_a_copy(transactional_db: None) -> None:
    memory = large()
    text = memory.index_note()
    assert len(text) > large_texts.LARGE
    assert memory.index_note() is text
    cache.clear()  # another process's work: it stays good for its version
    assert memory.index_note() is text
    memory.remember("k0000", "changed", "b")
    assert "- k0000: changed\n" in memory.index_note()
    memory.erase("k0001")
    assert "k0001" not in memory.index_note()


@pytest.mark.parametrize(("length", "kept"), [(99_999, 0), (100_000, 1), (100_001, 1)])
def test_only_large_texts_are_kept(length: int, kept: int) -> None:
    large_texts.keep("name", "old", "x" * 200_000)
    large_texts.keep("name", "new", "x" * length)
    assert large_texts.find("name", "old") is None
    assert (large_texts.find("name", "new") is not None) == kept
    large_texts.forget("name")
    assert large_texts.find("name", "new") is None


@pytest.mark.parametrize("workspaces", [3, 4, 5])
def test_four_large_texts_are_kept(workspaces: int) -> None:
    for n in range(workspaces):
        large_texts.keep(f"name{n}", "v", "x" * 100_000)
    kept = [n for n in range(workspaces) if large_texts.find(f"name{n}", "v")]
    assert kept == list(range(max(0, workspaces - 4), workspaces))


def test_no_large_text_is_kept_in_a_transaction_or_without_a_cache(
    transactional_db: None, settings: Any
) -> None:
    memory = large()
    with transaction.atomic():
        memory.index_note()
        assert large_texts._texts == {}
    settings.AGENT_MEMORY_INDEX_CACHE_ALIAS = None
    memory.index_note()
    assert large_texts._texts == {}


def test_a_cached_text_is_what_a_fresh_read_gives(memory: Memory, settings: Any) -> None:
    assert memory.index_note() == memory.index_note() == TEXT
    settings.AGENT_MEMORY_INDEX_CACHE_ALIAS = None
    assert memory.index_note() == TEXT


def test_the_version_is_new_whenever_the_text_is(memory: Memory) -> None:
    versions = [memory.index().version]
    memory.remember("k1", "changed", "b")
    versions.append(memory.index().version)
    memory.remember("k1", "summary 1", "b")
    versions.append(memory.index().version)
    memory.forget("k2")
    versions.append(memory.index().version)
    memory.configure(index_budget=20)
    versions.append(memory.index().version)
    assert len(set(versions)) == 5
    assert all(versions)


def test_a_budget_cuts_the_text_and_list_memories_stays_whole(memory: Memory) -> None:
    memory.remember("k2", "long " * 20, "b")
    cut = (
        "[memory index]\n- k0: summary 0\n"
        "(showing 1 of 3 memories — search(pattern) finds the rest.)"
    )
    memory.configure(index_budget=len(cut))
    assert memory.index_note() == cut
    assert len(memory.list_memories()) == 3


@pytest.mark.parametrize("few", [True, False])
def test_the_edge_of_the_budget(memory: Memory, monkeypatch: Any, few: bool) -> None:
    monkeypatch.setattr(streaming, "FEW", 2_000 if few else 0)
    memory.apply([Save(key=f"k{n}", summary=f"summary {n}", body="b") for n in range(3, 9)])
    whole = memory.index_note()
    last = "(showing {} of 9 memories — search(pattern) finds the rest.)"
    for less, shown in [(-1, 9), (0, 9), (1, 5)]:
        memory.configure(index_budget=len(whole) - less)
        expected = [*whole.split("\n")[: shown + 1], *([last.format(shown)] if shown < 9 else [])]
        assert memory.index_note().split("\n") == expected
        assert len(memory.index_note()) <= len(whole) - less
    for budget in (0, 1, 14, 70):
        memory.configure(index_budget=budget)
        assert memory.index_note() == f"[memory index]\n{last.format(0)}"


def test_a_rolled_back_write_leaves_no_text_behind(memory: Memory) -> None:
    with transaction.atomic():
        memory.remember("ghost", "never was", "b")
        assert "ghost" in memory.index_note()
        transaction.set_rollback(True)
    assert memory.index_note() == TEXT


def test_a_rolled_back_savepoint_leaves_no_text_behind(memory: Memory) -> None:
    with transaction.atomic():
        with transaction.atomic():
            memory.remember("ghost", "never was", "b")
            memory.index_note()
            transaction.set_rollback(True)
        assert memory.index_note() == TEXT
    assert memory.index_note() == TEXT


def test_nothing_is_cached_inside_a_transaction(memory: Memory) -> None:
    with transaction.atomic():
        memory.index_note()
    assert TEXT not in cached_texts()
    memory.index_note()
    assert cached_texts() == [TEXT]
    memory.remember("k0", "new", "b")
    memory.index_note()
    assert len(cached_texts()) == 1


def test_a_lost_cache_is_no_loss(memory: Memory) -> None:
    memory.index_note()
    cache.clear()
    assert memory.index_note() == TEXT


def test_index_entries_without_notes_and_notes_without_entries(memory: Memory) -> None:
    Note.objects.filter(key="k0").delete()
    IndexEntry.objects.filter(key="k1").delete()
    Workspace.objects.update(index_version="other")
    assert memory.index_note() == "[memory index]\n- k0: summary 0\n- k2: summary 2"
    assert memory.recall("k0") is None
    recalled = memory.recall("k1")
    assert recalled is not None
    assert recalled.summary is None
    assert memory.search("k1").matches[0].summary is None
    assert memory.forget("k0").outcome == "forgot"
    assert memory.forget("k1").outcome == "forgot"
    assert memory.index_note() == "[memory index]\n- k2: summary 2"


def test_damaged_and_oversize_rows_are_read_as_they_are(memory: Memory) -> None:
    Note.objects.filter(key="k0").update(body="{not json", body_is_json=True)
    Note.objects.filter(key="k1").update(body="x" * 1_200_000)
    IndexEntry.objects.filter(key="k1").update(summary="y" * 20_000)
    Workspace.objects.update(index_version="other")
    broken = memory.recall("k0")
    assert broken is not None
    assert broken.body == "{not json"
    large = memory.recall("k1")
    assert large is not None
    assert len(large.body) == 1_200_000
    assert memory.index_note().split("\n")[2] == "- k1: " + "y" * 106 + "…(summary cut)"
    assert memory.search("summary").total == 3


def test_a_thousand_notes_are_a_thousand_and_one_lines(memory: Memory) -> None:
    other = Memory("other")
    other.apply([Save(key=f"k{n}", summary="s\nforged", body="b") for n in range(1000)])
    assert len(other.index_note().split("\n")) == 1001
