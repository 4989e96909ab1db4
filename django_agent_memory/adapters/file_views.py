"""What a model reads of files and directories, to the character as the memory tool is documented.

An answer has at most 16,000 characters. Of a longer one the end is cut, and its last line says what
to ask for next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django_agent_memory.exceptions import Refused

from .memory_paths import is_hidden

LONGEST_VIEW = 16_000
MAX_LINES = 999_999
_LEVELS = 2
_ROOM = 200  # for the sentence that says what was cut
_AROUND = 2  # lines shown before and after the first changed one


def file_view(path: str, text: str, view_range: object) -> str:
    """Return the lines of a file with their numbers, or those of `view_range`."""
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        raise Refused(f"File {path} exceeds maximum line limit of {MAX_LINES:,} lines.")
    first, last = _bounds(view_range, len(lines))
    shown = _numbered(lines, first, last)
    return _cut(f"Here's the content of {path} with line numbers:", shown, first, len(lines))


def directory_view(path: str, files: Iterable[tuple[str, int]], view_range: object = None) -> str:
    """Return size and path of what a directory holds, two levels deep.

    `files` are the paths of all files below it, relative to it, with their sizes in bytes; each
    can be reached by a path.
    `view_range` are lines of the listing.
    """
    lines = _listed(path, files)
    first, last = _bounds(view_range, len(lines))
    header = (
        f"Here're the files and directories up to {_LEVELS} levels deep in {path}, "
        "excluding hidden items and node_modules:"
    )
    return _cut(header, lines[first - 1 : last], first, len(lines))


def snippet(text: str, line: int) -> str:
    """Return the numbered lines of `text` around the one with the index `line`."""
    lines = text.split("\n")
    first = max(1, line + 1 - _AROUND)
    shown = _numbered(lines, first, min(len(lines), line + 1 + _AROUND))
    return "\n".join(shown)


def _listed(path: str, files: Iterable[tuple[str, int]]) -> list[str]:
    total = 0
    found: dict[tuple[tuple[str, ...], bool], int] = {}
    for name, size in files:
        parts = tuple(name.split("/"))
        if any(map(is_hidden, parts)):
            continue
        total += size
        for depth in range(1, min(len(parts) - 1, _LEVELS) + 1):
            directory = (parts[:depth], True)
            found[directory] = found.get(directory, 0) + size
        if len(parts) <= _LEVELS:
            found[parts, False] = size
    entries = (
        f"{_size(size)}\t{path}/{'/'.join(parts)}{'/' if is_directory else ''}"
        for (parts, is_directory), size in sorted(found.items())
    )
    return [f"{_size(total)}\t{path}", *entries]


def _numbered(lines: Sequence[str], first: int, last: int) -> list[str]:
    shown = lines[first - 1 : last]
    return [f"{number:>6}\t{line}" for number, line in enumerate(shown, start=first)]


def _bounds(view_range: object, count: int) -> tuple[int, int]:
    """Return first and last line, from 1; what lies beyond the end is not asked for."""
    if view_range is None:
        return 1, count
    numbers = list(view_range) if isinstance(view_range, (list, tuple)) else []
    if len(numbers) != 2 or any(type(number) is not int for number in numbers):
        raise Refused("Invalid `view_range`. It should be a list of two integers.")
    first, last = max(1, numbers[0]), count if numbers[1] == -1 else min(numbers[1], count)
    if first > count:
        raise Refused(
            f"Invalid `view_range`: {numbers}. Its first element `{numbers[0]}` should be within "
            f"the range of lines of the file: [1, {count}]"
        )
    if last < first:
        raise Refused(
            f"Invalid `view_range`: {numbers}. Its second element `{numbers[1]}` should be larger "
            f"or equal than its first `{numbers[0]}`"
        )
    return first, last


def _cut(header: str, lines: list[str], first: int, count: int) -> str:
    """Return header and lines; `first` is the number of the first of them, of `count` in all."""
    whole = "\n".join([header, *lines])
    if len(whole) <= LONGEST_VIEW:
        return whole
    room = LONGEST_VIEW - _ROOM - len(header)
    shown: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    cut_inside = not shown
    if cut_inside:
        shown = [lines[0][: room + len(lines[0])]]
    last = first + len(shown) - 1
    said = f"Line {last} is longer than a view and is cut" if cut_inside else "The view is cut here"
    if last < count:
        said += f"; for the lines after it ask for view_range [{last + 1}, {count}]"
    return "\n".join([header, *shown, f"[{said}.]"])


def _size(count: int) -> str:
    """Return a number of bytes as people read it: 0B, 512B, 1.5K, 2M."""
    power = min(max(count.bit_length() - 1, 0) // 10, 3)
    amount = count / 1024**power
    return f"{amount:.0f}{'BKMG'[power]}" if amount.is_integer() else f"{amount:.1f}{'BKMG'[power]}"
