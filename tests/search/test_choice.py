"""The index is used where it helps and kept out where it would cost more than the scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_agent_memory import Memory, Save
from django_agent_memory.models import Note
from django_agent_memory.search import matching

from .conftest import by_index, found, scans_counted

VENDOR = connection.vendor
on = {name: pytest.mark.skipif(name != VENDOR, reason=f"a choice of {name}") for name in (
    "sqlite", "postgresql", "mysql"
)}  # fmt: skip

# A text whose trigrams are each in every note, though it is in none.
SHUFFLED = "common words in all of them"
BODY = "all of them: words in common, in all of them words in, of them common words"


def stored(count: int, path: str = "core", *, body: str = BODY) -> Memory:
    memory = Memory(path)
    memory.apply([Save(key=f"n{n:05}", body=f"{body} {n}") for n in range(count)])
    memory.remember("rare", None, f"{body} with a zyxw needle")
    if VENDOR != "mysql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    return memory


@pytest.mark.django_db
@on["sqlite"]
@pytest.mark.parametrize(("notes", "scans"), [(511, 1), (512, 0), (513, 0)])
def test_workspaces_under_512_notes_are_scanned(notes: int, scans: int) -> None:
    memory = stored(notes - 1)
    with scans_counted() as scanned:
        assert found(memory, "zyxw") == (["rare"], 1)
    assert len(scanned) == scans


@pytest.mark.django_db
@on["sqlite"]
@pytest.mark.parametrize(("holders", "scans"), [(63, 0), (64, 0), (65, 1)])
def test_at_most_one_note_in_eight_is_looked_at_by_its_trigrams(holders: int, scans: int) -> None:
    memory = stored(599)
    memory.apply([Save(key=f"h{n:03}", body="has a kettle") for n in range(holders)])
    with scans_counted() as scanned:
        assert found(memory, "kettle")[1] == holders
    assert len(scanned) == scans


@pytest.mark.django_db
@on["sqlite"]
@pytest.mark.parametrize("pattern", [SHUFFLED, "com", "co", "words in"])
def test_common_trigrams_are_not_intersected(pattern: str) -> None:
    memory = stored(600)
    with scans_counted() as scanned:
        memory.search(pattern)
    assert len(scanned) == 1


@pytest.mark.django_db
@on["sqlite"]
def test_one_rare_trigram_among_common_ones_is_enough() -> None:
    memory = stored(600)
    with scans_counted() as scanned:
        assert found(memory, "them with a zyxw needle")[1] == 0
        assert found(memory, "with a zyxw needle") == (["rare"], 1)
    assert scanned == []


@pytest.mark.django_db
@on["sqlite"]
@pytest.mark.parametrize(("notes", "statements"), [(100, 5), (600, 4), (5_000, 4)])
def test_statements_of_a_rare_search(
    notes: int, statements: int, django_assert_num_queries: Callable[..., Any]
) -> None:
    memory = stored(notes)
    # The workspace, is the index there, how rare are they, the matches; a look before a scan.
    with django_assert_num_queries(statements):
        memory.search("zyxw")


@pytest.mark.django_db
@on["postgresql"]
@pytest.mark.parametrize(
    ("pattern", "uses_index"),
    [
        ("zyxw", True),
        ("a zyxw needle", True),
        ("yz", False),
        ("-- %", False),
        (SHUFFLED, False),
        ("common", False),
    ],
)
def test_postgresql_is_offered_the_index_where_it_helps(pattern: str, uses_index: bool) -> None:
    memory = stored(5_000)
    with CaptureQueriesContext(connection) as queries:
        memory.search(pattern)
    assert (' AND "haystack" LIKE ' in queries[-1]["sql"]) == uses_index


@pytest.mark.django_db
@on["postgresql"]
def test_in_a_small_workspace_among_large_ones_only_what_is_rare_goes_by_the_index() -> None:
    small = stored(4_500, "small")
    stored(60_000, "large", body="quite other things")
    with scans_counted() as scanned:
        assert found(small, "common words")[1] == 4_501
    assert len(scanned) == 1
    with scans_counted() as scanned:
        assert found(small, "zyxw") == (["rare"], 1)
    assert scanned == []


@pytest.mark.django_db
@on["postgresql"]
@pytest.mark.parametrize("notes", [100, 5_000])
def test_statements_on_postgresql(
    notes: int, django_assert_num_queries: Callable[..., Any]
) -> None:
    memory = stored(notes)
    look = notes < 4_096  # before a scan, at its first notes
    with django_assert_num_queries(4 + look):  # the workspace, the table, its size, the matches
        memory.search("zyxw")
    with django_assert_num_queries(2 + look):  # table and size are known for a minute
        memory.search("zyxw")
    with django_assert_num_queries(3):
        memory.search("zy")


@pytest.mark.django_db
@on["mysql"]
def test_the_copy_is_scanned(django_assert_num_queries: Callable[..., Any]) -> None:
    memory = stored(50)
    # In a transaction: the workspace, whether the copy is there, the matches.
    with scans_counted() as scanned, django_assert_num_queries(3):
        assert found(memory, "zyxw") == (["rare"], 1)
    assert scanned == ["agent_memory_note_haystack"]
    with scans_counted() as scanned:
        assert found(memory, "")[1] == 51
    assert scanned == ["note"]  # counted in the index on workspace and key


@pytest.mark.django_db
@on["sqlite"]
def test_the_forced_way_of_the_other_tests_does_not_scan() -> None:
    memory = stored(50)
    with by_index(), scans_counted() as scanned:
        assert found(memory, "words in")[1] == 51
    assert scanned == []


@pytest.mark.django_db
@pytest.mark.parametrize("candidates", [999, 1_000, 1_001])
def test_lists_find_the_same_with_few_candidates_and_with_many(candidates: int) -> None:
    memory = stored(20)
    memory.apply([Save(key=f"h{n:04}", body="has a kettle") for n in range(candidates)])
    memory.apply([Save(key="near", body="kettles: ketten, ettle")])
    notes = matching(Note.objects.filter(workspace__path="core"), "KETTLE")
    assert notes.count() == candidates + 1
    named = str(notes.query).count(" IN (")
    assert named == (1 if VENDOR == "sqlite" and candidates < 1_000 else 0)


@pytest.mark.django_db
@pytest.mark.parametrize("matches", [7, 8, 9])
def test_the_first_eight_of_a_common_text_are_found_early(matches: int) -> None:
    memory = Memory("core")
    memory.apply([Save(key=f"n{n:03}", body="ab" if n < matches else "cd") for n in range(128)])
    memory.apply([Save(key=f"z{n}", body="ab") for n in range(3)])
    with CaptureQueriesContext(connection) as queries:
        keys = [f"n{n:03}" for n in range(matches)] + ["z0", "z1", "z2"]
        assert found(memory, "ab") == (keys[:8], matches + 3)
    if VENDOR != "mysql":
        assert ("SELECT COUNT(*) FROM (" in queries[-1]["sql"]) == (matches >= 8)
