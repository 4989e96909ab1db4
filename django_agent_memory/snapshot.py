"""A whole workspace as it was: the reads of `Memory` over the revision log."""

from __future__ import annotations

import datetime
from typing import Any, NoReturn

from django.db.models import Max, Q

from . import stats
from .associations import check_limit
from .conf import conf
from .exceptions import Refused
from .history import Moment, Point, check_moment, revised
from .memory import Memory
from .models import Revision, Workspace
from .models.details import stored
from .models.functions import OctetLength
from .models.note import body_value
from .models.revision import RevisionQuerySet
from .results import (
    Index,
    IndexLine,
    Listing,
    Match,
    Recalled,
    Revised,
    SearchResult,
    Stats,
    Unknown,
    fields_of,
)
from .text import gate, rendering
from .text.folding import first_hit, fold, haystack
from .text.nearness import MOST_SUGGESTIONS, nearest, undecorated
from .values import Values


class Snapshot(Memory):
    """A read-only memory of the workspace as of one point in its log.

    What had expired by the time of that point is not shown: the past does not change.
    """

    def __init__(
        self,
        path: str,
        point: Point,
        *,
        using: str | None = None,
        session: str | None = None,
    ) -> None:
        super().__init__(path, using=using, read_only=True, session=session)
        self.workspace_pk = point.workspace_pk
        self.number = point.number
        self.now = point.now

    def recall(self, key: str) -> Recalled | None:
        """Return the note as it was under exactly `key`, or None."""
        gate.check_key(key, limit=conf.max_key_length)
        row = self._row(key)
        if row is None:
            return None
        return Recalled(
            key=key,
            body=row.value,
            text=row.body or "",
            summary=row.summary,
            revision=row.number,
            created_at=self._created_at(row),
            updated_at=row.created_at,
            workspace_revision=self.number,
            **fields_of(row.known),
        )

    def lookup(self, key: str) -> Recalled | Unknown:
        """Return the note as it was, or the keys of then that may have been meant."""
        return self.recall(key) or Unknown(
            key=key, suggestions=self.near_keys(key), workspace_revision=self.number
        )

    def list_memories(self) -> tuple[IndexLine, ...]:
        """Return every index entry as it was, in key order."""
        return tuple(
            IndexLine(key=key, summary=summary, line=rendering.index_line(key, summary))
            for key, summary in self._entries()
        )

    def listing(self) -> Listing:
        """Return every index entry as it was, with the number of the revision."""
        return Listing(lines=self.list_memories(), workspace_revision=self.number)

    def index(self) -> Index:
        """Return the index text as it was, cut by the budget of today."""
        budgets = Workspace.objects.using(self._reads_from()).filter(path=self.path)
        budget = budgets.values_list("index_budget", flat=True).first()
        return Index(
            text=rendering.index_text(self._entries(), budget=budget),
            version=self._version(),
            workspace_revision=self.number,
        )

    def index_version(self) -> tuple[str, int]:
        """Return the version of the index text as it was: the past does not change."""
        return self._version(), self.number

    def stats(self) -> Stats:
        """Return what the index cost then, and what it gained a day until that revision."""
        index = self.index()
        workspace = Workspace.objects.using(self._reads_from()).filter(path=self.path).first()
        if workspace is None:
            return stats.measure(index, notes=0, budget=None, days=0.0, gained=(0, 0))
        notes = self._notes().count()
        return stats.stats_then(
            workspace, index, notes=notes, using=self._reads_from(), session=self.session
        )

    def keys(self, prefix: str = "", *, limit: int | None = None) -> tuple[str, ...]:
        """Return what `Memory.keys` does, of the notes of then."""
        check_limit(limit)
        gate.check_text(prefix, name="prefix", limit=conf.max_key_length)
        keys = self._notes().order_by("key").values_list("key", flat=True)
        return tuple(key for key in keys if key.startswith(prefix))[:limit]

    def items(self, prefix: str = "") -> tuple[tuple[str, Any], ...]:
        """Return key and body of all notes of then that start with exactly `prefix`."""
        gate.check_text(prefix, name="prefix", limit=conf.max_key_length)
        rows = self._notes().order_by("key").values_list("key", "body", "body_is_json")
        return tuple(
            (key, body_value(text or "", is_json=is_json))
            for key, text, is_json in rows
            if key.startswith(prefix)
        )

    def sizes(self, prefix: str = "") -> tuple[tuple[str, int], ...]:
        """Return what `Memory.sizes` does, of the notes of then."""
        gate.check_text(prefix, name="prefix", limit=conf.max_key_length)
        rows = self._notes().order_by("key").values_list("key", OctetLength("body"))
        return tuple((key, size) for key, size in rows if key.startswith(prefix))

    @property
    def values(self) -> Values:
        """The notes of then as a mapping; another workspace had revisions of its own."""
        return Values(self, namespaces=False)

    def near_keys(self, key: str) -> tuple[str, ...]:
        """Return up to 3 keys of then that may be meant by one that was not stored."""
        stored = self.keys()
        plain = [form for form in undecorated(key) if form in stored]
        return tuple(dict.fromkeys([*plain, *nearest(key, stored)]))[:MOST_SUGGESTIONS]

    def search(self, pattern: str) -> SearchResult:
        """Return the first 8 notes of then that contain `pattern`, and the total.

        The log has no folded text: every note of then is folded and looked through.
        """
        if not isinstance(pattern, str):
            raise Refused("The pattern must be a string.")
        wanted = fold(pattern) if gate.is_storable(pattern) else None
        found: list[Match] = []
        total = 0
        rows = self._notes().order_by("key").values_list("key", "summary", "body")
        for key, summary, text in rows:
            body = text or ""
            if wanted is None or wanted not in haystack(key, summary or "", body):
                continue
            total += 1
            if len(found) < rendering.MATCHES_SHOWN:
                shown, cut = rendering.excerpt(body, first_hit(body, pattern))
                found.append(Match(key=key, summary=summary, excerpt=shown, excerpt_cut=cut))
        return SearchResult(
            pattern=pattern,
            matches=tuple(found),
            total=total,
            workspace_revision=self.number,
        )

    def find(self, query: str = "", **_: Any) -> NoReturn:
        """Raise `Refused`: what find counts is that of the present."""
        raise Refused("A memory of the past has no find; search it, or find in the present.")

    def finding(self, query: str = "", **_: Any) -> NoReturn:
        """Raise `Refused`, as `find` does."""
        self.find(query)

    def history(self, key: str) -> tuple[Revised, ...]:
        """Return the revisions of `key` until then, oldest first."""
        return tuple(r for r in super().history(key) if r.number <= self.number)

    def as_of(self, key: str, moment: Moment) -> Revised | None:
        """Return what `key` said at `moment`, or at this memory's own, whichever is earlier."""
        check_moment(moment)
        is_later = moment > self.number if isinstance(moment, int) else stored(moment) >= self.now
        if not is_later:
            return super().as_of(key, moment)
        gate.check_key(key, limit=conf.max_key_length)
        row = self._row(key)
        return None if row is None else revised(row)

    def revision(self) -> int:
        """Return the number of the revision this memory is as of."""
        return self.number

    def _created_at(self, row: Revision) -> datetime.datetime:
        """Return when the note of `row` was first stored: after the last forget before it."""
        log = self._log().filter(key=row.key).up_to(row.number)
        gone = log.filter(body=None).aggregate(last=Max("number"))["last"] or 0
        first = log.filter(number__gt=gone).order_by("number").values_list("created_at", flat=True)
        return first.first() or row.created_at

    def _log(self) -> RevisionQuerySet:
        # What a session has to itself is only ever saved where nothing shared is: what all others
        # see of that key is nothing, and no older revision comes to the light.
        log = Revision.objects.using(self._reads_from()).filter(workspace=self.workspace_pk)
        return log.seen_in(self.session)

    def _row(self, key: str) -> Revision | None:
        """Return what was there under exactly `key`, or None."""
        row = self._log().filter(key=key).up_to(self.number).order_by("-number").first()
        if row is None or row.body is None:
            return None
        return None if row.expires_at is not None and row.expires_at <= self.now else row

    def _notes(self) -> RevisionQuerySet:
        return self._live().filter(body__isnull=False)

    def _live(self) -> RevisionQuerySet:
        """Return the state of every key, but what had expired."""
        unexpired = Q(expires_at=None) | Q(expires_at__gt=self.now)
        return self._log().current_at(self.number).filter(unexpired)

    def _version(self) -> str:
        # Between two revisions the text changes where something expires.
        return f"revision-{self.number}-{self.now.isoformat()}"

    def _entries(self) -> list[tuple[str, str]]:
        entries = self._live().filter(summary__isnull=False)
        rows = entries.order_by("key").values_list("key", "summary")
        return [(key, summary or "") for key, summary in rows]
