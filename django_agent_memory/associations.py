"""Knowledge by what it is about: which notes a query and filters find, and in which order.

A filter is exact and all have to fit. With a query, the ranker orders what fits; without one, the
order is weight, recency (when it was last stored or recalled), specificity, key.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from django.db.models import Exists, OuterRef, Q
from django.utils.module_loading import import_string

from . import writing
from .conf import conf
from .exceptions import Refused
from .models import IndexEntry, Note, NoteContext, Workspace
from .models.details import COLUMNS, details_of
from .models.note import NoteQuerySet, body_value
from .models.posting import private_context
from .relevance import ties
from .results import Finding, Found, Outcome, fields_of
from .rows import columns_of, read_notes, workspace_at
from .text import gate
from .writing import details as rules

_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "kind": rules.check_name,
    "slot": rules.check_name,
    "subject": rules.check_label,
    "source": rules.check_label,
    "context": rules.check_contexts,
    "key_prefix": lambda value, name: gate.check_text(value, name=name, limit=conf.max_key_length),
    "min_weight": rules.check_weight,
}

_TEXT = ("id", "key", "body", "body_is_json", "entry__summary")
_TIMES = ("revision", "created_at", "updated_at")
_SHOWN = (
    *columns_of(Note, *_TEXT[:-1]),
    *columns_of(IndexEntry, "summary"),
    *columns_of(Note, *_TIMES, *COLUMNS),
)
_WEIGHT = len(_TEXT) + len(_TIMES) + COLUMNS.index("weight")


class Known(TypedDict, total=False):
    """What can be said of a note beside its text; see `writing.Save`."""

    kind: str | writing.Keep
    slot: str | writing.Keep
    subject: str | writing.Keep
    weight: float | writing.Keep
    context: writing.Contexts | writing.Keep
    source: str | writing.Keep
    happened_at: datetime.datetime | None | writing.Keep
    expires_at: datetime.datetime | None | writing.Keep


class Stored(TypedDict, total=False):
    """The same for knowledge that is stored; see `writing.Store`."""

    kind: str
    slot: str
    subject: str
    weight: float
    context: writing.Contexts
    source: str
    happened_at: datetime.datetime | None
    expires_at: datetime.datetime | None


class Filters(TypedDict, total=False):
    """What find filters by; None asks nothing.

    `kind`, `slot`, `subject` and `source` are equal to it; the note is tied to `context`, or to
    each of several; its key starts with `key_prefix`; its weight is at least `min_weight`.
    """

    kind: str | None
    slot: str | None
    subject: str | None
    source: str | None
    context: writing.Contexts | None
    key_prefix: str | None
    min_weight: float | None


@dataclass(frozen=True, slots=True)
class Question:
    """A query and filters that passed the gate; `query` is "" where it is blank."""

    query: str
    filters: dict[str, Any]

    @property
    def asks(self) -> bool:
        """Whether there is anything to find notes by."""
        return bool(self.query or self.filters)

    def as_arguments(self) -> dict[str, Any]:
        """Return it as JSON, to tell it from others."""
        return {"query": self.query, "filters": self.filters}


def check(query: object, filters: Filters) -> Question:
    """Return the question, or raise `Refused`; TypeError for a filter that there is not."""
    if not isinstance(query, str):
        raise Refused("The query must be a string.")
    gate.check_characters(query, name="query")
    given = {name: value for name, value in filters.items() if value is not None}
    unknown = given.keys() - _CHECKS.keys()
    if unknown:
        raise TypeError(f"find has no filter {min(unknown)!r}.")
    checked = {name: _CHECKS[name](value, name) for name, value in given.items()}
    # Every key starts with nothing, every weight is at least 0, and every note is tied to all of no
    # contexts.
    kept = {
        name: value
        for name, value in checked.items()
        if value or name not in ("key_prefix", "context", "min_weight")
    }
    return Question(query if query.strip() else "", kept)


def check_limit(limit: object) -> None:
    """Raise `Refused` unless `limit` is an int of at least 1, or None."""
    if limit is not None and (type(limit) is not int or limit < 1):
        raise Refused("The limit must be a whole number of at least 1.")


def check_forgettable(question: Question) -> None:
    """Raise `Refused` for a question that names nothing: it would forget what nobody meant."""
    if not question.query and not any(value != "" for value in question.filters.values()):
        raise Refused("Say what to forget: a query, or a filter that is not empty.")


def find(
    path: str,
    *,
    query: str,
    filters: dict[str, Any],
    limit: int | None,
    using: str,
    session: str = "",
) -> tuple[Found, ...]:
    """Return what the question finds, best first, at most `limit`; nothing if it asks nothing."""
    question = Question(query, filters)
    if not question.asks:
        return ()
    if not query:
        rows = _in_order(_fitting(path, question, using, session))[:limit]
        found = rows.values_list(*_TEXT, *_TIMES, *COLUMNS, "specificity", "recency")
        return tuple(
            _found(row, parts=ties(row[_WEIGHT], recency, specificity))
            for *row, specificity, recency in found
        )
    ranked = _ranked(path, question, limit, using, session)
    rows_by_pk = _rows([one.pk for one in ranked], using)
    return tuple(
        _found(rows_by_pk[one.pk], one.score, one.parts) for one in ranked if one.pk in rows_by_pk
    )


def finding(
    path: str,
    *,
    query: str,
    filters: dict[str, Any],
    limit: int | None,
    using: str,
    session: str = "",
) -> Finding:
    """Return the same with the workspace's revision, which is read first.

    Whoever writes on the strength of it meets a conflict rather than overwriting what was not in
    the answer.
    """
    revision = Workspace.objects.using(using).last_revision(path)
    found = find(path, query=query, filters=filters, limit=limit, using=using, session=session)
    return Finding(found=found, workspace_revision=revision)


def forget(
    path: str,
    question: Question,
    apply: Callable[[list[Any]], list[Outcome]],
    *,
    using: str,
    session: str = "",
) -> list[Outcome]:
    """Forget, by `apply`, all that the question finds; what changes meanwhile is looked at anew."""

    def attempt() -> list[Outcome]:
        return apply(
            [
                writing.Drop(key=key, expected_revision=revision)
                for key, revision in _found_keys(path, question, using, session)
            ]
        )

    return writing.replanned(attempt)


def _found_keys(path: str, question: Question, using: str, session: str) -> list[tuple[str, int]]:
    if not question.query:
        notes = _fitting(path, question, using, session).order_by("key")
        return list(notes.values_list("key", "revision"))
    ranked = [one.pk for one in _ranked(path, question, None, using, session)]
    return [(row[1], row[len(_TEXT)]) for row in _rows(ranked, using).values()]


def _ranked(
    path: str, question: Question, limit: int | None, using: str, session: str
) -> list[Any]:
    workspace = workspace_at(path, using)
    if workspace is None:
        return []
    rank = import_string(conf.ranker)
    notes = Note.objects.using(using).filter(workspace=workspace).live(session=session)
    notes = _filtered(notes, question, path, session)
    ranked: list[Any] = rank(notes, question.query, workspace=workspace, limit=limit, using=using)
    return ranked


def _fitting(path: str, question: Question, using: str, session: str) -> NoteQuerySet:
    notes = Note.objects.using(using).filter(workspace__path=path).live(session=session)
    return _filtered(notes, question, path, session)


def _filtered(notes: NoteQuerySet, question: Question, path: str, session: str) -> NoteQuerySet:
    for name, value in question.filters.items():
        if name == "context":
            for context in value:
                notes = notes.filter(_tied_to(context, path, session))
        elif name == "key_prefix":
            notes = notes.with_prefix(value)
        elif name == "min_weight":
            notes = notes.filter(weight__gte=value)
        else:
            notes = notes.filter(**{name: value})
    return notes


def tied_to(context: str) -> Exists:
    """Return the condition that a shared note of any workspace is tied to exactly `context`.

    One that was given no context is tied to the path that its key lies directly under.
    """
    same = {"workspace": OuterRef("workspace"), "position": OuterRef("position")}
    return Exists(NoteContext.objects.filter(**same, context=context))


def _tied_to(context: str, path: str, session: str) -> Q:
    """Return the same for one workspace and for what the session has to itself as well.

    Not correlated: the context's notes are found by its index, however many others there are.
    """
    names = [context, private_context(session, context)] if session else [context]
    placed = NoteContext.objects.filter(workspace__path=path, context__in=names)
    return Q(position__in=placed.values("position"))


def _in_order(notes: NoteQuerySet) -> NoteQuerySet:
    recent: Any = notes.with_recency()
    ordered: NoteQuerySet = recent.order_by("-weight", "-recency", "-specificity", "key")
    return ordered


def _rows(pks: Sequence[int], using: str) -> dict[int, tuple[Any, ...]]:
    return {row[0]: row for row in read_notes(pks, _SHOWN, using)}


def _found(row: Sequence[Any], score: float = 0.0, parts: dict[str, float] | None = None) -> Found:
    _pk, key, text, is_json, summary, revision, created_at, updated_at, *details = row
    return Found(
        key=key,
        body=body_value(text, is_json=is_json),
        text=text,
        summary=summary,
        revision=revision,
        created_at=created_at,
        updated_at=updated_at,
        score=score,
        parts=dict(parts or {}),
        **fields_of(details_of(details)),
    )
