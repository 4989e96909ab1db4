"""Line ends: a browser sends every one of them as CRLF, whatever the text it was given had."""

from __future__ import annotations

import re
from collections import Counter
from itertools import takewhile

_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")


def plain(text: str) -> str:
    """Return `text` with LF for every CRLF and CR."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def dropped(text: str) -> str:
    """Return `text` without its line ends, as an input of one line sends it."""
    return text.replace("\r", "").replace("\n", "")


def lines(text: str) -> list[tuple[str, str]]:
    """Return the lines of `text`, each with the line end it has ("" after the last)."""
    found = [(match[1], match[2]) for match in _LINE.finditer(text)]
    # Behind a last line that is not empty, the pattern matches the empty end once more.
    return found[:-1] if len(found) > 1 and found[-2][1] == "" else found


def restored(submitted: str, stored: str) -> str:
    """Return what a person submitted with the line ends of the `stored` text they were shown.

    Lines before and after the edited part keep their own; the edited part gets the one that is the
    most frequent in the stored text, LF where that has none. An untouched text comes back as it is.
    """
    if plain(submitted) == plain(stored):
        return stored
    new, old = lines(plain(submitted)), lines(stored)
    shorter = min(len(new), len(old))
    head = _common(new, old, shorter)
    tail = _common(new[::-1], old[::-1], shorter - head)
    edited = slice(head, len(new) - tail)
    usual = _usual_end(old)
    kept = [
        *_with_ends(new[:head], old[:head], usual),
        *((line, usual if end else "") for line, end in new[edited]),
        *_with_ends(new[edited.stop :], old[len(old) - tail :], usual),
    ]
    text = "".join(line + end for line, end in kept)
    # A CR kept in front and an LF kept behind an emptied part would join to one line end.
    if plain(text) != plain(submitted):
        text = plain(submitted).replace("\n", usual)
    return text


def _common(new: list[tuple[str, str]], old: list[tuple[str, str]], most: int) -> int:
    pairs = zip(new[:most], old[:most], strict=True)
    return sum(1 for _ in takewhile(lambda pair: pair[0][0] == pair[1][0], pairs))


def _with_ends(
    new: list[tuple[str, str]], old: list[tuple[str, str]], usual: str
) -> list[tuple[str, str]]:
    """Give each new line the end of its old one; the last of a text has none, any other has one."""
    return [
        (line, (old_end or usual) if end else "")
        for (line, end), (_, old_end) in zip(new, old, strict=True)
    ]


def _usual_end(old: list[tuple[str, str]]) -> str:
    ends = Counter(end for _, end in old if end)
    return ends.most_common(1)[0][0] if ends else "\n"
