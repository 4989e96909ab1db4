"""The memory tool of Anthropic's models (`memory_20250818`) over a `Memory`.

`client.beta.messages.tool_runner(…, tools=[MemoryTool(memory)])`; `AsyncMemoryTool` for the async
client. Needs the `anthropic` package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from asgiref.sync import sync_to_async

from django_agent_memory.exceptions import AgentMemoryError
from django_agent_memory.memory import Memory

from .files import Files

_COMMANDS: dict[str, Callable[..., str]] = {
    "view": Files.view,
    "create": Files.create,
    "str_replace": Files.str_replace,
    "insert": Files.insert,
    "delete": Files.delete,
    "rename": Files.rename,
}
_ARGUMENTS = {
    "view": ("path", "view_range"),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}


class MemoryTool(BetaAbstractMemoryTool):
    """The notes of `memory` as files under /memories; see `Files`.

    What the model is told of a failure is the sentence of a `ToolError`. `cache_control` is as in
    the base class.
    """

    def __init__(self, memory: Memory, **options: Any) -> None:
        super().__init__(**options)
        self.files = Files(memory)

    def call(self, input: object) -> str:  # noqa: A002  (the name of the base class)
        """Do the command that a model asked for, whatever it sent."""
        return _answer(self.files, _command(input), input)

    def execute(self, command: Any) -> str:
        """Do a command."""
        return _answer(self.files, _command(command), command)

    view = create = str_replace = insert = delete = rename = execute

    def clear_all_memory(self) -> str:
        """Forget every note; the history stays."""
        return _told(self.files.clear)


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """`MemoryTool` for the async client: each command is one unit in one thread."""

    def __init__(self, memory: Memory, **options: Any) -> None:
        super().__init__(**options)
        self.files = Files(memory)

    async def call(self, input: object) -> str:  # noqa: A002  (the name of the base class)
        """Do the command that a model asked for, whatever it sent."""
        return await sync_to_async(_answer)(self.files, _command(input), input)

    async def execute(self, command: Any) -> str:
        """Do a command."""
        return await sync_to_async(_answer)(self.files, _command(command), command)

    view = create = str_replace = insert = delete = rename = execute

    async def clear_all_memory(self) -> str:
        """Forget every note; the history stays."""
        return await sync_to_async(_told)(self.files.clear)


def _command(given: object) -> str:
    command = _argument(given, "command")
    if not isinstance(command, str) or command not in _COMMANDS:
        raise ToolError(
            f"There is no command {str(command)[:40]!r}; the commands are: {', '.join(_COMMANDS)}."
        )
    return command


def _answer(files: Files, command: str, given: object) -> str:
    arguments = {name: _argument(given, name) for name in _ARGUMENTS[command]}
    return _told(_COMMANDS[command], files, **arguments)


def _argument(given: object, name: str) -> Any:
    """Return an argument of what a model sent or of the SDK's model of it, None if it is not there.

    The SDK gives models of commands no fields that were not sent.
    """
    return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)


def _told(verb: Callable[..., str], *args: Any, **arguments: Any) -> str:
    try:
        return verb(*args, **arguments)
    except AgentMemoryError as error:
        raise ToolError(str(error)) from error
