"""The large index texts that this process used last, beside Django's cache.

A cache copies what it hands out, which for the ten million characters of 100,000 lines costs a
dozen times the read of the version. A text is good for the version it was made for and no other.
"""

from __future__ import annotations

LARGE = 100_000
"""Characters from which on a text is kept here: shorter ones a cache hands out as quickly."""

MOST = 4
"""Workspaces whose text is kept."""

_texts: dict[str, tuple[str, str]] = {}


def find(name: str, version: str) -> str | None:
    """Return the text of that version under the name, None if it is not kept."""
    known, text = _texts.get(name, ("", ""))
    return text if known == version else None


def keep(name: str, version: str, text: str) -> None:
    """Keep the text if it is large, instead of its workspace's older one or of the oldest."""
    _texts.pop(name, None)
    if len(text) < LARGE:
        return
    _texts[name] = (version, text)
    for oldest in list(_texts)[:-MOST]:
        _texts.pop(oldest, None)


def forget(name: str) -> None:
    """Let go of the text under the name."""
    _texts.pop(name, None)
