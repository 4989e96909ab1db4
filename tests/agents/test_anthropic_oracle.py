"""Differential: the memory tool and the SDK's helper for files do the same, command by command."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from anthropic.tools import BetaLocalFilesystemMemoryTool, ToolError
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from django_agent_memory import Memory
from django_agent_memory.adapters.anthropic import MemoryTool

PATHS = st.sampled_from([f"/memories/{name}" for name in ("a", "b", "d/a", "d/b", "d", "d/e/a")])
TEXTS = st.text("xy\n\r", max_size=8)
SMALL = st.text("xy\n", min_size=1, max_size=2)
COMMANDS = st.one_of(
    st.fixed_dictionaries({"command": st.just("create"), "path": PATHS, "file_text": TEXTS}),
    st.fixed_dictionaries(
        {"command": st.just("str_replace"), "path": PATHS, "old_str": SMALL, "new_str": TEXTS}
    ),
    st.fixed_dictionaries(
        {
            "command": st.just("insert"),
            "path": PATHS,
            "insert_line": st.integers(-1, 4),
            "insert_text": TEXTS,
        }
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": PATHS}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": PATHS, "new_path": PATHS}),
    st.fixed_dictionaries(
        {
            "command": st.just("view"),
            "path": PATHS,
            "view_range": st.none() | st.sampled_from([[1, -1], [0, 2], [1, 1], [1, 9]]),
        }
    ),
)


@pytest.mark.django_db
@given(commands=st.lists(COMMANDS, min_size=1, max_size=12))
@settings(
    max_examples=100,
    phases=[Phase.explicit, Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_both_say_and_keep_the_same(db: None, commands: list[dict[str, Any]]) -> None:
    Memory("oracle").clear()
    ours = MemoryTool(Memory("oracle"))
    with tempfile.TemporaryDirectory() as folder:
        theirs = BetaLocalFilesystemMemoryTool(folder)
        for command in commands:
            if differs_on_purpose(command, theirs.memory_root, ours):
                continue
            assert answer(ours, command) == answer(theirs, command)
            files = (path for path in theirs.memory_root.rglob("*") if path.is_file())
            kept = {str(p.relative_to(theirs.memory_root)): p.read_bytes() for p in files}
            assert {k: text.encode() for k, text in ours.files.memory.items()} == kept


def differs_on_purpose(command: dict[str, Any], root: Path, ours: MemoryTool) -> bool:
    """What only one of the two can do: files and directories that share a name, and overwriting."""
    name, path = command["command"], command.get("path", command.get("old_path", ""))
    target = root / path.removeprefix("/memories/")
    goal = root / command.get("new_path", path).removeprefix("/memories/")
    parents = [p for place in (target, goal) for p in place.parents if p.is_relative_to(root)]
    if any(parent.is_file() for parent in parents):
        return True  # a directory in the place of a file
    if any(d.is_dir() and not any(f.is_file() for f in d.rglob("*")) for d in root.rglob("*")):
        _remove_empty(root)
    if name == "create":
        return target.exists()
    if name == "rename":
        return goal.is_relative_to(target)
    if name == "str_replace" and target.is_file():
        old, text = command["old_str"], target.read_bytes().decode()
        return text.count(old) != sum(text.startswith(old, at) for at in range(len(text)))
    return target.is_dir() and name != "delete"


def _remove_empty(root: Path) -> None:
    for folder in sorted(root.rglob("*"), reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def answer(tool: Any, command: dict[str, Any]) -> tuple[bool, str]:
    try:
        return True, tool.call(command)
    except ToolError as error:
        # The SDK's sentence for a wrong line is shorter than the documented one.
        return False, str(error).replace("the range of lines of the file: ", "the range ").rstrip(
            "."
        )
