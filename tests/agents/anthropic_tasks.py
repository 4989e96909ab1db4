"""What the processes of the crew do with the Anthropic memory tool."""

from __future__ import annotations

from anthropic.tools import ToolError

from django_agent_memory import Memory
from django_agent_memory.adapters.anthropic import MemoryTool


def insert_lines(worker: int, path: str, count: int) -> list[str]:
    """Insert `count` lines of its own into one file; return the errors."""
    tool = MemoryTool(Memory(path, actor=f"worker-{worker}"))
    errors = []
    for number in range(count):
        command = {"command": "insert", "path": "/memories/shared", "insert_line": 0}
        try:
            tool.call({**command, "insert_text": f"w{worker} n{number}"})
        except ToolError as error:
            errors.append(str(error))
    return errors


def replace_own_line(worker: int, path: str, count: int) -> list[str]:
    """Count up in a line of its own of one file, and move a file of its own; return the errors."""
    tool = MemoryTool(Memory(path, actor=f"worker-{worker}"))
    errors = []
    for number in range(count):
        old, new = f"<{worker}:{number}>", f"<{worker}:{number + 1}>"
        edit = {"command": "str_replace", "path": "/memories/shared"}
        try:
            tool.call({**edit, "old_str": old, "new_str": new})
            tool.call(
                {
                    "command": "rename",
                    "old_path": f"/memories/d{number}/{worker}",
                    "new_path": f"/memories/d{number + 1}/{worker}",
                }
            )
        except ToolError as error:
            errors.append(str(error))
    return errors


def take_the_directory(worker: int, path: str) -> str:
    """Move one directory to a place of its own, as everybody wants to; return what was said."""
    tool = MemoryTool(Memory(path, actor=f"worker-{worker}"))
    target = f"/memories/of-{worker}"
    try:
        return tool.call({"command": "rename", "old_path": "/memories/d", "new_path": target})
    except ToolError as error:
        return str(error)
