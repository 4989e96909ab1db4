"""The every-turn layer: the index as lines and as the text that goes into a model's context.

The text is kept in Django's cache with its version, which is new whenever the text changes; an
unchanged index costs one read of the workspace row.

A note that expires takes its line with it, and no write says so. So the version of the text is that
of the workspace, new with each write that may change the text, and the latest of the expiries that
are past: of the same rows the same lines are left as long as no other expiry passes. The text is
still a function of rows and version alone, and a version that was left never comes back.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterator
from typing import Any

from django.core.cache import BaseCache, caches
from django.db import connections
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from django_agent_memory.conf import conf
from django_agent_memory.models import IndexEntry, Note, Workspace
from django_agent_memory.results import Index, IndexLine, Listing
from django_agent_memory.streaming import stream
from django_agent_memory.text import rendering


def read_index(path: str, *, using: str) -> Index:
    """Return the workspace's index text with its version; one statement, two when it changed."""
    now = timezone.now()
    row = _workspace(path, using, now).values_list("index_budget", *_VERSION, "revision").first()
    if row is None:
        return Index(text="", version="", workspace_revision=0)
    budget, *parts, revision = row
    version = _version(*parts)
    known = _known(path, version)
    if known is None:
        entries = _Entries(_entries(path, using, now), budget=budget, revision=revision)
        known = _built(path, version, entries, using)
    return Index(text=known, version=version, workspace_revision=revision)


def read_version(path: str, *, using: str) -> tuple[str, int]:
    """Return the version of the index text ("" for no workspace) and the workspace's revision."""
    row = _workspace(path, using, timezone.now()).values_list(*_VERSION, "revision").first()
    if row is None:
        return "", 0
    *parts, revision = row
    return _version(*parts), revision


def index_lines(path: str, *, using: str) -> tuple[IndexLine, ...]:
    """Return every entry of the workspace's index in key order, whatever its budget."""
    return tuple(
        IndexLine(key=key, summary=summary, line=rendering.index_line(key, summary))
        for key, summary in _entries(path, using, timezone.now())
    )


def listing(path: str, *, using: str) -> Listing:
    """Return every entry of the index with the workspace's revision."""
    return Listing(
        lines=index_lines(path, using=using),
        workspace_revision=Workspace.objects.using(using).last_revision(path),
    )


def forget_text(path: str) -> None:
    """Take the text of the workspace's index out of the cache."""
    cache = _cache()
    if cache is not None:
        cache.delete(_name(path))


def _known(path: str, version: str) -> str | None:
    """Return the cached text of that version, None if there is none."""
    cache = _cache()
    # One entry a workspace, whatever its versions: what is erased has no older copy there.
    known, text = (cache.get(_name(path)) if cache is not None else None) or ("", "")
    return str(text) if known == version else None


def _workspace(path: str, using: str, now: datetime.datetime) -> QuerySet[Workspace, Any]:
    """Return the workspace with `expired`: the latest expiry that is past, None for none."""
    expired = Note.objects.filter(workspace=OuterRef("pk")).expired(now).order_by("-expires_at")
    latest = Subquery(expired.values("expires_at")[:1])
    return Workspace.objects.using(using).filter(path=path).annotate(expired=latest)


_VERSION = ("index_version", "expired")


def _version(written: str, expired: datetime.datetime | None) -> str:
    """Return the version of the text: see the module."""
    return written if expired is None else f"{written}.{expired:%Y%m%d%H%M%S%f}"


def _built(path: str, version: str, entries: _Entries, using: str) -> str:
    """Return the text made of the entries, which the cache keeps."""
    text = rendering.index_text(entries, budget=entries.budget, count=entries.count)
    cache = _cache()
    # Inside a transaction these may be rows that nobody else will ever see.
    if cache is not None and not connections[using].in_atomic_block:
        cache.set(_name(path), (version, text), conf.index_cache_seconds)
    return text


class _Entries:
    """The entries that a text may show, read while it is made, and the number of all."""

    def __init__(
        self, entries: QuerySet[IndexEntry, Any], *, budget: int | None, revision: int
    ) -> None:
        self._all = entries
        self.budget = budget
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


def _entries(path: str, using: str, now: datetime.datetime) -> QuerySet[IndexEntry, Any]:
    """Return the entries, but those of notes that have expired."""
    expired = Note.objects.filter(workspace__path=path).expired(now).values("key")
    of_workspace = IndexEntry.objects.using(using).filter(workspace__path=path)
    entries = of_workspace.exclude(key__in=expired)
    return entries.order_by("key").values_list("key", "summary")


def _name(path: str) -> str:
    """Return the cache's name for the workspace: digested, as caches take short plain names."""
    return f"agent_memory.index.{hashlib.sha256(path.encode()).hexdigest()}"


def _cache() -> BaseCache | None:
    alias = conf.index_cache_alias
    return None if alias is None else caches[alias]
