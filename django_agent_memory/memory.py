"""`Memory`: every verb of the package, for Python callers and for every edge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

from django.db import transaction

from . import associations, history, index, reading, rollback, search, stats, usage, writing
from .associations import Filters, Known, Stored
from .calling import Calling
from .conf import conf
from .exceptions import Refused
from .history import Moment
from .models import Workspace
from .results import (
    Cleared,
    Erased,
    Finding,
    Forgot,
    Forgotten,
    Found,
    Index,
    IndexLine,
    Listing,
    Outcome,
    Recalled,
    Redacted,
    Remembered,
    Restored,
    Revised,
    RolledBack,
    SearchResult,
    Stats,
    Unknown,
    WasAbsent,
)
from .text import gate
from .twins import twin
from .values import Values

if TYPE_CHECKING:
    from .tools import Toolset

_Owner = TypeVar("_Owner")
_Found = TypeVar("_Found")


class Memory(Calling):
    """The memory of one workspace.

    `workspace` is a path or a `Workspace`; it is made by the first write. `actor` (≤ 255 cp) signs
    the revisions. `using` pins a database alias; without it Django's routers choose. With
    `read_only`, writes raise `NotAllowed`. Every verb has an async twin: `await
    memory.aremember(…)`.

    With `session` (1 to 255 cp), notes written with `persist=False` are seen by memories of that
    session only, and expire (setting AGENT_MEMORY_SESSION_HOURS) unless `end_session` comes first.
    All else of the workspace is there as well. A key is that of one note: a private one is refused
    with `Conflict` where a note is; one for all takes the key, and is as new as if it were free.

    With `run`, every call is recorded under `run/1`, `run/2`, …: a run that is started again gets
    the recorded results instead of doing anything twice, and goes on live where it had stopped.
    `replayed` says whether the last call was such a replay. (`calls` is the same for edges that
    name a call themselves.)

    All verbs raise `Refused` for input that can never be accepted. Writes raise `Busy` when the
    database stays locked, and are all or nothing. Reads never fail over what is stored.
    """

    # Writes

    def remember(
        self,
        key: str,
        summary: str | None,
        body: Any,
        *,
        expected_revision: int | None = None,
        reason: str = "",
        persist: bool = True,
        **known: Unpack[Known],
    ) -> Remembered:
        """Store `body` (text or any JSON value) under `key`, with its one-line `summary`.

        `summary=None` keeps the note out of the index. What is already exactly so is left alone.
        `expected_revision` is the note's own last revision, 0 for "must not exist"; where it does
        not hold, `Conflict` is raised. What else is `known`, such as `weight` and `context`, stays
        as the note has it unless it is given: see `writing.Save`.

        With `persist=False` the note is private to the session. Saved again without, it is shared.
        """
        save = writing.Save(
            key=key,
            summary=summary,
            body=body,
            expected_revision=expected_revision,
            session=self._owner(persist=persist, otherwise=writing.KEEP),
            **known,
        )
        return cast("Remembered", self._write("remember", [save], reason, _only))

    def store(
        self,
        content: Any,
        *,
        key: str | None = None,
        summary: str | None = None,
        reason: str = "",
        persist: bool = True,
        **known: Unpack[Stored],
    ) -> Remembered:
        """Add knowledge: `content`, with its `context`, `weight`, `slot` and what else is known.

        Without a `key` one is made for it, unless the same content, contexts and slot were stored
        from the same source: then that note is updated. What is not given is set to its default,
        but a summary that the note has stays: see `writing.Store`. `persist` is as in `remember`.
        """
        owner = self._owner(persist=persist, otherwise="")
        change = writing.Store(body=content, key=key, summary=summary, session=owner, **known)
        return cast("Remembered", self._write("store", [change], reason, _only))

    def forget(
        self, key: str, *, expected_revision: int | None = None, reason: str = ""
    ) -> Forgot | WasAbsent:
        """Remove the note and the index entry under exactly `key`; its history stays."""
        drop = writing.Drop(key=key, expected_revision=expected_revision)
        return cast(
            "Forgot | WasAbsent", self._write("forget", [drop], reason, self._with_suggestions)
        )

    def forget_matching(
        self, query: str = "", *, reason: str = "", **filters: Unpack[Filters]
    ) -> int:
        """Forget all that `find` would return, without a limit; return how many.

        Each is a tombstone of its own, which `restore` undoes. Raises `Refused` where neither the
        query nor a filter says anything.
        """
        return self.forgetting(query, reason=reason, **filters).count

    def forgetting(
        self, query: str = "", *, reason: str = "", **filters: Unpack[Filters]
    ) -> Forgotten:
        """Do what `forget_matching` does; return the count with the workspace's revision."""
        self._check_writable()
        question = associations.check(query, filters)
        associations.check_forgettable(question)

        def write(then: writing.Then | None) -> list[Outcome]:
            return associations.forget(
                self.path,
                question,
                lambda drops: self._apply(drops, reason, then),
                using=self._writes_to(),
                session=self.session,
            )

        arguments = {**question.as_arguments(), "reason": reason}
        done = self._recorded("forget_matching", arguments, write, self._forgotten)
        return cast("Forgotten", done)

    def end_session(self, *, reason: str = "") -> int:
        """Forget all that the session has to itself in this workspace; return how many notes.

        Raises `Refused` where the memory has no session.
        """
        self._check_writable()
        if not self.session:
            raise Refused("This memory has no session to end.")

        def write(then: writing.Then | None) -> list[Outcome]:
            return writing.end_session(
                self.path,
                self.session,
                actor=self.actor,
                reason=reason,
                using=self.using,
                then=then,
            )

        return cast("int", self._recorded("end_session", {"reason": reason}, write, len))

    def restore(
        self,
        key: str,
        revision: int,
        *,
        expected_revision: int | None = None,
        reason: str = "",
    ) -> Restored:
        """Bring back what `key` said as of `revision`, in a new revision.

        Where nothing was there then, it is a forget that says restore. Raises `Refused` if the key
        had no revision yet, or a redacted one; `Conflict` as `remember` does.
        """
        if revision == 0:
            raise Refused("There is no revision 0; revisions are numbered from 1.")
        change = writing.Restore(key=key, revision=revision, expected_revision=expected_revision)
        return cast("Restored", self._write("restore", [change], reason, _only))

    def apply(self, changes: Iterable[writing.Change], *, reason: str = "") -> list[Outcome]:
        """Write several changes in one critical section, all or nothing; return an outcome each."""
        return list(self._write("apply", list(changes), reason, tuple))

    def clear(self, *, reason: str = "") -> Cleared:
        """Forget every note, in one critical section; the workspace and its history stay.

        What other sessions have to themselves stays as well.
        """
        self._check_writable()

        def write(then: writing.Then | None) -> list[Outcome]:
            return writing.clear(
                self.path,
                actor=self.actor,
                reason=reason,
                session=self.session,
                using=self.using,
                then=then,
            )

        def finish(outcomes: list[Outcome]) -> Cleared:
            last = outcomes[-1].workspace_revision if outcomes else self.revision()
            return Cleared(notes=len(outcomes), workspace_revision=last)

        return cast("Cleared", self._recorded("clear", {"reason": reason}, write, finish))

    def rollback(self, *, actor: str, since: Moment, reason: str = "") -> RolledBack:
        """Restore, in new revisions, what was there before all that `actor` wrote from `since` on.

        Keys that others changed later are left alone and reported.
        """
        self._check_writable()

        def attempt() -> tuple[list[Outcome], list[str]]:
            changes, left_alone = rollback.plan(
                self.path, actor=actor, since=since, using=self._writes_to(), session=self.session
            )
            return self.apply(changes, reason=reason), left_alone

        outcomes, left_alone = writing.replanned(attempt)
        restored = (outcome for outcome in outcomes if isinstance(outcome, Restored))
        return RolledBack(
            restored=tuple(o for o in restored if o.outcome == "restored"),
            left_alone=tuple(left_alone),
        )

    def redact(
        self,
        key: str,
        revision: int | None = None,
        *,
        expected_revision: int | None = None,
        reason: str = "",
    ) -> Redacted:
        """Blank past revisions of `key` (or one of them) for good; see `writing.redact`."""
        self._check_writable()
        redacted = writing.redact(
            self.path,
            key,
            revision=revision,
            expected_revision=expected_revision,
            actor=self.actor,
            reason=reason,
            using=self.using,
        )
        self._forget_index_text()
        return redacted

    def erase(self, key: str | None = None, *, expected_revision: int | None = None) -> Erased:
        """Remove every row that holds the text of `key`, or of the whole workspace, for good.

        `expected_revision` is the last one that the caller has seen, of the key or of all; where it
        is another by now, `Conflict` is raised and nothing removed.
        """
        self._check_writable()
        erased = writing.erase(
            self.path, key, expected_revision=expected_revision, using=self.using
        )
        self._forget_index_text()
        alias = self._writes_to()
        # Trigrams of what is gone; the erasure stands whether or not this comes to its end.
        transaction.on_commit(lambda: search.compact(alias), using=alias, robust=True)
        return erased

    def configure(
        self, *, new: bool = False, **values: Unpack[writing.WorkspaceValues]
    ) -> Workspace:
        """Set `title`, `description` or `index_budget` of the workspace and return it.

        It is made if it is missing; with `new`, `Conflict` is raised if it is not.
        """
        self._check_writable()
        if new:
            return writing.create_workspace(self.path, using=self.using, **values)
        return writing.configure(self.path, using=self.using, **values)

    # Reads

    def recall(self, key: str) -> Recalled | None:
        """Return the note under exactly `key`, or None."""
        gate.check_key(key, limit=conf.max_key_length)
        return self._used(cast("Recalled | None", self._read("recall", reading.recall, key=key)))

    def lookup(self, key: str) -> Recalled | Unknown:
        """Return the note under exactly `key`, or the near keys that may have been meant."""
        gate.check_key(key, limit=conf.max_key_length)
        return self._used(cast("Recalled | Unknown", self._read("lookup", reading.lookup, key=key)))

    def list_memories(self) -> tuple[IndexLine, ...]:
        """Return every index entry, in key order."""
        return cast("tuple[IndexLine, ...]", self._read("list_memories", index.index_lines))

    def listing(self) -> Listing:
        """Return every index entry, in key order, with the workspace's revision."""
        return cast("Listing", self._read("listing", index.listing))

    def search(self, pattern: str) -> SearchResult:
        """Return the first 8 notes whose key, summary or body contains `pattern`, and the total."""
        return cast("SearchResult", self._read("search", search.search, pattern=pattern))

    def find(
        self, query: str = "", *, limit: int | None = 10, **filters: Unpack[Filters]
    ) -> tuple[Found, ...]:
        """Return the notes that the query is about and all filters fit, best first.

        Without a query the order is weight, recency, specificity, key; without a filter either,
        nothing is found. `limit` is at least 1, None for no limit. See `associations.Filters`.
        """
        question = associations.check(query, filters)
        associations.check_limit(limit)
        found = self._read("find", associations.find, **question.as_arguments(), limit=limit)
        return cast("tuple[Found, ...]", found)

    def finding(
        self, query: str = "", *, limit: int | None = 10, **filters: Unpack[Filters]
    ) -> Finding:
        """Return what `find` returns, with the workspace's revision."""
        question = associations.check(query, filters)
        associations.check_limit(limit)
        asked = question.as_arguments()
        return cast("Finding", self._read("finding", associations.finding, **asked, limit=limit))

    def index_note(self) -> str:
        """Return what goes into the model's context on every turn; "" while there is nothing."""
        return self.index().text

    def index(self) -> Index:
        """Return the index text with its version and the workspace's revision."""
        return cast("Index", self._read("index", index.read_index))

    def index_version(self) -> tuple[str, int]:
        """Return the version of the index text and the workspace's revision, not the text."""
        return index.read_version(self.path, using=self._reads_from(), session=self.session)

    def stats(self) -> Stats:
        """Return what the index costs on every turn, and what it gains a day."""
        return cast("Stats", self._read("stats", stats.stats))

    def keys(self, prefix: str = "", *, limit: int | None = None) -> tuple[str, ...]:
        """Return the keys of all notes that start with exactly `prefix`, in key order.

        With `limit`, at least 1, the first ones.
        """
        gate.check_text(prefix, name="prefix", limit=conf.max_key_length)
        associations.check_limit(limit)
        asked: dict[str, Any] = {"prefix": prefix}
        if limit is not None:
            asked["limit"] = limit
        return cast("tuple[str, ...]", self._read("keys", reading.keys, **asked))

    def items(self, prefix: str = "") -> tuple[tuple[str, Any], ...]:
        """Return key and body of all notes whose key starts with exactly `prefix`, in key order."""
        gate.check_text(prefix, name="prefix", limit=conf.max_key_length)
        items = self._read("items", reading.items, prefix=prefix)
        return cast("tuple[tuple[str, Any], ...]", items)

    def sizes(self, prefix: str = "") -> tuple[tuple[str, int], ...]:
        """Return key and size of all notes whose key starts with exactly `prefix`, in key order.

        The size is that of the body's text, in bytes of UTF-8; no body is read for it.
        """
        gate.check_text(prefix, name="prefix", limit=conf.max_key_length)
        sizes = self._read("sizes", reading.sizes, prefix=prefix)
        return cast("tuple[tuple[str, int], ...]", sizes)

    @property
    def values(self) -> Values:
        """The notes as a mapping from key to body: a small store of JSON values."""
        return Values(self)

    def tools(self, only: Iterable[str] | None = None) -> Toolset:
        """Return the tools of this memory for a model: all five, or `only` those named.

        `specs` tells a model of them, `call` answers it; see `tools.Toolset`.
        """
        from .tools import Toolset

        return Toolset(self, only)

    def near_keys(self, key: str) -> tuple[str, ...]:
        """Return up to 3 stored keys that may be meant by one that is not stored."""
        gate.check_key(key, limit=conf.max_key_length)
        return search.near_keys(self.path, key, using=self._reads_from(), session=self.session)

    def revision(self) -> int:
        """Return the number of the workspace's last revision, 0 before the first write."""
        return Workspace.objects.using(self._reads_from()).last_revision(self.path)

    # The past

    def history(self, key: str) -> tuple[Revised, ...]:
        """Return every revision of `key`, oldest first."""
        gate.check_key(key, limit=conf.max_key_length)
        return history.history(self.path, key, using=self._reads_from(), session=self.session)

    def history_lines(self, key: str) -> tuple[str, ...]:
        """Return every revision of `key` as one line, oldest first."""
        return self.lines_of(self.history(key))

    @staticmethod
    def lines_of(revisions: Iterable[Revised]) -> tuple[str, ...]:
        """Return revisions as lines: `[v3] remember 'name' = ada lovelace (…)`."""
        return history.history_lines(revisions)

    def as_of(self, key: str, moment: Moment) -> Revised | None:
        """Return what `key` said at a revision number or aware datetime; see `history.as_of`."""
        gate.check_key(key, limit=conf.max_key_length)
        using = self._reads_from()
        return history.as_of(self.path, key, moment, using=using, session=self.session)

    def at(self, moment: Moment) -> Memory:
        """Return a read-only memory of the whole workspace at that moment.

        Raises `Pruned` where retention took a part of it, TypeError for what is no moment.
        """
        from .snapshot import Snapshot

        point = history.locate(self.path, moment, using=self._reads_from())
        return Snapshot(self.path, point, using=self.using, session=self.session or None)

    def _owner(self, *, persist: bool, otherwise: _Owner) -> str | _Owner:
        """Return the session that a note is private to; "" or what is said `otherwise` for none."""
        if type(persist) is not bool:
            raise Refused("persist must be true or false.")
        if persist:
            return "" if self.session else otherwise
        if not self.session:
            raise Refused("Only a memory with a session can keep a note to itself.")
        return self.session

    def _used(self, found: _Found) -> _Found:
        """Note that a note was recalled, and return what was found."""
        if isinstance(found, Recalled) and not (self.read_only or self.replayed):
            alias = self._counts_in()
            if alias is not None:
                usage.recalled(self.path, found.key, using=alias)
        return found

    def _with_suggestions(self, outcomes: list[Outcome]) -> Outcome:
        (outcome,) = outcomes
        if isinstance(outcome, WasAbsent):
            return replace(outcome, suggestions=self.near_keys(outcome.key))
        return outcome

    def _forgotten(self, outcomes: list[Outcome]) -> Forgotten:
        gone = [outcome for outcome in outcomes if isinstance(outcome, Forgot)]
        revision = gone[-1].workspace_revision if gone else self.revision()
        return Forgotten(count=len(gone), workspace_revision=revision)

    # Async twins

    aremember = twin(remember)
    aforget = twin(forget)
    aend_session = twin(end_session)
    astore = twin(store)
    aforget_matching = twin(forget_matching)
    aforgetting = twin(forgetting)
    arestore = twin(restore)
    aapply = twin(apply)
    aclear = twin(clear)
    arollback = twin(rollback)
    aredact = twin(redact)
    aerase = twin(erase)
    aconfigure = twin(configure)
    arecall = twin(recall)
    alookup = twin(lookup)
    alist_memories = twin(list_memories)
    alisting = twin(listing)
    asearch = twin(search)
    aindex_note = twin(index_note)
    aindex = twin(index)
    aindex_version = twin(index_version)
    astats = twin(stats)
    afind = twin(find)
    afinding = twin(finding)
    akeys = twin(keys)
    aitems = twin(items)
    asizes = twin(sizes)
    anear_keys = twin(near_keys)
    arevision = twin(revision)
    ahistory = twin(history)
    ahistory_lines = twin(history_lines)
    aas_of = twin(as_of)
    aat = twin(at)


def _only(outcomes: list[Outcome]) -> Outcome:
    (outcome,) = outcomes
    return outcome
