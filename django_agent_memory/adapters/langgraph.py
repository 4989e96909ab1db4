"""`AgentMemoryStore`: LangGraph's store, kept in the memories of a site.

A namespace is a workspace: `("users", "ann")` of a store at `agents` is the memory
`agents/users/ann`, and `()` the memory `agents` itself. A label may be any text that LangGraph
takes; see `langgraph_namespaces`. A key is that of a note and as every key of a memory is: 1 to 512
characters, no control character but tab and newline.

The value is the body of the note. `{"content": "some text"}`, which is what LangMem keeps, is the
plain text, so that people and other agents read text; any other value is JSON. The other way round
a note that holds text or a list, by whomever it was written, has it under `content`.
"""

from __future__ import annotations

import datetime
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from django.db import Error
from django.utils import timezone
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from django_agent_memory import writing
from django_agent_memory.conf import conf
from django_agent_memory.exceptions import AgentMemoryError, Conflict, Refused
from django_agent_memory.results import Found, Recalled
from django_agent_memory.text import gate
from django_agent_memory.tree import Place, Tree
from django_agent_memory.twins import twin

from .langgraph_filters import check_filter, fits
from .langgraph_namespaces import matches, namespace_of, path_of

SOURCE = "langgraph"
"""The source of every note that is put; with a TTL its minutes stand behind it."""

_WITH_TTL = re.compile(rf"{SOURCE} ttl=(.+)")
_CONTENT = "content"
_REFRESH_AFTER = 0.05
"""The part of its TTL after which what is read gets all of it again."""

_MOST_COUNTED = 2**31 - 1
"""Of a limit, an offset and a depth: what every database can be asked for, twice added up."""

_REFRESHED = "read before its TTL was over"


class _Hit(NamedTuple):
    """A note that a search found, and where."""

    path: str
    note: Recalled | Found
    score: float | None = None


