"""What one write costs, and that every read inside the lock is a locking one."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_agent_memory import Memory, Save

MOST_STATEMENTS = 8
PATH = "team/statements"
KEY = "user/fact"

WRITES: dict[str, Callable[[Memory], object]] = {
    "new": lambda memory: memory.remember("user/new", "A line", "A body"),
    "over": lambda memory: memory.remember(KEY, "Another line", "Another body"),
    "same": lambda memory: memory.remember(KEY, "A line", "A body"),
    "forget": lambda memory: memory.forget(KEY),
}


@pytest.fixture
def memory() -> Memory:
    """A memory of one note."""
    memory = Memory(PATH)
    memory.remember(KEY, "A line", "A body")
    return memory


def statements(write: Callable[[], object]) -> list[str]:
    """Return the SQL between BEGIN and COMMIT."""
    with CaptureQueriesContext(
        connection,
    ) as captured:
        write()
    every = [query["sql"] for query in captured.captured_queries]
    first, last = (index for index, sql in enumerate(every) if sql in ("BEGIN", "COMMIT"))
    return every[first + 1 : last]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_one_write_is_at_most_eight_statements(
    memory: Memory, write: Callable[[Memory], object]
) -> None:
    executed = statements(lambda: write(memory))
    assert 2 <= len(executed) <= MOST_STATEMENTS
    # MariaDB is told how long to wait in front of it.
    assert re.match(r"(SET STATEMENT .* FOR )?UPDATE", executed[0])


def test_the_first_write_of_a_workspace_takes_one_more() -> None:
    first = statements(lambda: Memory(PATH).remember(KEY, "A line", "A body"))
    assert len(first) == MOST_STATEMENTS + 1


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_every_read_inside_is_a_locking_read(
    memory: Memory, write: Callable[[Memory], object]
) -> None:
    if not connection.features.has_select_for_update:
        pytest.skip(f"{connection.vendor} locks the whole file, by the UPDATE that comes first")
    reads = [sql for sql in statements(lambda: write(memory)) if sql.startswith("SELECT")]
    tables = re.findall(r"FROM .agent_memory_(\w+)", "\n".join(reads))
    # Note and index entry are joined to it.
    assert tables == ["workspace"]
    of_it = " OF w"
    lock = f"FOR NO KEY UPDATE{of_it}" if connection.vendor == "postgresql" else "FOR UPDATE"
    assert [sql.endswith(lock) for sql in reads] == [True]


def test_reads_of_many_keys_are_locking_reads_too(memory: Memory) -> None:
    if not connection.features.has_select_for_update:
        pytest.skip(f"{connection.vendor} locks the whole file, by the UPDATE that comes first")
    saves = [Save(key=f"many/{number}", body="B") for number in range(2)]
    reads = [sql for sql in statements(lambda: memory.apply(saves)) if sql.startswith("SELECT")]
    tables = re.findall(r"FROM .agent_memory_(\w+)", "\n".join(reads))
    assert tables == ["workspace", "indexentry", "note"]
    lock = "FOR NO KEY UPDATE" if connection.vendor == "postgresql" else "FOR UPDATE"
    assert [sql.endswith(lock) for sql in reads] == [True] * 3


def test_many_changes_take_two_statements_more_than_one(memory: Memory) -> None:
    one = statements(lambda: memory.remember("many/one", "A line", "A body"))
    saves = [Save(key=f"many/{number}", summary="A line", body="B") for number in range(30)]
    assert len(statements(lambda: memory.apply(saves))) == len(one) + 2
