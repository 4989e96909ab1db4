"""A `MemoryStore` of pydantic-ai-harness over a `Memory`.

`Agent(…, capabilities=[harness.Memory(NoteStore(memory))])`. Needs `pydantic-ai-harness`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import sha256
from typing import Any

from asgiref.sync import sync_to_async
from django.db import router
from pydantic_ai_harness.memory import (
    MemoryConflictError,
    MemoryFile,
    MemoryMutation,
    MemoryOperation,
    MemoryOperationConflictError,
    MemorySearchResult,
)

from django_agent_memory import journal
from django_agent_memory.exceptions import Conflict, Pruned, ReplayMismatch
from django_agent_memory.memory import Memory
from django_agent_memory.models import RecordedCall
from django_agent_memory.results import Forgot, Outcome, Remembered
from django_agent_memory.text import gate
from django_agent_memory.writing import Change, Drop

from .literal_search import search
from .summaries import saved

_CALLER = "pydantic-ai"
_REASON = "operation "
_SEGMENT = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_VERSION = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)


class NoteStore:
    """Files are notes, under their paths as keys (≤ 512 characters); versions are revisions.

    Version and operation are checked under the lock of the workspace. An operation (its id ≤ 243
    characters) is done once, whoever asks again: its receipt is a recorded call, written in the
    transaction of what it did. A write of what is there already writes nothing and keeps its
    version. Notes under keys that are no paths are not there.

    Without a summary of its own a file is known to the index by its first line.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.memory!r})"

    async def read(self, path: str, *, max_chars: int) -> MemoryFile | None:
        """Return the file with at most `max_chars` of its text, None if it is not there."""
        _check_path(path)
        _check_positive("max_chars", max_chars)
        return await sync_to_async(self._read)(path, max_chars)

    async def get_operation(self, operation: MemoryOperation) -> MemoryMutation | None:
        """Return what the operation did, None if it was not done.

        Raises `MemoryOperationConflictError` if its id names another one.
        """
        return await sync_to_async(self._receipt)(operation)

    async def write(
        self,
        path: str,
        content: str,
        *,
        expected_version: str | None,
        operation: MemoryOperation | None = None,
    ) -> MemoryMutation:
        """Write the file if its version is `expected_version`, None for "must not exist"."""
        _check_path(path)
        return await sync_to_async(self._write)(path, content, expected_version, operation)

    async def delete(
        self,
        path: str,
        *,
        expected_version: str | None,
        operation: MemoryOperation | None = None,
    ) -> MemoryMutation:
        """Delete the file if its version is `expected_version`; its history stays."""
        _check_path(path)
        return await sync_to_async(self._delete)(path, expected_version, operation)

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        """Return the first `limit` paths that start with `prefix`, in order."""
        _check_prefix(prefix)
        _check_positive("limit", limit)
        keys = await self.memory.akeys(prefix)
        return [key for key in keys if _is_path(key)][:limit]

    async def search(
        self,
        prefix: str,
        query: str,
        *,
        limit: int,
        max_files: int,
        max_chars: int,
        max_file_chars: int,
    ) -> MemorySearchResult:
        """Return the files directly below `prefix` that the words of the query stand in."""
        _check_prefix(prefix)
        if not query.split() or min(limit, max_files, max_chars, max_file_chars) <= 0:
            return MemorySearchResult(matches=[], scanned=0, truncated=False)
        bounds = {"limit": limit, "max_files": max_files, "max_chars": max_chars}
        return await sync_to_async(self._search)(prefix, query, max_file_chars, bounds)

    def _read(self, path: str, max_chars: int) -> MemoryFile | None:
        found = self.memory.recall(path)
        if found is None:
            return None
        return MemoryFile(
            content=found.text[:max_chars],
            version=str(found.revision),
            operation_id=self._written_by(path, found.revision),
            truncated=len(found.text) > max_chars,
        )

    def _written_by(self, path: str, revision: int) -> str | None:
        """Return the id of the operation that wrote a revision, None for any other writer."""
        try:
            written = self.memory.as_of(path, revision)
        except Pruned:
            return None
        if written is None or not written.reason.startswith(_REASON):
            return None
        return written.reason.removeprefix(_REASON)

    def _write(
        self, path: str, content: str, version: str | None, operation: MemoryOperation | None
    ) -> MemoryMutation:
        receipt = self._receipt(operation)
        if receipt is not None:
            return receipt
        found = self.memory.recall(path)
        if version != (None if found is None else str(found.revision)):
            return self._conflict(path, operation)
        return self._apply(saved(path, found, content), operation)

    def _delete(
        self, path: str, version: str | None, operation: MemoryOperation | None
    ) -> MemoryMutation:
        receipt = self._receipt(operation)
        if receipt is not None:
            return receipt
        if version is not None and not _VERSION.fullmatch(version):
            return self._conflict(path, operation)
        return self._apply(Drop(key=path, expected_revision=int(version or 0)), operation)

    def _apply(self, change: Change, operation: MemoryOperation | None) -> MemoryMutation:
        """Make the change, or return what the operation did meanwhile."""
        memory, reason = self.memory, ""
        if operation is not None:
            memory, reason = self._recording(operation), f"{_REASON}{operation.id}"
        try:
            (outcome,) = memory.apply([change], reason=reason)
        except ReplayMismatch:
            raise _reused(operation) from None
        except Conflict:
            return self._conflict(str(change.key), operation)
        return _mutation(outcome, replayed=memory.replayed)

    def _conflict(self, path: str, operation: MemoryOperation | None) -> MemoryMutation:
        """Raise the conflict, unless it is with the operation itself, asked for twice at once."""
        receipt = self._receipt(operation)
        if receipt is not None:
            return receipt
        raise MemoryConflictError(f"The file {path} is not at the expected version.")

    def _recording(self, operation: MemoryOperation) -> Memory:
        memory = self.memory
        return Memory(
            memory.path,
            actor=memory.actor,
            using=memory.using,
            read_only=memory.read_only,
            session=memory.session or None,
            calls=_Receipts(operation),
        )

    def _receipt(self, operation: MemoryOperation | None) -> MemoryMutation | None:
        if operation is None:
            return None
        call = _Receipts(operation).next(self.memory.path, "", {})
        using = self.memory.using or router.db_for_write(RecordedCall)
        try:
            known, outcomes = journal.find(call, using=using)
        except ReplayMismatch:
            raise _reused(operation) from None
        return _mutation(outcomes[0], replayed=True) if known else None

    def _search(
        self, prefix: str, query: str, max_file_chars: int, bounds: dict[str, int]
    ) -> MemorySearchResult:
        files = [
            (key, body if isinstance(body, str) else gate.render_json(body))
            for key, body in self.memory.items(prefix)
            if _is_path(key) and "/" not in key.removeprefix(prefix)
        ]
        scanned = files[: bounds["max_files"]]
        found = search(
            [(key, text[:max_file_chars]) for key, text in scanned], query, prefix=prefix, **bounds
        )
        cut = len(files) > len(scanned) or any(len(text) > max_file_chars for _, text in scanned)
        return replace(found, truncated=found.truncated or cut)


