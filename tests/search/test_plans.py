"""How each database goes about a search: by the index, or through the notes of one workspace."""

from __future__ import annotations

import re

import pytest
from django.core.management import call_command
from django.db import connection

from django_agent_memory import Memory, Save
from tests.benchmarks.plans import analyze, explain, reads_of

BY_INDEX = {
    "sqlite": [
        r"SCAN t VIRTUAL TABLE INDEX \d+:M\d",
        r"SEARCH n USING INTEGER PRIMARY KEY \(rowid=\?\)",
    ],
    "postgresql": [r"Bitmap Index Scan on agent_memory_note_trigram"],
    "mysql": [r"^agent_memory_note_haystack: ref on PRIMARY"],
}
BY_SCAN = {
    "sqlite": r"SEARCH agent_memory_note USING (?:COVERING )?INDEX \w+ \(workspace_id=\?\)",
    "postgresql": r"Index Cond: \(workspace_id = \d+\)",
    "mysql": r"^agent_memory_note(?:_haystack: ref on PRIMARY|: ref on agent_memory_note_key)",
}
WHOLE_TABLE = {
    "sqlite": r"SCAN agent_memory_note\b",
    "postgresql": r"Seq Scan on agent_memory_note\b",
    "mysql": r"^agent_memory_note(?:_haystack)?: (?:ALL|index) ",
}


@pytest.fixture
def memory(transactional_db: None) -> Memory:
    """One workspace of 5,000 notes beside one of 4,000 and one of 300."""
    call_command("flush", verbosity=0, interactive=False)
    for path, count in (("one", 5_000), ("two", 4_000), ("few", 300)):
        Memory(path).apply(
            [
                Save(key=f"n{n:05}", summary="s", body=f"a plain note, number {n}, and more " * 9)
                for n in range(count)
            ]
        )
    Memory("one").remember("rare", None, "a needle")
    analyze()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:  # as autovacuum does, after so many writes at once
            cursor.execute("SELECT gin_clean_pending_list('agent_memory_note_trigram')")
    return Memory("one")


def plan(memory: Memory, pattern: str) -> str:
    """Return the plan of the statement that finds the matches."""
    sent = [sql for sql in reads_of(lambda: memory.search(pattern)) if "LIMIT 8" in sql]
    return "\n".join(explain(sent[-1]))


@pytest.mark.xdist_group("search index")
def test_a_rare_text_goes_by_the_index_and_any_text_stays_in_its_workspace(memory: Memory) -> None:
    vendor = connection.vendor
    rare = plan(memory, "needle")
    assert [line for line in BY_INDEX[vendor] if not re.search(line, rare, re.MULTILINE)] == []
    scans = [plan(Memory("few"), pattern) for pattern in (" ", "plain note", "e", "")]
    for scan in scans:
        assert re.search(BY_SCAN[vendor], scan, re.MULTILINE), scan
    near = ["\n".join(explain(sql)) for sql in reads_of(lambda: memory.near_keys("n02500x"))]
    assert [plan for plan in near if re.search("Sort|TEMP B-TREE|filesort", plan)] == []
    for each in (rare, *scans, *near):
        assert re.search(WHOLE_TABLE[vendor], each, re.MULTILINE) is None, each
