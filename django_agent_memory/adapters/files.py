"""`Files`: the notes of a memory as text files under /memories, for models that edit files.

Each verb returns what the model reads, or raises an `AgentMemoryError` that says it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Busy, Conflict, Refused
from django_agent_memory.memory import Memory
from django_agent_memory.results import Found, Recalled
from django_agent_memory.text import gate
from django_agent_memory.writing import Change, Drop, Save

from . import file_views
from .memory_paths import ROOT, Place, is_reachable, place
from .summaries import saved

_FIRST_PAUSE = 0.002
_LONGEST_PAUSE = 0.1
_MOST_LINES = 100  # that an ambiguous edit is told of


class Files:
    """Directories are virtual: there is one wherever a key goes on after a slash.

    A note may stand where a directory does. Its path is that of the note; with a slash at the end
    it is that of the directory. Every edit is made of what is there when it is written: if somebody
    wrote in between, it is made anew, until AGENT_MEMORY_WRITE_DEADLINE. Several notes are moved or
    deleted in one critical section, and what is replaced stays in the history.

    A key that no path names (`team//plan`, `a/../b`) is no file: it is not shown, moved or deleted,
    and makes no directory.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def view(self, path: object, view_range: object = None) -> str:
        """Return a file with line numbers, or what a directory holds."""
        where = place(path)
        found = self._file(where)
        if found is not None:
            return file_views.file_view(where.path, found.text, view_range)
        sizes = self.memory.sizes(where.prefix) if _may_hold_files(where) else ()
        files = [(key.removeprefix(where.prefix), size) for key, size in sizes if is_reachable(key)]
        if not files and where.key:
            raise _missing(where)
        return file_views.directory_view(where.path, files, view_range)

    def create(self, path: object, file_text: object) -> str:
        """Write a whole file, over the one that is there."""
        where = _file_place(place(path))
        text = _text(file_text, "file_text")

        def attempt() -> None:
            found = self._file(where)
            if found is None and self._is_directory(where):
                raise Refused(f"The path {where.path} is a directory; give a file in it.")
            self.memory.apply([saved(where.key, found, text)])

        _until_settled(where, attempt)
        return f"File created successfully at: {where.path}"

    def str_replace(self, path: object, old_str: object, new_str: object = None) -> str:
        """Replace the one place where `old_str` stands; without `new_str`, remove it."""
        where = place(path)
        old = _text(old_str, "old_str")
        new = "" if new_str is None else _text(new_str, "new_str")
        if not old:
            raise Refused("`old_str` is empty; give the text that is to be replaced.")

        def attempt() -> str:
            found = self._existing(where)
            position = _only_position(found.text, old, where.path)
            text = found.text[:position] + new + found.text[position + len(old) :]
            line = text.count("\n", 0, position)
            return file_views.snippet(self._write(found, text), line)

        edited = _until_settled(where, attempt)
        return (
            "The memory file has been edited. "
            f"Here is the snippet showing the change (with line numbers):\n{edited}"
        )

    def insert(self, path: object, insert_line: object, insert_text: object) -> str:
        """Insert lines after the line `insert_line`, 0 for the beginning."""
        where = place(path)
        new = _text(insert_text, "insert_text")

        def attempt() -> None:
            found = self._existing(where)
            lines = found.text.removesuffix("\n").split("\n") if found.text else []
            if type(insert_line) is not int or not 0 <= insert_line <= len(lines):
                raise Refused(
                    f"Invalid `insert_line` parameter: {str(insert_line)[:40]}. "
                    f"It should be within the range of lines of the file: [0, {len(lines)}]"
                )
            lines.insert(insert_line, new.rstrip("\n"))
            text = "\n".join(lines)
            self._write(found, text if text.endswith("\n") else f"{text}\n")

        _until_settled(where, attempt)
        return f"The file {where.path} has been edited."

    def delete(self, path: object) -> str:
        """Delete a file, or a directory with all that it holds."""
        where = place(path)
        if not where.key:
            raise Refused(f"Cannot delete the {ROOT} directory itself")

        def attempt() -> None:
            notes = self._notes(where)
            drops = [Drop(key=note.key, expected_revision=note.revision) for note in notes]
            self.memory.apply(drops)

        _until_settled(where, attempt)
        return f"Successfully deleted {where.path}"

    def rename(self, old_path: object, new_path: object) -> str:
        """Move a file, or a directory with all that it holds, to where nothing is."""
        old, new = place(old_path, name="old_path"), place(new_path, name="new_path")
        if not old.key:
            raise Refused(f"Cannot rename the {ROOT} directory itself")

        def attempt() -> None:
            if not new.key or self._exists(new):
                raise Refused(f"The destination {new.path} already exists")
            notes = self._notes(old)
            directory = notes[0].key != old.key
            if directory and new.key.startswith(old.prefix):
                raise Refused(f"Cannot move the directory {old.path} into itself")
            if new.is_directory and not directory:
                raise Refused(f"{old.path} is a file; give its new path without a slash at the end")
            self.memory.apply(
                [change for note in notes for change in _moved(note, old.key, new.key)]
            )

        _until_settled(old, attempt)
        return f"Successfully renamed {old.path} to {new.path}"

    def clear(self) -> str:
        """Delete all; the history stays."""
        self.memory.clear()
        return "All memory cleared"

    def _file(self, where: Place) -> Recalled | None:
        return None if where.is_directory else self.memory.recall(where.key)

    def _existing(self, where: Place) -> Recalled:
        found = self._file(where)
        if found is None:
            raise _missing(where)
        return found

    def _exists(self, where: Place) -> bool:
        return self._file(where) is not None or self._is_directory(where)

    def _is_directory(self, where: Place) -> bool:
        return _may_hold_files(where) and any(map(is_reachable, self.memory.keys(where.prefix)))

    def _notes(self, where: Place) -> list[Recalled] | list[Found]:
        """Return the file, or all files of the directory."""
        found = self._file(where)
        if found is not None:
            return [found]
        notes: tuple[Found, ...] = ()
        if _may_hold_files(where):
            notes = self.memory.find(key_prefix=where.prefix, limit=None)
        files = [note for note in notes if is_reachable(note.key)]
        if not files:
            raise Refused(f"The path {where.path} does not exist")
        return files

    def _write(self, found: Recalled, text: str) -> str:
        """Write the file anew; return its text as it is now."""
        change = saved(found.key, found, text)
        self.memory.apply([change])
        return _as_text(change.body)


