"""The every-turn layer: the index as lines and as the text that goes into a model's context.

The text is kept in Django's cache with the workspace's index version, which is new whenever the
text changes; an unchanged index costs one read of the workspace row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from django.core.cache import BaseCache, caches
from django.db import connections
from django.db.models import QuerySet

from django_agent_memory import large_texts
from django_agent_memory.conf import conf
from django_agent_memory.models import IndexEntry, Workspace
from django_agent_memory.results import Index, IndexLine, Listing
from django_agent_memory.streaming import stream
from django_agent_memory.text import rendering


def read_index(path: str, *, using: str) -> Index:
    """Return the workspace's index text with its version; one statement, two when it changed."""
    row = (
        Workspace.objects.using(using)
        .filter(path=path)
        .values_list("index_version", "index_budget", "revision")
        .first()
    )
    if row is None:
        return Index(text="", version="", workspace_revision=0)
    version, _budget, revision = row
    known = _known(path, version)
    return Index(
        text=_built(path, row, using) if known is None else known,
        version=version,
        workspace_revision=revision,
    )


def read_version(path: str, *, using: str) -> tuple[str, int]:
    """Return the version of the index text ("" for no workspace) and the workspace's revision."""
    row = (
        Workspace.objects.using(using)
        .filter(path=path)
        .values_list("index_version", "revision")
        .first()
    )
    return row or ("", 0)


def index_lines(path: str, *, using: str) -> tuple[IndexLine, ...]:
    """Return every entry of the workspace's index in key order, whatever its budget."""
    return tuple(
        IndexLine(key=key, summary=summary, line=rendering.index_line(key, summary))
        for key, summary in _entries(path, using)
    )


def listing(path: str, *, using: str) -> Listing:
    """Return every entry of the index with the workspace's revision."""
    return Listing(
        lines=index_lines(path, using=using),
        workspace_revision=Workspace.objects.using(using).last_revision(path),
    )


def forget_text(path: str) -> None:
    """Take the text of the workspace's index out of the cache."""
    large_texts.forget(_name(path))
    cache = _cache()
    if cache is not None:
        cache.delete(_name(path))


def _known(path: str, version: str) -> str | None:
    """Return the cached text of that version, None if there is none."""
    cache, name = _cache(), _name(path)
    if cache is None:
        return None
    at_hand = large_texts.find(name, version)
    if at_hand is not None:
        return at_hand
    # One entry a workspace, whatever its versions: what is erased has no older copy there.
    known, text = cache.get(name) or ("", "")
    if known != version:
        return None
    large_texts.keep(name, version, text)
    return str(text)


def _built(path: str, row: tuple[str, int | None, int], using: str) -> str:
    """Return the text made of the entries, which the cache keeps."""
    version, budget, revision = row
    entries = _Entries(path, using, budget=budget, revision=revision)
    text = rendering.index_text(entries, budget=budget, count=entries.count)
    cache = _cache()
    # Inside a transaction these may be rows that nobody else will ever see.
    if cache is not None and not connections[using].in_atomic_block:
        cache.set(_name(path), (version, text), conf.index_cache_seconds)
        large_texts.keep(_name(path), version, text)
    return text


class _Entries:
    """The entries that a text may show, read while it is made, and the number of all."""

    def __init__(self, path: str, using: str, *, budget: int | None, revision: int) -> None:
        self._all = _entries(path, using)
        # Every entry took a revision.
        most = revision if budget is None else min(revision, rendering.too_many(budget))
        rows = self._all if budget is None else self._all[: rendering.too_many(budget)]
        self._reading = stream(rows, at_most=most)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return self._reading

    def count(self) -> int:
        """Return the number of all entries, and read no more of them."""
        self._reading.close()
        return self._all.count()


def _entries(path: str, using: str) -> QuerySet[IndexEntry, Any]:
    entries = IndexEntry.objects.using(using).filter(workspace__path=path)
    return entries.order_by("key").values_list("key", "summary")


def _name(path: str) -> str:
    """Return the cache's name for the workspace: digested, as caches take short plain names."""
    return f"agent_memory.index.{hashlib.sha256(path.encode()).hexdigest()}"


def _cache() -> BaseCache | None:
    alias = conf.index_cache_alias
    return None if alias is None else caches[alias]
