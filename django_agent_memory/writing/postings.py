"""Keeps what `find` counts in step with the notes, inside the critical section.

The terms of a note are made anew from what it says; what is taken away is what the rows say, so
that a changed analyser leaves nothing behind.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import connections

from django_agent_memory.analysing import NoteTerms, analyse_note
from django_agent_memory.models import Placement, Posting, Tally
from django_agent_memory.models.details import effective_contexts
from django_agent_memory.models.posting import MOST_SUBJECT_CHARACTERS

from .locking import locked, upsert

if TYPE_CHECKING:
    from .channel import Transcript
    from .state import State

TallyName = tuple[str, str]
_ROWS_A_STATEMENT = 5_000


class _Place(NamedTuple):
    """What the placements of one note say."""

    contexts: tuple[str, ...]
    length: int
    subject: str


@dataclass(frozen=True, slots=True)
class Document:
    """A note as `find` counts it."""

    position: int
    contexts: tuple[str, ...]
    subject: str
    found: NoteTerms

    @property
    def place(self) -> _Place:
        return _Place(self.contexts, len(self.found.terms), self.subject)

    def postings(self) -> Iterator[tuple[str, int, int, int]]:
        """Yield term, position, frequency and place of each of its postings."""
        terms = self.found.terms
        places = {term: place for place, term in reversed([*enumerate(terms)])}
        for term, frequency in Counter(terms).items():
            yield term, self.position, frequency, places[term]

    def placements(self) -> Iterator[tuple[Any, ...]]:
        """Yield the columns of its placements, but for the workspace."""
        length, found = len(self.found.terms), self.found
        for context in self.contexts or ("",):
            yield self.position, context, length, found.told, found.has_number, self.subject


def document(key: str, state: State) -> Document:
    """Return what `find` counts of a note; `state` must have one."""
    details = state.details
    found = analyse_note(
        key=key,
        summary=state.summary or "",
        body=state.text or "",
        subject=details.subject,
        contexts=details.contexts,
        happened_at=details.happened_at,
    )
    contexts = effective_contexts(key, details.contexts)
    subject = details.subject[:MOST_SUBJECT_CHARACTERS]
    if details.session:
        # What a note says raises those next to it and about the same: to others it is next to none.
        contexts = tuple(sorted(_private(context, details.session) for context in contexts))
        subject = ""
    return Document(state.position, contexts, subject, found)


def _private(context: str, session: str) -> str:
    """Return a name that no other context has, given or private, and that tells nothing."""
    digest = hashlib.blake2b(f"{session}\0{context}".encode(), digest_size=16)
    return f"\x01{digest.hexdigest()}"


def store_postings(
    transcript: Transcript, after: dict[str, State], before: dict[str, State]
) -> None:
    """Replace what is counted of the touched notes.

    Four statements for new notes, six if any was there before.
    """
    had = {state.position for key in after if (state := before[key]).text is not None}
    kept = [document(key, state) for key, state in after.items() if state.text is not None]
    replace_documents(transcript, had, kept)


def replace_documents(
    transcript: Transcript, had: Collection[int], kept: Collection[Document]
) -> None:
    """Take away what is counted of the notes at the positions `had`, and count those `kept`."""
    changes = _Changes()
    for place in _take_away(transcript, had):
        changes.add(place, -1)
    for one in kept:
        changes.add(one.place, 1)
    # In the order of the index, so that each of its pages is written once a batch.
    _insert(transcript, Posting, sorted(row for one in kept for row in one.postings()))
    _insert(transcript, Placement, sorted(row for one in kept for row in one.placements()))
    changes.write(transcript)


def forget_postings(transcript: Transcript, positions: Collection[int] | None) -> None:
    """Take away what is counted of the notes at the positions; of all notes if None."""
    if positions is not None:
        replace_documents(transcript, positions, ())
        return
    for model in (Posting, Placement, Tally):
        transcript.rows(model).filter(workspace=transcript.workspace).delete()


class _Changes:
    """What a batch adds to each tally."""

    def __init__(self) -> None:
        self._documents: Counter[TallyName] = Counter()
        self._length: Counter[TallyName] = Counter()

    def add(self, place: _Place, sign: int) -> None:
        """Count one note (`sign` 1), or count it no longer (-1)."""
        kind = Tally.Kind
        names = [(kind.NOTES.value, "")]
        names += [(kind.CONTEXT.value, context) for context in place.contexts]
        if place.subject:
            names.append((kind.SUBJECT.value, place.subject))
        for name in names:
            self._documents[name] += sign
            self._length[name] += sign * place.length
        # A context is one document, counted below where it appears or goes.
        self._length[kind.CONTEXTS.value, ""] += sign * place.length * len(place.contexts)

    def write(self, transcript: Transcript) -> None:
        """Read the tallies, locked, and write them anew; those of nothing are removed."""
        touched = {
            name
            for name in (*self._documents, *self._length)
            if self._documents[name] or self._length[name]
        }
        if not touched:
            return
        contexts = (Tally.Kind.CONTEXTS.value, "")
        tallies = _read_tallies(transcript, {*touched, contexts})
        appeared = 0
        for name in touched - {contexts}:
            documents, length = tallies.get(name, (0, 0))
            left = max(0, documents + self._documents[name])
            tallies[name] = (left, max(0, length + self._length[name]))
            if name[0] == Tally.Kind.CONTEXT:
                appeared += (left > 0) - (documents > 0)
        documents, length = tallies.get(contexts, (0, 0))
        length = max(0, length + self._length[contexts])
        tallies[contexts] = (max(0, documents + appeared), length)
        _write_tallies(transcript, tallies)


def _read_tallies(
    transcript: Transcript, names: Iterable[TallyName]
) -> dict[TallyName, tuple[int, int]]:
    wanted = {
        "workspace": transcript.workspace,
        "kind__in": sorted({kind for kind, _ in names}),
        "name__in": sorted({name for _, name in names}),
    }
    rows = locked(transcript.rows(Tally).filter(**wanted), transcript.using)
    return {
        (kind, name): (documents, length)
        for kind, name, documents, length in rows.values_list("kind", "name", "documents", "length")
    }


def _write_tallies(transcript: Transcript, tallies: dict[TallyName, tuple[int, int]]) -> None:
    named = (Tally.Kind.CONTEXT, Tally.Kind.SUBJECT)
    empty = [name for name, (documents, _) in tallies.items() if name[0] in named and not documents]
    rows = [
        Tally(
            workspace_id=transcript.workspace.pk,
            kind=kind,
            name=name,
            documents=documents,
            length=length,
        )
        for (kind, name), (documents, length) in sorted(tallies.items())
        if (kind, name) not in empty
    ]
    identity = ["workspace", "kind", "name"]
    overwrite = ["documents", "length"]
    upsert(Tally, rows, identity=identity, overwrite=overwrite, using=transcript.using)
    for kind in named:
        gone = [name for of_kind, name in empty if of_kind == kind]
        if gone:
            of_workspace = transcript.rows(Tally).filter(workspace=transcript.workspace)
            of_workspace.filter(kind=kind, name__in=gone).delete()


def _take_away(transcript: Transcript, positions: Collection[int]) -> Iterable[_Place]:
    """Delete what is counted of the notes at the positions, and return what was."""
    if not positions:
        return ()
    wanted = {"workspace": transcript.workspace, "position__in": sorted(positions)}
    placements = transcript.rows(Placement).filter(**wanted)
    contexts: dict[int, list[str]] = {}
    others: dict[int, tuple[int, str]] = {}
    for position, context, *other in locked(placements, transcript.using).values_list(
        "position", "context", "length", "subject"
    ):
        contexts.setdefault(position, []).extend([context] if context else [])
        others[position] = tuple(other)
    transcript.rows(Posting).filter(**wanted).delete()
    placements.delete()
    return [_Place(tuple(contexts[position]), *others[position]) for position in contexts]


def _insert(transcript: Transcript, model: type[Any], rows: list[tuple[Any, ...]]) -> None:
    """Insert rows of the model's columns after `pk` and the workspace."""
    connection = connections[transcript.using]
    quote = connection.ops.quote_name
    columns = [field.column for field in model._meta.concrete_fields]
    names = ", ".join(map(quote, columns))
    # Objects and the checks of bulk_create take several times as long as the inserts themselves.
    with connection.cursor() as cursor:
        for start in range(0, len(rows), _ROWS_A_STATEMENT):
            batch = rows[start : start + _ROWS_A_STATEMENT]
            if connection.vendor == "postgresql":
                sql, parameters = _unnested(connection, model, batch)
                cursor.execute(sql, [transcript.workspace.pk, *parameters])
            else:
                marks = ", ".join(["%s"] * len(columns))
                cursor.executemany(
                    f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({marks})",  # noqa: S608
                    [(transcript.workspace.pk, *row) for row in batch],
                )


def _unnested(
    connection: Any, model: type[Any], rows: list[tuple[Any, ...]]
) -> tuple[str, list[Any]]:
    """Return the statement that inserts all rows at once from an array a column."""
    quote = connection.ops.quote_name
    fields = list(model._meta.concrete_fields)
    names = ", ".join(quote(field.column) for field in fields)
    arrays = ", ".join(f"%s::{_array_type(field, connection)}[]" for field in fields[1:])
    sql = f"INSERT INTO {quote(model._meta.db_table)} ({names}) SELECT %s, * FROM unnest({arrays})"  # noqa: S608
    return sql, [list(column) for column in zip(*rows, strict=True)]


def _array_type(field: Any, connection: Any) -> str:
    return str(field.db_type(connection)).partition("(")[0]