class AgentMemoryStore(BaseStore):
    """A store below the workspace `root`; what is put is signed by `actor`.

    `using`, `read_only` and `session` are as in `Memory`, and so is what is raised. Everything that
    is put is a revision, may be restored, and is seen by whoever is granted its workspace.

    Within a batch all reads see what was there before it, and of several puts to one key the last
    one counts. Each workspace is written all or nothing; what could never be written is refused
    before anything is. `created_at` is that of the first put until the item is deleted.

    A `query` is asked of `Memory.find`, best first: no embeddings, and `index` changes nothing.
    Over several memories each is asked, and their scores are compared. Without a query the order is
    that in which the items were first put.

    `ttl` is LangGraph's own: minutes after the last put or, where reading refreshes (it does unless
    told otherwise), the last read. A refresh is a revision as well, so one is made when a twentieth
    of the time is over and not with every read. What expired is never returned.
    """

    supports_ttl = True

    def __init__(
        self,
        root: str,
        *,
        actor: str = "",
        using: str | None = None,
        read_only: bool = False,
        session: str | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        self.tree = Tree(root, actor=actor, using=using, read_only=read_only, session=session)
        if ttl is not None and not isinstance(ttl, Mapping):
            raise Refused("The ttl must be a dict such as {'default_ttl': 60}.")
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the operations and return a result each, in order."""
        ops = list(ops)
        for op in ops:
            _check(op)
        puts = self._changes(op for op in ops if isinstance(op, PutOp))
        results = self._read(ops)
        for path, changes in puts.items():
            self.tree.memory(path).apply(changes)
        return results

    abatch = twin(batch)

    # Writing

    def _changes(self, puts: Iterable[PutOp]) -> dict[str, list[writing.Change]]:
        """Return what the puts change, by workspace, or raise `Refused`."""
        last = {(self._path(op.namespace), op.key): op for op in puts}
        changes: dict[str, list[writing.Change]] = defaultdict(list)
        # Deletions last: workspaces are made in the order in which something is put into them.
        for (path, key), op in sorted(last.items(), key=lambda item: item[1].value is None):
            changes[path].append(_change(key, op))
        if len(changes) > 1:
            # One workspace checks its own before it writes.
            for change in (change for several in changes.values() for change in several):
                writing.check(change)
        return changes

    # Reading

    def _read(self, ops: list[Op]) -> list[Result]:
        """Return what the reads among the operations find, None for a put."""
        gets = {number: op for number, op in enumerate(ops) if isinstance(op, GetOp)}
        places = {number: (self._path(op.namespace), op.key) for number, op in gets.items()}
        found = self.tree.recall(places.values()) if places else {}
        results: list[Result] = [None] * len(ops)
        used = {places[number] for number, op in gets.items() if op.refresh_ttl}
        stale: dict[Place, Recalled | Found] = {p: found[p] for p in used & found.keys()}
        for number, place in places.items():
            if place in found:
                results[number] = self._item(place[0], found[place])
        for number, op in enumerate(ops):
            if isinstance(op, ListNamespacesOp):
                results[number] = self._namespaces(op)
            elif isinstance(op, SearchOp):
                hits = self._search(op)
                results[number] = [self._search_item(hit) for hit in hits]
                if op.refresh_ttl:
                    stale.update({(hit.path, hit.note.key): hit.note for hit in hits})
        self._refresh(stale)
        return results

    def _search(self, op: SearchOp) -> list[_Hit]:
        path = self._path(op.namespace_prefix)
        stop = op.offset + op.limit
        if not op.limit:
            return []
        if op.query and op.query.strip():
            hits = self._ranked(path, op.query, None if op.filter else stop)
        elif op.filter:
            hits = (_Hit(*placed) for placed in self.tree.all_notes(path))
        else:
            notes = self.tree.notes(path, limit=op.limit, offset=op.offset)
            return [_Hit(*placed) for placed in notes]
        fitting = (hit for hit in hits if fits(_value(hit.note.body), op.filter))
        return list(islice(fitting, op.offset, stop))

    def _ranked(self, path: str, query: str, limit: int | None) -> Iterable[_Hit]:
        hits = [
            _Hit(at, found, found.score)
            for at in self.tree.paths(path)
            for found in self.tree.memory(at).find(query, limit=limit)
        ]
        return sorted(hits, key=lambda hit: -(hit.score or 0))

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        known = (namespace_of(path, self.tree.path) for path in self.tree.paths(self.tree.path))
        found = {namespace for namespace in known if matches(namespace, conditions)}
        shown = sorted({namespace[: op.max_depth] for namespace in found})
        return shown[op.offset : op.offset + op.limit]

    def _refresh(self, read: Mapping[Place, Recalled | Found]) -> None:
        """Let what was read live for its whole TTL again, if it can be written now."""
        saves: dict[str, list[writing.Change]] = defaultdict(list)
        for (path, _), note in read.items():
            refreshed = _refreshed(note)
            if refreshed is not None:
                saves[path].append(refreshed)
        if self.tree.read_only:
            return
        for path, several in saves.items():
            memory = self.tree.memory(path)
            with suppress(AgentMemoryError, Error):
                try:
                    memory.apply(several, reason=_REFRESHED)
                except Conflict:
                    # Somebody wrote to one of them, and said how long that is to live.
                    for save in several:
                        with suppress(Conflict):
                            memory.apply([save], reason=_REFRESHED)

    def _path(self, namespace: tuple[str, ...]) -> str:
        return path_of(namespace, self.tree.path)

    def _item(self, path: str, note: Recalled) -> Item:
        return Item(
            namespace=namespace_of(path, self.tree.path),
            key=note.key,
            value=_value(note.body),
            created_at=note.created_at,
            updated_at=note.updated_at,
        )

    def _search_item(self, hit: _Hit) -> SearchItem:
        return SearchItem(
            namespace=namespace_of(hit.path, self.tree.path),
            key=hit.note.key,
            value=_value(hit.note.body),
            created_at=hit.note.created_at,
            updated_at=hit.note.updated_at,
            score=hit.score,
        )


def _check(op: Op) -> None:
    """Raise `Refused`, or LangGraph's own error for a label, for what can never be done."""
    if not isinstance(op, (GetOp, SearchOp, PutOp, ListNamespacesOp)):
        raise Refused(f"A store has no operation {type(op).__name__}.")
    if isinstance(op, (GetOp, PutOp)) and not isinstance(op.namespace, tuple):
        raise Refused("A namespace must be a tuple of strings.")
    validate_op_namespace(op)
    if isinstance(op, (GetOp, PutOp)):
        gate.check_key(op.key, limit=conf.max_key_length)
    else:
        _check_count(op.limit, "limit")
        _check_count(op.offset, "offset")
    if isinstance(op, SearchOp):
        check_filter(op.filter)
        if op.query is not None and not isinstance(op.query, str):
            raise Refused("The query must be a string.")
    if isinstance(op, ListNamespacesOp) and op.max_depth is not None:
        _check_count(op.max_depth, "max_depth")


def _check_count(count: object, name: str) -> None:
    if type(count) is not int or not 0 <= count <= _MOST_COUNTED:
        raise Refused(f"The {name} must be a whole number from 0 to {_MOST_COUNTED}.")


def _change(key: str, op: PutOp) -> writing.Change:
    if op.value is None:
        return writing.Drop(key=key)
    return writing.Save(
        key=key,
        body=_body(op.value),
        summary=writing.KEEP,
        source=SOURCE if op.ttl is None else f"{SOURCE} ttl={op.ttl}",
        expires_at=None if op.ttl is None else _expiry(op.ttl),
    )


def _body(value: object) -> Any:
    if not isinstance(value, Mapping):
        raise Refused("The value of an item must be a dict; None deletes the item.")
    content = value.get(_CONTENT)
    return content if len(value) == 1 and isinstance(content, str) else dict(value)


def _value(body: Any) -> dict[str, Any]:
    return body if isinstance(body, dict) else {_CONTENT: body}


def _expiry(minutes: float) -> datetime.datetime:
    try:
        if isinstance(minutes, bool) or not minutes > 0:
            raise ValueError
        return datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=minutes)
    except (TypeError, ValueError, OverflowError):
        raise Refused("The ttl must be a number of minutes above 0, within the calendar.") from None


def _refreshed(note: Recalled | Found) -> writing.Save | None:
    """Return what gives the note all of its TTL again; None if it has none, or nearly all of it."""
    known = _WITH_TTL.fullmatch(note.source)
    if known is None or note.expires_at is None:
        return None
    try:
        minutes = float(known[1])
        whole = datetime.timedelta(minutes=minutes)
    except (ValueError, OverflowError):
        return None
    if note.expires_at - timezone.now() > whole * (1 - _REFRESH_AFTER):
        return None
    return writing.Save(
        key=note.key,
        body=note.body,
        summary=writing.KEEP,
        expected_revision=note.revision,
        expires_at=_expiry(minutes),
    )
