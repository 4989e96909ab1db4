"""The benchmark tool runs and prints every row."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from .planted import PATTERNS
from .search import SCAN
from .stores import anthropic, json_file, langgraph, ours, pydantic_ai
from .timing import HEADER

_CONTENDERS = [
    "Memory.remember", "ORM by hand", "driver",
    "Memory.remember", "ORM by hand", "driver",
    "Memory.recall", ".values().get()", "driver",
    "Memory.index_note", ".values_list().get(pk=)",
    "Memory.index_note", ".values_list().get(pk=)",
    "Memory.index_note", "driver, same lines", "driver, bare join",
    "Memory.history", "ORM, .values()", "driver",
    "Memory.as_of", "ORM, .values()", "driver",
    "Memory.at().index_note", "driver, NOT EXISTS", "driver, GROUP BY",
    "recorded", "plain", "replayed", ".values().get()",
    "Memory.apply", "Memory.apply", "bulk_create", "bulk_create",
]  # fmt: skip


_PEERS = [ours.NAME, json_file.NAME]
_ASKED_OF_PEERS = 7


def table_of(*cases: str) -> list[list[str]]:
    """Run the tool at a tiny scale and return the cells of the rows that it prints."""
    engine = os.environ.get("AGENT_MEMORY_TEST_DB", "sqlite")
    # A database of this worker's, whatever runs beside it.
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    name = os.environ.get("AGENT_MEMORY_TEST_DB_NAME", "test_agent_memory") + f"_tiny{worker}"
    options = ["--db", engine, "--name", name, "--scale", "0.0001"]
    command = [sys.executable, "-m", "tests.benchmarks", *cases, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    table = done.stdout.splitlines()
    assert table[:2] == HEADER.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]
    assert all(len(row) == 7 for row in rows)
    return rows


@pytest.mark.xdist_group("concurrency")
def test_every_row_is_printed() -> None:
    rows = table_of("all")
    over_http = [row for row in rows if row[0].startswith("HTTP ")]
    assert [row[2] for row in rows if row not in over_http] == _CONTENDERS
    cases = [row[0] for row in over_http]
    if shutil.which("wrk") is None:
        assert cases == ["HTTP recall"]
    else:
        compared = ("recall", "index", "find", "tool call")
        assert cases == [f"HTTP {case}" for case in compared for _ in range(2)]


@pytest.mark.xdist_group("concurrency")
def test_every_pattern_is_searched_for_in_each_workspace() -> None:
    rows = table_of("search")
    for contender in ("Memory.search", SCAN):
        named = [row[0] for row in rows if row[2].startswith(contender)]
        for pattern in PATTERNS:
            searched = f"search, {pattern.name}, "
            timed = [case for case in named if case.startswith(searched) and case.endswith("notes")]
            assert len(timed) == 3, (contender, pattern.name)
    assert [row[6] for row in rows if row[6] in {"< 2", "flat"}] == ["< 2", "flat"]


@pytest.mark.xdist_group("concurrency")
def test_pages_of_the_admin_are_measured_at_two_sizes() -> None:
    rows = table_of("admin")
    assert len(rows) == 2 * (len(rows) // 2) >= 28
    for row in rows:
        statements, kilobytes = (int(word) for word in row[2].split() if word.isdigit())
        assert statements > 2
        assert kilobytes > 5
        if row[0].startswith("notes, first page"):
            assert statements <= 12


@pytest.mark.xdist_group("concurrency")
def test_duplicates_are_found_however_they_are_grouped() -> None:
    rows = table_of("duplicates")
    assert [row[2] for row in rows] == ["rule", "same", "nearly_same"] * 3


@pytest.mark.xdist_group("concurrency")
def test_peers_that_are_installed_take_turns_with_ours() -> None:
    rows = table_of("peers")
    contenders = [row[2] for row in rows if row[2] in _PEERS]
    assert contenders == _PEERS * _ASKED_OF_PEERS
    kept = {row[2]: row[3] for row in rows if row[0].startswith("two processes")}
    assert kept[ours.NAME] == "50 of 50 acknowledged, 50 kept"


@pytest.mark.xdist_group("concurrency")
def test_adapters_take_turns_with_their_frameworks_where_these_are_installed() -> None:
    rows = table_of("adapters")
    if langgraph.missing("postgres") or pydantic_ai.missing() or anthropic.missing():
        assert rows == []
        return
    contenders = {row[2] for row in rows}
    assert {anthropic.OURS, anthropic.FILES} <= contenders
    at_once = [row for row in rows if row[0].startswith("4 processes")]
    assert {row[4] for row in at_once if row[6]} == {"16 of 16 done"}
