"""The sentences that the memory tool's documentation gives, one by one.

`Error: ` in front of one is left out, as in the SDK's own helper: a `ToolError` is marked as such.
"""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.tools import ToolError

from django_agent_memory import Memory
from django_agent_memory.adapters.anthropic import MemoryTool

A = "/memories/a.txt"
NONE = "/memories/none.txt"
GONE = f"The path {NONE} does not exist"
WITH_ADVICE = f"{GONE}. Please provide a valid path."
DONE = [
    (
        {"command": "view", "path": "/memories"},
        "Here're the files and directories up to 2 levels deep in /memories, "
        "excluding hidden items and node_modules:\n"
        f"5.5K\t/memories\n12B\t{A}\n5.5K\t/memories/d/\n5.5K\t/memories/d/b.txt",
    ),
    (
        {"command": "view", "path": A},
        f"Here's the content of {A} with line numbers:\n"
        "     1\tone\n     2\ttwo\n     3\ttwo\n     4\t",
    ),
    (
        {"command": "view", "path": A, "view_range": [1, 2]},
        f"Here's the content of {A} with line numbers:\n     1\tone\n     2\ttwo",
    ),
    (
        {"command": "create", "path": NONE, "file_text": "new\n"},
        f"File created successfully at: {NONE}",
    ),
    (
        {"command": "str_replace", "path": A, "old_str": "one", "new_str": "1"},
        # The sentence, and a snippet with line numbers in the words of the SDK's helper.
        "The memory file has been edited. "
        "Here is the snippet showing the change (with line numbers):\n"
        "     1\t1\n     2\ttwo\n     3\ttwo",
    ),
    (
        {"command": "insert", "path": A, "insert_line": 2, "insert_text": "new\n"},
        f"The file {A} has been edited.",
    ),
    ({"command": "delete", "path": A}, f"Successfully deleted {A}"),
    ({"command": "delete", "path": "/memories/d"}, "Successfully deleted /memories/d"),
    (
        {"command": "rename", "old_path": A, "new_path": NONE},
        f"Successfully renamed {A} to {NONE}",
    ),
    (
        {"command": "rename", "old_path": "/memories/d", "new_path": "/memories/e"},
        "Successfully renamed /memories/d to /memories/e",
    ),
]
REFUSED = [
    ({"command": "view", "path": NONE}, WITH_ADVICE),
    ({"command": "str_replace", "path": NONE, "old_str": "x", "new_str": "y"}, WITH_ADVICE),
    (
        {"command": "str_replace", "path": "/memories/d", "old_str": "x", "new_str": "y"},
        "The path /memories/d does not exist. Please provide a valid path.",
    ),
    (
        {"command": "str_replace", "path": A, "old_str": "six", "new_str": "y"},
        f"No replacement was performed, old_str `six` did not appear verbatim in {A}.",
    ),
    (
        {"command": "str_replace", "path": A, "old_str": "two", "new_str": "y"},
        "No replacement was performed. Multiple occurrences of old_str `two` in lines: 2, 3. "
        "Please ensure it is unique",
    ),
    # Documented without the advice; the SDK's helper gives it here too.
    ({"command": "insert", "path": NONE, "insert_line": 0, "insert_text": "x"}, WITH_ADVICE),
    (
        {"command": "insert", "path": "/memories/d", "insert_line": 0, "insert_text": "x"},
        "The path /memories/d does not exist. Please provide a valid path.",
    ),
    (
        {"command": "insert", "path": A, "insert_line": 4, "insert_text": "x"},
        "Invalid `insert_line` parameter: 4. "
        "It should be within the range of lines of the file: [0, 3]",
    ),
    ({"command": "delete", "path": NONE}, GONE),
    ({"command": "rename", "old_path": NONE, "new_path": "/memories/b"}, GONE),
    (
        {"command": "rename", "old_path": A, "new_path": "/memories/d/b.txt"},
        "The destination /memories/d/b.txt already exists",
    ),
]


@pytest.fixture
def tool(memory: Memory) -> MemoryTool:
    memory.remember("a.txt", None, "one\ntwo\ntwo\n")
    memory.remember("d/b.txt", None, "x" * 5632)
    return MemoryTool(memory)


@pytest.mark.parametrize(("command", "said"), DONE)
def test_what_is_done_is_said_so(tool: MemoryTool, command: dict[str, Any], said: str) -> None:
    assert tool.call(command) == said


@pytest.mark.parametrize(("command", "said"), REFUSED)
def test_what_is_refused_is_said_so(tool: MemoryTool, command: dict[str, Any], said: str) -> None:
    before = tool.files.memory.items()
    with pytest.raises(ToolError) as caught:
        tool.call(command)
    assert str(caught.value) == said
    assert tool.files.memory.items() == before


def test_more_lines_than_there_are_numbers(tool: MemoryTool) -> None:
    tool.files.memory.remember("long", None, "\n" * 999_999)
    with pytest.raises(ToolError) as caught:
        tool.call({"command": "view", "path": "/memories/long"})
    said = "File /memories/long exceeds maximum line limit of 999,999 lines."
    assert str(caught.value) == said


def test_create_is_no_error_where_a_file_is(tool: MemoryTool) -> None:
    """The one command that does otherwise: what was there stays in the history."""
    said = tool.call({"command": "create", "path": A, "file_text": "new"})
    assert said == f"File created successfully at: {A}"
    assert [line.body for line in tool.files.memory.history("a.txt")] == [
        "one\ntwo\ntwo\n",
        "new",
    ]