class _Receipts(journal.Calls):
    """Names a call by the operation; whether it is the same one its fingerprint alone says."""

    def __init__(self, operation: MemoryOperation) -> None:
        super().__init__(_CALLER, name=operation.id)
        self._fingerprint = operation.fingerprint

    def next(self, path: str, verb: str, arguments: dict[str, Any]) -> journal.Call:
        digest = sha256(self._fingerprint.encode("utf-8", "surrogatepass")).hexdigest()
        return replace(super().next(path, verb, arguments), digest=digest)


def _mutation(outcome: Outcome, *, replayed: bool) -> MemoryMutation:
    if isinstance(outcome, Remembered):
        existed = outcome.outcome != "created"
        return MemoryMutation(version=str(outcome.revision), replayed=replayed, existed=existed)
    return MemoryMutation(version=None, replayed=replayed, existed=isinstance(outcome, Forgot))


def _reused(operation: MemoryOperation | None) -> MemoryOperationConflictError:
    name = "" if operation is None else operation.id
    return MemoryOperationConflictError(f"The operation {name[:64]} already names another one.")


def _is_path(path: str) -> bool:
    return all(
        _SEGMENT.fullmatch(part) and ".." not in part and part != "." for part in path.split("/")
    )


def _check_path(path: str) -> None:
    if not _is_path(path):
        raise ValueError(
            "A path is names of A-Z a-z 0-9 _ . - (1 to 200 each, none '.' or with '..') "
            "joined by '/'."
        )


def _check_prefix(prefix: str) -> None:
    if prefix:
        _check_path(prefix.removesuffix("/"))


def _check_positive(name: str, number: int) -> None:
    if number <= 0:
        raise ValueError(f"{name} must be at least 1.")
