"""What a source is given: it takes what is stored and writes it in chunks."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable
from typing import Any, TypedDict, Unpack

from django.db import router

from django_agent_memory import writing
from django_agent_memory.exceptions import Refused
from django_agent_memory.memory import Memory
from django_agent_memory.models import Note, Workspace
from django_agent_memory.results import Outcome, Remembered

_CHUNK = 500
_CHUNK_CHARACTERS = 2_000_000

Progress = Callable[[int], None]
"""Is called with the number of notes done so far, after each chunk."""


class Common(TypedDict, total=False):
    """What a built-in source says of all that it stores."""

    kind: str
    slot: str
    subject: str
    weight: float


class Given(Common, total=False):
    """What a source may say of a note, as of `Memory.store`; which source it is, is known."""

    context: writing.Contexts
    happened_at: datetime.datetime | None
    expires_at: datetime.datetime | None


class SourceMemory:
    """The memory of a workspace as a source sees it: `store()`, and `memory` to read.

    Stores are written 500 at a time, each chunk whole or not at all. With `dry_run` each is decided
    as it would be, and undone.
    """

    def __init__(
        self,
        workspace: str | Workspace,
        source: str,
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.source = source
        self.dry_run = dry_run
        self.actor = f"source:{source}"
        self.memory = Memory(workspace, actor=self.actor, read_only=True)
        self.path = self.memory.path
        self.counts: Counter[str] = Counter()
        self.skipped: list[str] = []
        self._progress = progress
        self._pending: list[writing.Change] = []
        self._characters = 0
        self._stored: dict[str, int] = {}
        self._keys: set[str] = set()

    def store(
        self,
        content: Any,
        *,
        key: str | None = None,
        summary: str | None = None,
        **known: Unpack[Given],
    ) -> None:
        """Store knowledge as `Memory.store` does, signed by this source; what it says is in counts.

        Of the same knowledge without a key only the first counts in one run. Raises `Refused` for
        what can never be stored, and for a key that was stored in this run with something else.
        """
        change = writing.Store(body=content, key=key, summary=summary, source=self.source, **known)
        checked = writing.check(change)
        if self._is_repeated(key, checked):
            return
        self._pending.append(change)
        self._characters += len(checked.text or "") + len(checked.summary or "")
        if len(self._pending) >= _CHUNK or self._characters >= _CHUNK_CHARACTERS:
            self.flush()

    def skip(self, sentence: str, *, key: str | None = None) -> None:
        """Report what cannot be stored. The note under `key` is then not taken for removed."""
        self.skipped.append(sentence)
        if key is not None:
            self._keys.add(key)

    def flush(self) -> None:
        """Write what waits to be written."""
        if not self._pending:
            return
        outcomes = self._apply(self._pending)
        self._pending, self._characters = [], 0
        for outcome in outcomes:
            if isinstance(outcome, Remembered):
                self.counts[outcome.outcome] += 1
                self._keys.add(outcome.key)
        if self._progress is not None:
            self._progress(self.counts.total())

    def forget_missing(self) -> None:
        """Forget what the source stored before and has not stored now; all of it or nothing."""
        self.flush()

        def attempt() -> int:
            drops = self._missing()
            if drops:
                self._apply(drops, reason="No longer in the source.")
            return len(drops)

        if removed := writing.replanned(attempt):
            self.counts["removed"] += removed

    def _is_repeated(self, key: str | None, checked: Any) -> bool:
        identity = f"\x00{checked.fingerprint}" if key is None else key
        says = hash((checked.text, checked.is_json, checked.summary, checked.given))
        if identity not in self._stored:
            self._stored[identity] = says
            return False
        if key is not None and self._stored[identity] != says:
            raise Refused(f'The source stores two different things under "{key}".')
        return True

    def _missing(self) -> list[writing.Change]:
        alias = router.db_for_write(Note)
        notes = Note.objects.using(alias).filter(
            workspace__path=self.path, source=self.source, session=""
        )
        rows = notes.live().order_by("key").values_list("key", "revision")
        return [
            writing.Drop(key=key, expected_revision=revision)
            for key, revision in rows.iterator(chunk_size=2_000)
            if key not in self._keys
        ]

    def _apply(self, changes: list[writing.Change], *, reason: str = "") -> list[Outcome]:
        if not self.dry_run:
            return writing.apply(self.path, changes, actor=self.actor, reason=reason)
        try:
            writing.apply(self.path, changes, actor=self.actor, reason=reason, then=_undo)
        except _UndoneError as undone:
            return undone.outcomes
        return []


class _UndoneError(Exception):
    """Raised at the end of a write to undo it; carries what it would have done."""

    def __init__(self, outcomes: list[Outcome]) -> None:
        super().__init__()
        self.outcomes = outcomes


def _undo(_workspace: Workspace, outcomes: list[Outcome]) -> None:
    raise _UndoneError(outcomes)
