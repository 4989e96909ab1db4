"""How the verbs of `Memory` are called: on which database, in which session, recorded or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.db import router, transaction

from . import index, journal, writing
from .exceptions import NotAllowed
from .models import Note, Workspace
from .results import Outcome
from .text import gate

Write = Callable[["writing.Then | None"], list[Outcome]]
Finish = Callable[[list[Outcome]], Any]


class Calling:
    """One workspace, who calls on it, and whether the calls are recorded; see `Memory`."""

    def __init__(
        self,
        workspace: str | Workspace,
        *,
        actor: str = "",
        using: str | None = None,
        read_only: bool = False,
        session: str | None = None,
        run: str | None = None,
        calls: journal.Calls | None = None,
    ) -> None:
        path = workspace.path if isinstance(workspace, Workspace) else workspace
        self.path = gate.check_path(path)
        self.actor = gate.check_text(actor, name="actor", limit=writing.MAX_ACTOR_LENGTH)
        self.using = using
        self.read_only = read_only
        self.session = "" if session is None else writing.check_session(session)
        self.replayed = False
        self._calls = journal.Calls(f"actor:{actor}", run=run) if run is not None else calls

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r}, actor={self.actor!r})"

    def _read(self, verb: str, read: Callable[..., Any], **arguments: Any) -> Any:
        def fresh() -> Any:
            return read(self.path, using=self._reads_from(), session=self.session, **arguments)

        if self._calls is None:
            return fresh()
        call = self._calls.next(self.path, verb, self._in_session(arguments))
        result, self.replayed = journal.answer_read(call, fresh, using=self._writes_to())
        return result

    def _write(self, verb: str, changes: list[writing.Change], reason: str, finish: Finish) -> Any:
        """Write the changes and return what `finish` makes of their outcomes."""
        self._check_writable()
        if self._calls is None:
            return finish(self._apply(changes, reason, None))
        for change in changes:
            writing.check(change)

        def write(then: writing.Then | None) -> list[Outcome]:
            return self._apply(changes, reason, then)

        return self._recorded(verb, _arguments(changes, reason), write, finish)

    def _recorded(self, verb: str, arguments: dict[str, Any], write: Write, finish: Finish) -> Any:
        """Call `write`, or answer as the recorded call of these arguments was answered."""
        if self._calls is None:
            return finish(write(None))
        call = self._calls.next(self.path, verb, self._in_session(arguments))
        result, self.replayed = journal.answer_write(call, write, finish, using=self._writes_to())
        return result

    def _apply(
        self, changes: list[writing.Change], reason: str, then: writing.Then | None
    ) -> list[Outcome]:
        return writing.apply(
            self.path,
            changes,
            actor=self.actor,
            reason=reason,
            session=self.session,
            using=self.using,
            then=then,
        )

    def _in_session(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments that tell a call from others: what a session got is its alone."""
        return {**arguments, "session": self.session} if self.session else arguments

    def _forget_index_text(self) -> None:
        alias = self._writes_to()
        transaction.on_commit(lambda: index.forget_text(self.path), using=alias)

    def _check_writable(self) -> None:
        if self.read_only:
            raise NotAllowed("This memory is read-only; nothing was written.")

    def _reads_from(self) -> str:
        return self.using or router.db_for_read(Note)

    def _counts_in(self) -> str | None:
        """Return where recalls are counted; nowhere if the alias may be that of a replica."""
        alias = router.db_for_write(Note)
        return alias if self.using in (None, alias) else None

    def _writes_to(self) -> str:
        return self.using or router.db_for_write(Note)


def _arguments(changes: list[writing.Change], reason: str) -> dict[str, Any]:
    """Return what tells one write from another, the key beside it where there is only one."""
    said = [
        [
            type(change).__name__,
            {name: value for name, value in asdict(change).items() if value is not writing.KEEP},
        ]
        for change in changes
    ]
    key = (changes[0].key or "") if len(changes) == 1 else ""
    return {"key": key, "changes": said, "reason": reason}
