"""A folder of text files: a note a file, found under its path."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import NoReturn, Unpack

from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Refused
from django_agent_memory.text import gate
from django_agent_memory.text.rendering import one_line

from .gathering import Common, SourceMemory

PATTERNS = ("*.md", "*.markdown", "*.rst", "*.txt")
MAX_FILES = 10_000
MAX_BYTES = 1_000_000
MAX_SUMMARY = 200
"""Of what is taken for the summary, in code points."""

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_UNDERLINE = re.compile(r"[^\w\s]*$")


def text_folder(
    memory: SourceMemory,
    folder: str | PathLike[str],
    *,
    patterns: Sequence[str] = PATTERNS,
    prefix: str | None = None,
    max_bytes: int = MAX_BYTES,
    max_files: int = MAX_FILES,
    **common: Unpack[Common],
) -> None:
    """Store each file below `folder` whose name fits one of `patterns`.

    Its key is `prefix` (by default the folder's name and `/`) and its path; its contexts are its
    key and the folder that lies in; its summary is its first heading, else its first line. Hidden
    files and folders are left out, links to folders are not followed. What is empty, over
    `max_bytes`, no UTF-8 text or a link that leads outside is skipped and reported. Raises
    `Refused` where there is no such folder, where one in it cannot be read, and for more than
    `max_files` files.
    """
    root = Path(folder)
    if not root.is_dir():
        raise Refused(f"There is no folder {folder}.")
    root = root.resolve()
    start = f"{root.name}/" if prefix is None else prefix
    for number, path in enumerate(_files(root, patterns)):
        if number >= max_files:
            raise Refused(f"{folder} has more than {max_files} files; narrow it or its patterns.")
        key = start + path.relative_to(root).as_posix()
        try:
            gate.check_key(key, limit=conf.max_key_length)
            text = _text(path, root, max_bytes)
        except (Refused, _UnfitError) as problem:
            shown = key.encode(errors="backslashreplace").decode()
            memory.skip(f"{shown}: {problem}", key=key)
            continue
        contexts = [context for context in (key, key.rpartition("/")[0]) if context]
        memory.store(text, key=key, summary=summary_of(text), context=contexts, **common)


def summary_of(text: str) -> str:
    """Return the first heading of a Markdown text, else its first line with a word in it."""
    first = ""
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
            continue
        heading = None if fenced else _HEADING.match(line)
        if heading:
            return _cut(heading[1])
        if not first and not _UNDERLINE.match(line.strip()):
            first = line
    return _cut(first)


class _UnfitError(Exception):
    """Why a file is skipped."""


def _files(root: Path, patterns: Sequence[str]) -> Iterator[Path]:
    for folder, folders, names in os.walk(root, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and any(fnmatchcase(name, p) for p in patterns):
                yield Path(folder, name)


def _refuse(error: OSError) -> NoReturn:
    """Let no folder be passed over in silence: what is in it would be taken for removed."""
    raise Refused(f"{error.filename} cannot be read: {error.strerror or error}.") from None


def _text(path: Path, root: Path, max_bytes: int) -> str:
    """Return the text of a file, or raise `_UnfitError`."""
    try:
        target = path.resolve(strict=True)
        if not target.is_relative_to(root):
            raise _UnfitError("it is a link that leads outside.")
        if not stat.S_ISREG(target.stat().st_mode):
            raise _UnfitError("it is no file.")
        with target.open("rb") as file:
            raw = file.read(max_bytes + 1)
    except (OSError, RuntimeError) as error:  # Python before 3.13 raises the latter for a loop
        why = getattr(error, "strerror", None) or error
        raise _UnfitError(f"it cannot be read ({why}).") from None
    return _decoded(raw, max_bytes)


def _decoded(raw: bytes, max_bytes: int) -> str:
    if len(raw) > max_bytes:
        raise _UnfitError(f"it is larger than {max_bytes} bytes.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _UnfitError("it is not UTF-8 text.") from None
    if "\x00" in text:
        raise _UnfitError("it is binary.")
    if not text.strip():
        raise _UnfitError("it is empty.")
    if len(text) > conf.max_body_length:
        raise _UnfitError(f"it is longer than {conf.max_body_length} characters.")
    return text


def _cut(line: str) -> str:
    folded = one_line(line)
    return folded if len(folded) <= MAX_SUMMARY else folded[: MAX_SUMMARY - 1] + "…"
