"""Keeps what `find` reads in step with the notes, inside the critical section.

Terms are made anew from what a note says. Sums are kept by what the note's row says was counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db.models import QuerySet

from django_agent_memory.analysing import NoteTerms, analyse_note
from django_agent_memory.models import Note, NoteContext, Posting, Workspace
from django_agent_memory.models.details import effective_contexts, fingerprint, specificity
from django_agent_memory.models.posting import private_context
from django_agent_memory.results import Details
from django_agent_memory.text.flags import encode_flags, flags_of

from .statements import insert_values

if TYPE_CHECKING:
    from .channel import Transcript
    from .state import State

COUNTED = (Posting, NoteContext)
"""The rows that find reads beside the notes."""


@dataclass(frozen=True, slots=True)
class Document:
    """A note as `find` counts it."""

    position: int
    contexts: tuple[str, ...]
    found: NoteTerms
    specificity: int = 0
    fingerprint: str = ""
    flags: str = ""

    @property
    def columns(self) -> dict[str, Any]:
        """What its note's row has of it, all derived from the rest of the row."""
        return {
            "length": len(self.found.terms),
            "told": self.found.told,
            "has_number": self.found.has_number,
            "specificity": self.specificity,
            "fingerprint": self.fingerprint,
            "flags": self.flags,
        }

    def postings(self) -> Iterator[tuple[str, int, int, int]]:
        """Yield term, position, frequency and place of each of its postings."""
        terms = self.found.terms
        places = {term: place for place, term in reversed([*enumerate(terms)])}
        for term, frequency in Counter(terms).items():
            yield term, self.position, frequency, places[term]

    def placed(self) -> Iterator[tuple[str, int]]:
        """Yield each of its contexts with its position."""
        for context in self.contexts:
            yield context, self.position


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
    return Document(
        state.position,
        counted_contexts(key, details),
        found,
        specificity(key, details.contexts),
        fingerprint(state.text or "", details, is_json=state.is_json),
        _flags(key, state),
    )


def _flags(key: str, state: State) -> str:
    details = state.details
    found = flags_of(
        key=key,
        summary=state.summary or "",
        body=state.text or "",
        subject=details.subject,
        contexts=details.contexts,
    )
    return encode_flags(found)


def documents(states: Mapping[str, State]) -> dict[str, Document]:
    """Return what `find` counts of those that have a note."""
    return {key: document(key, state) for key, state in states.items() if state.text is not None}


def counted_contexts(key: str, details: Details) -> tuple[str, ...]:
    """Return the contexts of a note by the names that rows have for them, in order."""
    contexts = effective_contexts(key, details.contexts)
    if not details.session:
        return contexts
    return tuple(sorted(private_context(details.session, context) for context in contexts))


class Removed(NamedTuple):
    """How many rows were removed."""

    postings: int
    contexts: int


def store_postings(
    transcript: Transcript, kept: Mapping[str, Document], before: Mapping[str, State]
) -> Removed:
    """Replace what is counted of the notes in `before` by the documents `kept`.

    One statement for new notes, one for their contexts, one each for what there was.
    """
    had = {key: state for key, state in before.items() if state.position}
    postings = _take_away(transcript, Posting, {state.position for state in had.values()})
    _insert(transcript, Posting, [row for one in kept.values() for row in one.postings()])
    contexts = _store_contexts(transcript, kept, had)
    workspace = transcript.workspace
    gained = sum(len(one.found.terms) for one in kept.values())
    gone = sum(state.length for state in had.values())
    workspace.counted_notes = max(0, workspace.counted_notes + len(kept) - len(had))
    workspace.counted_terms = max(0, workspace.counted_terms + gained - gone)
    return Removed(postings, contexts)


def _store_contexts(
    transcript: Transcript, kept: Mapping[str, Document], had: Mapping[str, State]
) -> int:
    old = {
        key: (state.position, counted_contexts(key, state.details)) for key, state in had.items()
    }
    new = {key: (one.position, one.contexts) for key, one in kept.items()}
    gone = {place for key, place in old.items() if new.get(key) != place and place[1]}
    removed = _take_away(transcript, NoteContext, {position for position, _ in gone})
    added = [one for key, one in kept.items() if old.get(key) != new[key]]
    _insert(transcript, NoteContext, [row for one in added for row in one.placed()])
    return removed


def recount(transcript: Transcript, kept: Collection[Document]) -> None:
    """Count these notes anew, whatever was counted of them; the sums are left as they are."""
    take_away(transcript, {one.position for one in kept})
    _insert(transcript, Posting, [row for one in kept for row in one.postings()])
    _insert(transcript, NoteContext, [row for one in kept for row in one.placed()])
    for one in kept:
        notes = transcript.rows(Note).filter(workspace=transcript.workspace)
        notes.filter(position=one.position).update(**one.columns)


def forget_all(transcript: Transcript) -> Removed:
    """Take away what is counted of all notes of the workspace."""
    workspace = transcript.workspace
    workspace.counted_notes = workspace.counted_terms = 0
    rows = (counted_rows(model, workspace, None, using=transcript.using) for model in COUNTED)
    return Removed(*(of_model.delete()[0] for of_model in rows))


def counted_rows(
    model: type[Any], workspace: Workspace, positions: Collection[int] | None, *, using: str
) -> QuerySet[Any]:
    """Return the rows that find reads of the notes at these positions; None for all notes."""
    rows: QuerySet[Any] = model.objects.using(using).filter(workspace=workspace)
    return rows if positions is None else rows.filter(position__in=sorted(positions))


def take_away(transcript: Transcript, positions: Collection[int]) -> None:
    """Take away what is counted of the notes at these positions."""
    for model in COUNTED:
        _take_away(transcript, model, positions)


def _take_away(transcript: Transcript, model: type[Any], positions: Collection[int]) -> int:
    if not positions:
        return 0
    rows = counted_rows(model, transcript.workspace, positions, using=transcript.using)
    return rows.delete()[0]


def _insert(transcript: Transcript, model: type[Any], rows: list[tuple[Any, ...]]) -> None:
    """Insert rows of the model's columns after the workspace."""
    # In the order of the index, so that each of its pages is written once a batch.
    rows.sort()
    values = [(transcript.workspace.pk, *row) for row in rows]
    insert_values(model, values, using=transcript.using)
