"""What the verbs of `Memory` return: frozen, keyword-only, plain data."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, fields
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What a note has beside its text.

    `contexts` are what it was tied to, in code-point order, none where none were given. `weight` is
    0 or more. Past `expires_at` no read shows it.
    """

    kind: str = ""
    slot: str = ""
    subject: str = ""
    weight: float = 1.0
    contexts: tuple[str, ...] = ()
    source: str = ""
    session: str = ""
    happened_at: datetime.datetime | None = None
    expires_at: datetime.datetime | None = None


def fields_of(details: Details) -> dict[str, Any]:
    """Return the details by name, to build what has them too."""
    return {part.name: getattr(details, part.name) for part in fields(Details)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What became of a remember. `replaced_revision` is the revision that keeps the old text."""

    key: str
    outcome: Literal["created", "replaced", "unchanged"]
    revision: int
    replaced_revision: int | None = None
    workspace_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgot:
    """A forget that removed a note, an index entry or both; `revision` is its tombstone."""

    key: str
    outcome: Literal["forgot"] = "forgot"
    revision: int
    workspace_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WasAbsent:
    """A forget that found nothing and changed nothing; `suggestions` are up to 3 near keys."""

    key: str
    outcome: Literal["was_absent"] = "was_absent"
    suggestions: tuple[str, ...] = ()
    workspace_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What became of a restore; `exists` is False where it brought back that nothing was there."""

    key: str
    outcome: Literal["restored", "unchanged"]
    revision: int
    restored_revision: int
    exists: bool
    workspace_revision: int


Outcome = Remembered | Forgot | WasAbsent | Restored


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled(Details):
    """A note as it is stored. `body` has the type it was given, `text` is what a model reads."""

    key: str
    body: Any
    text: str
    summary: str | None
    revision: int
    created_at: datetime.datetime
    updated_at: datetime.datetime
    workspace_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A key without a note; `suggestions` are up to 3 near keys."""

    key: str
    suggestions: tuple[str, ...]
    workspace_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLine:
    """One entry of the index: the key, the whole stored summary, and the line as it is shown."""

    key: str
    summary: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Every entry of the index, in key order."""

    lines: tuple[IndexLine, ...]
    workspace_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A note that a search found; `excerpt` is the part of its body around the hit, on one line."""

    key: str
    summary: str | None
    excerpt: str
    excerpt_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Details):
    """A note that find returned, with its `score` and the named `parts` of it.

    A score is 0 where nothing was asked for but filters. `parts` are those of `relevance.Ranked`:
    what the score is made of, and `weight`, `recency` and `specificity`, which decide between equal
    scores.
    """

    key: str
    body: Any
    text: str
    summary: str | None
    revision: int
    created_at: datetime.datetime
    updated_at: datetime.datetime
    score: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What find returned, best first, with the workspace's revision."""

    found: tuple[Found, ...]
    workspace_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """How many notes a forget_matching forgot, with the workspace's revision."""

    count: int
    workspace_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The first 8 matches in key order, and how many notes match in all."""

    pattern: str
    matches: tuple[Match, ...]
    total: int
    workspace_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Revised(Details):
    """One revision of one key: the full state after it.

    `exists` is False after a forget, with body, text and summary None; `text` is the body as a
    model reads it. A redacted one has them blank.
    """

    number: int
    operation: str
    key: str
    exists: bool
    summary: str | None
    body: Any
    text: str | None
    redacted: bool
    actor: str
    reason: str
    created_at: datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """The index text of a workspace, and the version it has until the text changes.

    A workspace that does not exist yet has the text "" and the version "".
    """

    text: str
    version: str
    workspace_revision: int

    @property
    def lines(self) -> int:
        """Number of lines below the header."""
        return self.text.count("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What the index of a workspace costs on every turn, and what it gains a day.

    `lines` is the number of index entries, `shown` how many of them the text shows; `characters`
    and `tokens` (an estimate) are its length, within the `index_budget` if there is one. Growth is
    that of the whole index, whatever its budget, over the last `growth_days`, 1 to 30; it may be
    negative. `stats` says what counts. All is 0 where there is no workspace.
    """

    notes: int
    lines: int
    shown: int
    characters: int
    tokens: int
    index_budget: int | None
    growth_days: float
    lines_per_day: float
    characters_per_day: float
    tokens_per_day: float
    workspace_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """How many revisions and recorded calls were blanked, and the revision that says so.

    `kept_revision` is the one that the note still says, None if it says nothing any more;
    `revision` is None where there was nothing to blank.
    """

    key: str
    revisions: int
    recorded_calls: int
    kept_revision: int | None
    revision: int | None
    workspace_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """How many rows went, by table; recorded calls are blanked, so that none is done again."""

    notes: int
    index_entries: int
    revisions: int
    recorded_calls: int
    postings: int = 0
    contexts: int = 0
    usage: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Redactable:
    """What a redaction would blank by now: rows as in `Redacted`, and code points of text.

    `last_revision` is the key's, 0 for none; `redact` takes it as what it expects.
    """

    revisions: int
    characters: int
    recorded_calls: int
    kept_revision: int | None
    last_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasable:
    """What an erasure would remove by now: the rows, and code points of text in them.

    `last_revision` is that of the key, or of the workspace; `erase` takes it as what it expects.
    """

    rows: Erased
    characters: int
    last_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """How many notes a clear forgot; each has its tombstone."""

    notes: int
    workspace_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledBack:
    """The keys that have their state from before again, and those left to what others wrote."""

    restored: tuple[Restored, ...]
    left_alone: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """A contradiction between rows; `key` is "" where it concerns the workspace.

    Kinds: note_missing, entry_without_note, note_without_history, note_differs, entry_missing,
    entry_differs, haystack_stale, contexts_stale, broken_json, revision_differs,
    revision_counter_behind, history_start_ahead; and revisions_missing and contexts_without_note,
    of which there are `count`.
    """

    kind: str
    key: str
    count: int = 1