def _until_settled(where: Place, attempt: Callable[[], Any]) -> Any:
    """Return what `attempt` does; if somebody wrote while it was made, make it anew."""
    deadline = time.monotonic() + conf.write_deadline
    pause = _FIRST_PAUSE
    while True:
        try:
            return attempt()
        except Conflict:
            wait = random.uniform(0, pause)  # noqa: S311  (jitter, not a secret)
            if time.monotonic() + wait > deadline:
                raise Busy(
                    f"{where.path} is written to all the time; nothing was done. "
                    "Try again in a moment."
                ) from None
        time.sleep(wait)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _moved(note: Recalled | Found, old: str, new: str) -> tuple[Change, Change]:
    """Return the changes that give a note, with all that is known of it, its new key."""
    save = Save(
        key=f"{new}{note.key.removeprefix(old)}",
        body=note.body,
        summary=note.summary,
        expected_revision=0,
        kind=note.kind,
        slot=note.slot,
        subject=note.subject,
        weight=note.weight,
        context=note.contexts,
        source=note.source,
        session=note.session,
        happened_at=note.happened_at,
        expires_at=note.expires_at,
    )
    return save, Drop(key=note.key, expected_revision=note.revision)


def _may_hold_files(where: Place) -> bool:
    """Whether the limit leaves room for keys in this directory."""
    return len(where.prefix) < conf.max_key_length


def _file_place(where: Place) -> Place:
    if where.is_directory:
        raise Refused(f"The path {where.path} is a directory; give a file in it.")
    return where


def _only_position(text: str, old: str, path: str) -> int:
    position = text.find(old)
    if position < 0:
        raise Refused(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
        )
    if text.find(old, position + 1) >= 0:
        lines = ", ".join(map(str, islice(_lines_with(text, old), _MOST_LINES)))
        raise Refused(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{lines}. Please ensure it is unique"
        )
    return position


def _lines_with(text: str, old: str) -> Iterator[int]:
    """Yield the number of the line of each occurrence, in one pass."""
    line, last, position = 1, 0, text.find(old)
    while position >= 0:
        line += text.count("\n", last, position)
        yield line
        last, position = position, text.find(old, position + 1)


def _missing(where: Place) -> Refused:
    return Refused(f"The path {where.path} does not exist. Please provide a valid path.")


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise Refused(f"`{name}` must be a string.")
    gate.check_characters(value, name=name)
    return value


def _as_text(body: object) -> str:
    return body if isinstance(body, str) else gate.render_json(body)
