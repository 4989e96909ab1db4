"""The every-turn layer: the index as lines and as the text that goes into a model's context.

The text is kept in Django's cache with its version, which is new whenever the text changes; an
unchanged index costs one read of the workspace row.

A note that expires takes its line with it, and no write says so. So the version of the text is that
of the workspace, new with each write that may change the text, and the latest of the expiries that
are past: of the same rows the same lines are left as long as no other expiry passes. The text is
still a function of rows and version alone, and a version that was left never comes back.

A session sees its own lines as well. How many notes it has and the last revision among them then
belong to the version: with no later write those notes can only become fewer.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from django.core.cache import BaseCache, caches
from django.db import connections
from django.db.models import Count, Max, OuterRef, QuerySet, Subquery
from django.utils import timezone

from django_agent_memory import large_texts
from django_agent_memory.conf import conf
from django_agent_memory.models import IndexEntry, Note, Workspace
from django_agent_memory.results import Index, IndexLine, Listing
from django_agent_memory.streaming import stream
from django_agent_memory.text import rendering


def read_index(path: str, *, using: str, session: str = "") -> Index:
    """Return the index text, as the session sees it, with its version.

    One statement, two when the text changed. Where the session has notes to itself, two: such a
    text is its alone and not cached.
    """
    now = timezone.now()
    workspaces = _workspace(path, using, now, session)
    row = workspaces.values_list("index_budget", *_version_of(session), "revision").first()
    if row is None:
        return Index(text="", version="", workspace_revision=0)
    budget, *parts, revision = row
    version = _version(*parts)
    is_shared = not any(parts[len(_VERSION) :])
    known = _known(path, version) if is_shared else None
    if known is None:
        seen_in = "" if is_shared else session
        entries = _Entries(_entries(path, using, now, seen_in), budget=budget, revision=revision)
        known = _built(path, version, entries, using, keep=is_shared)
    return Index(text=known, version=version, workspace_revision=revision)


def read_head(workspace: Workspace, *, using: str, most: int) -> tuple[str, bool]:
    """Return as many whole lines of the index as fit into `most` cp, and whether that is all.

    The budget of the workspace is not looked at. One statement, and no more rows than it shows.
    """
    entries = index_entries(workspace.path, using=using)[: rendering.too_many(most)]
    with closing(stream(entries, at_most=rendering.too_many(most))) as rows:
        return rendering.index_head(rows, most)


def index_entries(path: str, *, using: str) -> QuerySet[IndexEntry, Any]:
    """Return key and summary of the entries that all share, in key order."""
    return _entries(path, using, timezone.now(), "")


def read_version(path: str, *, using: str, session: str = "") -> tuple[str, int]:
    """Return the version of the index text ("" for no workspace) and the workspace's revision."""
    workspaces = _workspace(path, using, timezone.now(), session)
    row = workspaces.values_list(*_version_of(session), "revision").first()
    if row is None:
        return "", 0
    *parts, revision = row
    return _version(*parts), revision


def index_lines(path: str, *, using: str, session: str = "") -> tuple[IndexLine, ...]:
    """Return every entry of the workspace's index in key order, whatever its budget."""
    return tuple(
        IndexLine(key=key, summary=summary, line=rendering.index_line(key, summary))
        for key, summary in _entries(path, using, timezone.now(), session)
    )


def listing(path: str, *, using: str, session: str = "") -> Listing:
    """Return every entry of the index with the workspace's revision."""
    return Listing(
        lines=index_lines(path, using=using, session=session),
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


def _workspace(
    path: str, using: str, now: datetime.datetime, session: str
) -> QuerySet[Workspace, Any]:
    """Return the workspace with `expired`: the latest shared expiry that is past, None for none.

    With a session, also with how many notes it has to itself, and the last revision among them.
    """
    notes = Note.objects.filter(workspace=OuterRef("pk"))
    expired = notes.filter(session="").expired(now).order_by("-expires_at")
    latest = Subquery(expired.values("expires_at")[:1])
    workspaces = Workspace.objects.using(using).filter(path=path).annotate(expired=latest)
    if not session:
        return workspaces
    # Grouped by what they have in common, to be one row; none where there are none.
    own = notes.filter(session=session).live(now, session=session).order_by().values("session")
    return workspaces.annotate(
        own=Subquery(own.annotate(n=Count("pk")).values("n")),
        own_last=Subquery(own.annotate(last=Max("revision")).values("last")),
    )


_VERSION = ("index_version", "expired")


def _version_of(session: str) -> tuple[str, ...]:
    return (*_VERSION, "own", "own_last") if session else _VERSION


def _version(
    written: str,
    expired: datetime.datetime | None,
    own: int | None = None,
    own_last: int | None = None,
) -> str:
    """Return the version of the text: see the module."""
    shared = written if expired is None else f"{written}.{expired:%Y%m%d%H%M%S%f}"
    return f"{shared}.{own_last}-{own}" if own else shared


def _built(path: str, version: str, entries: _Entries, using: str, *, keep: bool) -> str:
    """Return the text made of the entries, which the cache is to `keep`."""
    text = rendering.index_text(entries, budget=entries.budget, count=entries.count)
    cache = _cache() if keep else None
    # Inside a transaction these may be rows that nobody else will ever see.
    if cache is not None and not connections[using].in_atomic_block:
        cache.set(_name(path), (version, text), conf.index_cache_seconds)
        large_texts.keep(_name(path), version, text)
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


def _entries(
    path: str, using: str, now: datetime.datetime, session: str
) -> QuerySet[IndexEntry, Any]:
    """Return the entries, but those of notes that have expired or are another session's."""
    notes = Note.objects.filter(workspace__path=path)
    expired = notes.filter(session__in={"", session}).expired(now)
    foreign = notes.private().exclude(session=session)
    of_workspace = IndexEntry.objects.using(using).filter(workspace__path=path)
    entries = of_workspace.exclude(key__in=expired.values("key"))
    entries = entries.exclude(key__in=foreign.values("key"))
    return entries.order_by("key").values_list("key", "summary")


def _name(path: str) -> str:
    """Return the cache's name for the workspace: digested, as caches take short plain names."""
    return f"agent_memory.index.{hashlib.sha256(path.encode()).hexdigest()}"


def _cache() -> BaseCache | None:
    alias = conf.index_cache_alias
    return None if alias is None else caches[alias]
