"""The two layers of a memory: the note, read on demand; the index entry, shown on every turn."""

from __future__ import annotations

import sys
from typing import Any

from django.db import models
from django.db.models.fields.related import ForeignObject
from django.db.models.functions import Length
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_agent_memory.text.gate import is_sound_json, parse_json

from .fields import ExactTextField, KeyField
from .workspace import Workspace


class NoteQuerySet(models.QuerySet["Note"]):
    """Sets of notes, named by what is true of them."""

    def with_prefix(self, prefix: str) -> NoteQuerySet:
        """Those whose key starts with exactly `prefix`.

        A range in key order: LIKE folds case on SQLite and takes no index elsewhere.
        """
        end = after_all_with(prefix)
        notes = self.filter(key__gte=prefix) if prefix else self
        return notes if end is None else notes.filter(key__lt=end)

    def with_size(self) -> NoteQuerySet:
        """Each with `size`: the length of its body in code points."""
        return self.annotate(size=Length("body"))

    def without_summary(self) -> NoteQuerySet:
        """Those that have no index entry."""
        # Not `entry=None`: that asks whether the columns of the join are null, which none is.
        return self.filter(entry__summary=None)


class Note(models.Model):
    """A body under a key. Written by `writing` only."""

    workspace = models.ForeignKey(
        Workspace,
        models.CASCADE,
        related_name="notes",
        db_index=False,
        verbose_name=_("workspace"),
    )
    key = KeyField(_("key"), max_length=512)
    body = models.TextField(_("body"), blank=True)
    body_is_json = models.BooleanField(_("body is JSON"), default=False)
    haystack = ExactTextField(
        editable=False, help_text="Folded key, summary and body; what search reads."
    )
    revision = models.PositiveBigIntegerField(
        _("revision"), default=0, help_text=_("Number of the revision that wrote it.")
    )
    position = models.PositiveBigIntegerField(
        default=0, help_text="Number of the revision that first stored it."
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    updated_at = models.DateTimeField(_("updated"), default=timezone.now)

    # A join and no column: entry and note share workspace and key and may each be missing, so there
    # is nothing to constrain. Fetching the summary this way costs 1.2 of the bare query, a subquery
    # 2.3 (the ORM's compilation dominates).
    entry = ForeignObject(
        "IndexEntry",
        on_delete=models.DO_NOTHING,
        from_fields=("workspace", "key"),
        to_fields=("workspace", "key"),
        related_name="+",
        null=True,
        editable=False,
        serialize=False,
    )

    objects = NoteQuerySet.as_manager()

    class Meta:
        verbose_name = _("note")
        verbose_name_plural = _("notes")
        constraints = [
            models.UniqueConstraint(fields=("workspace", "key"), name="agent_memory_note_key"),
        ]

    def __str__(self) -> str:
        return str(self.key)

    @property
    def value(self) -> Any:
        """The body as the type it was given: see `body_value`."""
        return body_value(self.body, is_json=self.body_is_json)


class IndexEntry(models.Model):
    """One line of the index. Not a foreign key of its note: either may be missing."""

    workspace = models.ForeignKey(
        Workspace,
        models.CASCADE,
        related_name="index_entries",
        db_index=False,
        verbose_name=_("workspace"),
    )
    key = KeyField(_("key"), max_length=512)
    summary = models.TextField(_("summary"), blank=True)

    class Meta:
        verbose_name = _("index entry")
        verbose_name_plural = _("index entries")
        constraints = [
            models.UniqueConstraint(fields=("workspace", "key"), name="agent_memory_entry_key"),
        ]

    def __str__(self) -> str:
        return str(self.key)


def body_value(body: str, *, is_json: bool) -> Any:
    """Return the text, or the JSON value it renders; damaged JSON text is returned as text.

    Reads are total: what raw SQL put there is shown, not raised.
    """
    return parse_json(body) if is_json and is_sound_json(body) else body


def after_all_with(prefix: str) -> str | None:
    """Return the least string greater than all that start with `prefix`; None if there is none."""
    stem = prefix.rstrip(chr(sys.maxunicode))
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    is_surrogate = 0xD800 <= following <= 0xDFFF
    return stem[:-1] + chr(0xE000 if is_surrogate else following)
