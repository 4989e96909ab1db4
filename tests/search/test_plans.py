"""How each database goes about a search: by the index, or through the notes of one workspace."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connection

from django_agent_memory import Memory, Save
from tests.benchmarks.plans import analyze, explain, reads_of

from .conftest import by_scan

BY_INDEX = {
    "sqlite": [
        r"SCAN t VIRTUAL TABLE INDEX \d+:M\d",
        r"SEARCH n USING INTEGER PRIMARY KEY \(rowid=\?\)",
    ],
    "postgresql": [r"Bitmap Index Scan on agent_memory_note_trigram"],
    "mysql": [r"^agent_memory_note_haystack: ref on PRIMARY"],
}
BY_SCAN = {
    "sqlite": [
        r"SEARCH agent_memory_note USING (?:COVERING )?INDEX \w+ \(workspace_id=\?\)",
    ],
    "postgresql": [r"Index Cond: \(workspace_id = \d+\)"],
    "mysql": [r"^agent_memory_note: ref on agent_memory_note_(?:scan|key)"],
}
WHOLE_TABLE = {
    "sqlite": r"SCAN agent_memory_note\b",
    "postgresql": r"Seq Scan on agent_memory_note\b",
    "mysql": r"^agent_memory_note(?:_haystack)?: (?:ALL|index) ",
}


@pytest.fixture
def memory(transactional_db: None) -> Iterator[Memory]:
    """One workspace of 5,000 notes beside another of as many."""
    call_command("flush", verbosity=0, interactive=False)
    for path in ("one", "other"):
        Memory(path).apply(
            [
                Save(key=f"n{n:05}", summary="s", body=f"a plain note, number {n}, and more " * 9)
                for n in range(5_000)
            ]
        )
    Memory("one").remember("rare", None, "a needle")
    analyze()
    yield Memory("one")


def plan(memory: Memory, pattern: str) -> str:
    """Return the plan of the statement that finds the matches."""
    sent = [sql for sql in reads_of(lambda: memory.search(pattern)) if "LIMIT 8" in sql]
    (sql,) = sent
    return "\n".join(explain(sql))


@pytest.mark.xdist_group("search index")
def test_a_rare_text_goes_by_the_index_and_any_text_stays_in_its_workspace(memory: Memory) -> None:
    vendor = connection.vendor
    rare = plan(memory, "needle")
    assert [line for line in BY_INDEX[vendor] if not re.search(line, rare, re.MULTILINE)] == []
    with by_scan():
        scans = [plan(memory, pattern) for pattern in ("needle", "plain note", "e", "")]
    for scan in scans:
        assert all(re.search(line, scan, re.MULTILINE) for line in BY_SCAN[vendor]), scan
    for each in (rare, *scans):
        assert re.search(WHOLE_TABLE[vendor], each, re.MULTILINE) is None, each
