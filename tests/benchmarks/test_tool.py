"""The benchmark tool runs and prints every row."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from .timing import HEADER

_CONTENDERS = [
    "Memory.remember", "ORM by hand", "driver",
    "Memory.remember", "ORM by hand", "driver",
    "Memory.recall", ".values().get()", "driver",
    "Memory.index_note", ".values_list().get(pk=)",
    "Memory.index_note", "driver, same lines", "driver, bare join",
    "Memory.history", "ORM, .values()", "driver",
    "Memory.as_of", "ORM, .values()", "driver",
    "Memory.at().index_note", "driver, NOT EXISTS", "driver, GROUP BY",
    "recorded", "plain", "replayed", ".values().get()",
    "Memory.apply", "Memory.apply", "bulk_create", "bulk_create",
]  # fmt: skip


@pytest.mark.xdist_group("concurrency")
def test_every_row_is_printed() -> None:
    engine = os.environ.get("AGENT_MEMORY_TEST_DB", "sqlite")
    name = os.environ.get("AGENT_MEMORY_TEST_DB_NAME", "test_agent_memory") + "_tiny"
    options = ["all", "--db", engine, "--name", name, "--scale", "0.0001"]
    command = [sys.executable, "-m", "tests.benchmarks", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    table = done.stdout.splitlines()
    assert table[:2] == HEADER.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]
    contenders = [row[2] for row in rows]
    assert contenders[:-2] == _CONTENDERS or contenders[:-1] == _CONTENDERS
    assert all(len(row) == 7 for row in rows)
    assert rows[-1][0] == "HTTP recall"
