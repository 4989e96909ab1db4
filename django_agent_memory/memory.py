"""`Memory`: every verb of the package, for Python callers and for every edge."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

from asgiref.sync import sync_to_async
from django.db import router

from . import index, search, writing
from .conf import conf
from .models import Note, Revision, Workspace
from .models.note import NoteQuerySet, body_value
from .results import (
    Forgot,
    Index,
    IndexLine,
    Outcome,
    Recalled,
    Remembered,
    Revised,
    SearchResult,
    WasAbsent,
)
from .text import gate

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _twin(
    verb: Callable[Concatenate[Memory, _P], _R],
) -> Callable[Concatenate[Memory, _P], Coroutine[Any, Any, _R]]:
    """Return the async form of a verb: the whole unit in one thread, its transaction included."""

    async def twin(self: Memory, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        result: _R = await sync_to_async(getattr(self, verb.__name__))(*args, **kwargs)
        return result

    update_wrapper(twin, verb)
    return twin


class Memory:
    """The memory of one workspace.

    `workspace` is a path or a `Workspace`; it is made by the first write. `actor` (≤ 255 cp) signs
    the revisions. `using` pins a database alias; without it Django's routers choose. Every verb
    has an async twin: `await memory.aremember(…)`.

    All verbs raise `Refused` for input that can never be accepted. Writes raise `Busy` when the
    database stays locked, and are all or nothing. Reads never fail over what is stored.
    """

    def __init__(
        self, workspace: str | Workspace, *, actor: str = "", using: str | None = None
    ) -> None:
        path = workspace.path if isinstance(workspace, Workspace) else workspace
        self.path = gate.check_path(path)
        self.actor = gate.check_text(actor, name="actor", limit=writing.MAX_ACTOR_LENGTH)
        self.using = using

    def __repr__(self) -> str:
        return f"Memory({self.path!r}, actor={self.actor!r})"

    # Writes

    def remember(
        self,
        key: str,
        summary: str | None,
        body: Any,
        *,
        expected_revision: int | None = None,
        reason: str = "",
    ) -> Remembered:
        """Store `body` (text or any JSON value) under `key`, with its one-line `summary`.

        `summary=None` keeps the note out of the index. What is already exactly so is left alone.
        `expected_revision` is the note's own last revision, 0 for "must not exist"; where it does
        not hold, `Conflict` is raised.
        """
        save = writing.Save(
            key=key, summary=summary, body=body, expected_revision=expected_revision
        )
        (outcome,) = self.apply([save], reason=reason)
        assert isinstance(outcome, Remembered)  # noqa: S101
        return outcome

    def forget(
        self, key: str, *, expected_revision: int | None = None, reason: str = ""
    ) -> Forgot | WasAbsent:
        """Remove the note and the index entry under exactly `key`; its history stays."""
        drop = writing.Drop(key=key, expected_revision=expected_revision)
        (outcome,) = self.apply([drop], reason=reason)
        if isinstance(outcome, WasAbsent):
            return WasAbsent(
                key=key,
                suggestions=self.near_keys(key),
                workspace_revision=outcome.workspace_revision,
            )
        assert isinstance(outcome, Forgot)  # noqa: S101
        return outcome

    def apply(self, changes: Iterable[writing.Change], *, reason: str = "") -> list[Outcome]:
        """Write several changes in one critical section, all or nothing; return an outcome each."""
        return writing.apply(self.path, changes, actor=self.actor, reason=reason, using=self.using)

    def configure(self, **values: Unpack[writing.WorkspaceValues]) -> Workspace:
        """Set `title`, `description` or `index_budget` of the workspace and return it."""
        return writing.configure(self.path, using=self.using, **values)

    # Reads

    def recall(self, key: str) -> Recalled | None:
        """Return the note under exactly `key`, or None."""
        gate.check_key(key, limit=conf.max_key_length)
        row = (
            self._notes()
            .filter(workspace__path=self.path, key=key)
            .values_list(
                "body",
                "body_is_json",
                "entry__summary",
                "revision",
                "created_at",
                "updated_at",
                "workspace__revision",
            )[:1]
        )
        for text, is_json, summary, revision, created_at, updated_at, workspace_revision in row:
            return Recalled(
                key=key,
                body=body_value(text, is_json=is_json),
                text=text,
                summary=summary,
                revision=revision,
                created_at=created_at,
                updated_at=updated_at,
                workspace_revision=workspace_revision,
            )
        return None

    def list_memories(self) -> tuple[IndexLine, ...]:
        """Return every index entry, in key order."""
        return index.index_lines(self.path, using=self._reads_from())

    def search(self, pattern: str) -> SearchResult:
        """Return the first 8 notes whose key, summary or body contains `pattern`, and the total."""
        return search.search(self.path, pattern, using=self._reads_from())

    def index_note(self) -> str:
        """Return what goes into the model's context on every turn; "" while there is nothing."""
        return self.index().text

    def index(self) -> Index:
        """Return the index text with its version and the workspace's revision."""
        return index.read_index(self.path, using=self._reads_from())

    def index_version(self) -> tuple[str, int]:
        """Return the version of the index text and the workspace's revision; makes no text."""
        return index.read_version(self.path, using=self._reads_from())

    def keys(self, prefix: str = "") -> tuple[str, ...]:
        """Return the keys of all notes that start with exactly `prefix`, in key order."""
        gate.check_text(prefix, name="prefix", limit=conf.max_key_length)
        notes = self._notes().filter(workspace__path=self.path).with_prefix(prefix)
        return tuple(notes.order_by("key").values_list("key", flat=True))

    def history(self, key: str) -> tuple[Revised, ...]:
        """Return every revision of `key`, oldest first."""
        gate.check_key(key, limit=conf.max_key_length)
        revisions = (
            Revision.objects.using(self._reads_from())
            .filter(workspace__path=self.path, key=key)
            .order_by("number")
        )
        return tuple(
            Revised(
                number=revision.number,
                operation=revision.operation,
                key=revision.key,
                summary=revision.summary,
                body=revision.value,
                actor=revision.actor,
                reason=revision.reason,
                created_at=revision.created_at,
            )
            for revision in revisions
        )

    def near_keys(self, key: str) -> tuple[str, ...]:
        """Return up to 3 stored keys that may be meant by one that is not stored."""
        gate.check_key(key, limit=conf.max_key_length)
        return search.near_keys(self.path, key, using=self._reads_from())

    def revision(self) -> int:
        """Return the number of the workspace's last revision, 0 before the first write."""
        rows = Workspace.objects.using(self._reads_from()).filter(path=self.path)
        return rows.values_list("revision", flat=True).first() or 0

    def _notes(self) -> NoteQuerySet:
        return Note.objects.using(self._reads_from())

    def _reads_from(self) -> str:
        return self.using or router.db_for_read(Note)

    # Async twins

    aremember = _twin(remember)
    aforget = _twin(forget)
    aapply = _twin(apply)
    aconfigure = _twin(configure)
    arecall = _twin(recall)
    alist_memories = _twin(list_memories)
    asearch = _twin(search)
    aindex_note = _twin(index_note)
    aindex = _twin(index)
    aindex_version = _twin(index_version)
    akeys = _twin(keys)
    ahistory = _twin(history)
    anear_keys = _twin(near_keys)
    arevision = _twin(revision)
