"""Sixteen models edit one memory at once: nothing is lost, nothing is half done."""

from __future__ import annotations

import pytest

from django_agent_memory import Memory
from django_agent_memory.adapters.anthropic import MemoryTool
from tests.concurrency.crew import Crew, in_threads

from .anthropic_tasks import insert_lines, replace_own_line, take_the_directory

pytestmark = pytest.mark.django_db(transaction=True)
EACH = 8


def assert_has_all_lines() -> None:
    (body,) = (body for _, body in Memory("core").items())
    lines = body.splitlines()
    expected = {f"w{worker} n{number}" for worker in range(16) for number in range(EACH)}
    assert len(lines) == len(expected) + 1
    assert {*lines} == {*expected, "start"}
    assert len(Memory("core").history("shared")) == len(expected) + 1


def test_lines_that_processes_insert(crew: Crew) -> None:
    Memory("core").remember("shared", None, "start\n")
    assert crew.run(insert_lines, "core", EACH) == [[]] * 16
    assert_has_all_lines()


def test_lines_that_threads_insert(settings) -> None:
    settings.AGENT_MEMORY_WRITE_DEADLINE = 60
    Memory("core").remember("shared", None, "start\n")
    tasks = [lambda worker=worker: insert_lines(worker, "core", EACH) for worker in range(16)]
    assert in_threads(tasks) == [[]] * 16
    assert_has_all_lines()


def test_replacements_and_moves_of_processes(crew: Crew) -> None:
    start = "\n".join(f"<{worker}:0>" for worker in range(16))
    Memory("core").remember("shared", None, start)
    for worker in range(16):
        Memory("core").remember(f"d0/{worker}", None, f"of {worker}")
    assert crew.run(replace_own_line, "core", EACH) == [[]] * 16
    assert Memory("core").recall("shared").body == start.replace(":0>", f":{EACH}>")
    moved = dict(Memory("core").items("d"))
    assert moved == {f"d{EACH}/{worker}": f"of {worker}" for worker in range(16)}


def test_a_directory_that_all_want_goes_whole_to_one(crew: Crew) -> None:
    for number in range(5):
        Memory("core").remember(f"d/{number}", None, str(number))
    said = crew.run(take_the_directory, "core")
    (winner,) = (worker for worker, text in enumerate(said) if text.startswith("Successfully"))
    others = {text for worker, text in enumerate(said) if worker != winner}
    assert others == {"The path /memories/d does not exist"}
    assert Memory("core").keys() == tuple(f"of-{winner}/{number}" for number in range(5))


def test_an_edit_that_never_gets_through_says_so(settings, monkeypatch) -> None:
    """Somebody else always writes between the read and the write."""
    settings.AGENT_MEMORY_WRITE_DEADLINE = 0.05
    memory = Memory("core")
    memory.remember("a", None, "x0")
    tool = MemoryTool(memory)
    recall = memory.recall

    def recall_and_be_late(key: str):
        found = recall(key)
        Memory("core").remember(key, None, f"{found.body}1")
        return found

    monkeypatch.setattr(memory, "recall", recall_and_be_late)
    with pytest.raises(Exception, match="^/memories/a is written to all the time; nothing was"):
        tool.call(
            {"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "y"}
        )
    assert "y" not in Memory("core").recall("a").body
