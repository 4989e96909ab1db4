"""The rows of a model: a note a row, by a function that says what a row tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from django.db import models

from .gathering import SourceMemory

_Row = TypeVar("_Row", bound=models.Model)

Describe = Callable[[_Row], Mapping[str, Any] | None]
"""Returns the arguments of `store`, `content` among them, or None for a row that tells nothing."""


def queryset(
    memory: SourceMemory,
    rows: models.QuerySet[_Row],
    describe: Describe[_Row],
    *,
    chunk_size: int = 500,
) -> None:
    """Store what `describe` says of each row, read `chunk_size` at a time, in their order.

    Without a `key` in it, it goes under the model's label and the row's primary key:
    `shop.product/12`.
    """
    for row in _chunked(rows, chunk_size):
        said = describe(row)
        if said is not None:
            memory.store(**{"key": key_under(rows.model, row.pk), **said})


def key_under(model: type[models.Model], pk: object) -> str:
    """Return the key of the note about a row."""
    return f"{model._meta.label_lower}/{pk}"


def _chunked(rows: models.QuerySet[_Row], size: int) -> Iterator[_Row]:
    """Yield the rows without a cursor that stays open.

    On SQLite one would keep the snapshot that it began with, in which nothing can be written any
    more once another process has.
    """
    if rows.query.is_sliced:
        yield from list(rows)
        return
    pks = list(dict.fromkeys(rows.values_list("pk", flat=True)))
    for start in range(0, len(pks), size):
        chunk = pks[start : start + size]
        found = {row.pk: row for row in rows.filter(pk__in=chunk)}
        yield from (found[pk] for pk in chunk if pk in found)
