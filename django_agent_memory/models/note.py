"""The two layers of a memory: the note, read on demand; the index entry, shown on every turn."""

from __future__ import annotations

import datetime
import sys
from typing import Any

from django.db import connections, models
from django.db.models import Q
from django.db.models.fields.related import ForeignObject
from django.db.models.functions import Coalesce, Greatest, Length
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_agent_memory.results import Details
from django_agent_memory.text.gate import is_sound_json, parse_json

from .details import COLUMNS, details_of
from .fields import ExactTextField, KeyField
from .usage import NoteUsage
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

    def live(self, now: datetime.datetime | None = None, *, session: str = "") -> NoteQuerySet:
        """All that a read may show: not past their expiry, and of no other session.

        What it asks for stands in `live_in_sql` once more.
        """
        return self.filter(seen_in(session), _unexpired(now))

    def seen_in(self, session: str) -> NoteQuerySet:
        """Those that all share, and those that the session has to itself."""
        return self.filter(seen_in(session))

    def private(self) -> NoteQuerySet:
        """Those that one session has to itself."""
        return self.filter(session__gt="")

    def unexpired(self, now: datetime.datetime | None = None) -> NoteQuerySet:
        """Those that do not expire, or not yet."""
        return self.filter(_unexpired(now))

    def expired(self, now: datetime.datetime | None = None) -> NoteQuerySet:
        """Those that are past their expiry and wait for their tombstone."""
        return self.filter(expires_at__lte=now or timezone.now())

    def unwritten_since(self, moment: datetime.datetime) -> NoteQuerySet:
        """Those last written before it."""
        return self.filter(updated_at__lt=moment)

    def recalled_since(self, moment: datetime.datetime) -> NoteQuerySet:
        """Those recalled from then on, as far as that is written already."""
        return self.filter(models.Exists(_usage().filter(recalled_at__gte=moment)))

    def unrecalled_since(self, moment: datetime.datetime) -> NoteQuerySet:
        """Those not recalled from then on, as far as that is written already."""
        return self.filter(~models.Exists(_usage().filter(recalled_at__gte=moment)))

    def never_recalled(self) -> NoteQuerySet:
        """Those not recalled at all, as far as that is written already."""
        return self.filter(~models.Exists(_usage()))

    def ever_recalled(self) -> NoteQuerySet:
        """Those recalled at some time, as far as that is written already."""
        return self.filter(models.Exists(_usage()))

    def flagged(self, flag: str = "") -> NoteQuerySet:
        """Those that a person should look at, for any reason or for this one."""
        # A set of their own: SQLite would look for the few among all notes, in the order of keys.
        notes = Note.objects.filter(flags__gt="").order_by()
        chosen = notes.filter(flags__contains=flag) if flag else notes
        return self.filter(pk__in=chosen.values("pk"))

    def with_size(self) -> NoteQuerySet:
        """Each with `size`: the length of its body in code points."""
        return self.annotate(size=Length("body"))

    def longer_than(self, characters: int) -> NoteQuerySet:
        """Those whose body has more code points."""
        return self.alias(characters=Length("body")).filter(characters__gt=characters)

    def no_longer_than(self, characters: int) -> NoteQuerySet:
        """Those whose body has no more code points."""
        return self.alias(characters=Length("body")).filter(characters__lte=characters)

    def with_recency(self) -> NoteQuerySet:
        """Each with `recency`: when it was last stored or recalled."""
        last = models.Subquery(_usage().values("recalled_at")[:1])
        return self.annotate(recency=Greatest("updated_at", Coalesce(last, "updated_at")))

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

    kind = KeyField(
        _("kind"),
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text=_("What sort of memory; free text."),
    )
    slot = KeyField(
        _("slot"),
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text=_("Where in a prompt it goes; free text."),
    )
    subject = KeyField(
        _("subject"),
        max_length=255,
        blank=True,
        default="",
        db_default="",
        help_text=_("Whom or what it is about, or who said it."),
    )
    weight = models.FloatField(_("weight"), default=1.0, db_default=1.0)
    source = KeyField(
        _("source"),
        max_length=255,
        blank=True,
        default="",
        db_default="",
        help_text=_("What it was taken from."),
    )
    session = KeyField(
        _("session"),
        max_length=255,
        blank=True,
        default="",
        db_default="",
        help_text=_("The only session that sees it."),
    )
    happened_at = models.DateTimeField(_("happened"), null=True, blank=True)
    expires_at = models.DateTimeField(
        _("expires"), null=True, blank=True, help_text=_("From then on no agent sees it.")
    )
    contexts = models.TextField(
        _("contexts"),
        blank=True,
        default="",
        db_default="",
        help_text=_("What it is tied to, as a JSON list; empty: the path its key lies under."),
    )
    specificity = models.PositiveSmallIntegerField(
        default=0, db_default=0, editable=False, help_text="Path segments of its narrowest context."
    )
    fingerprint = models.CharField(
        max_length=32,
        default="",
        db_default="",
        editable=False,
        help_text="Digest of body, contexts, slot, source and session: what store compares.",
    )
    length = models.PositiveIntegerField(
        default=0, db_default=0, editable=False, help_text="Number of terms that find counts."
    )
    told = models.PositiveIntegerField(
        default=0, db_default=0, editable=False, help_text="Number of those in summary and body."
    )
    has_number = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="Whether there is a number among those.",
    )
    flags = KeyField(
        _("flags"),
        max_length=128,
        default="",
        db_default="",
        editable=False,
        help_text=_("What a person should look at in it."),
    )

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
        indexes = [
            # What has expired is asked for on every turn, and what a session has to itself.
            models.Index(
                fields=("workspace", "session", "expires_at"), name="agent_memory_note_session"
            ),
            # So is what goes into a slot of the prompt.
            models.Index(fields=("workspace", "slot"), name="agent_memory_note_slot"),
            models.Index(fields=("workspace", "fingerprint"), name="agent_memory_note_same"),
            # The few that are flagged, wherever they are.
            models.Index(fields=("flags", "workspace"), name="agent_memory_note_flags"),
            # By its position find knows a note; what else it asks of very many lies beside that.
            models.Index(
                fields=(
                    "workspace",
                    "position",
                    "length",
                    "told",
                    "has_number",
                    "session",
                    "subject",
                ),
                name="agent_memory_note_position",
            ),
        ]

    def __str__(self) -> str:
        return str(self.key)

    @property
    def known(self) -> Details:
        """What it has beside its text; reading is total, whatever its columns hold."""
        return details_of([getattr(self, name) for name in COLUMNS])

    @property
    def value(self) -> Any:
        """The body as the type it was given: see `body_value`."""
        return body_value(self.body, is_json=self.body_is_json)


class IndexEntryQuerySet(models.QuerySet["IndexEntry"]):
    """Sets of index entries, named by what is true of them."""

    def live(self, now: datetime.datetime | None = None) -> IndexEntryQuerySet:
        """Those whose notes all share, not past their expiry."""
        same = {"workspace": models.OuterRef("workspace"), "key": models.OuterRef("key")}
        notes = Note.objects.filter(**same)
        return self.filter(~models.Exists(notes.expired(now)), ~models.Exists(notes.private()))


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

    objects = IndexEntryQuerySet.as_manager()

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


def seen_in(session: str) -> Q:
    """Return the condition that a session ("" for none) may see a note, or a revision.

    Not by equality: that would lead planners to the index of sessions, in which nearly all notes of
    a workspace are one.
    """
    shared = ~Q(session__gt="")
    return shared | Q(session=session) if session else shared


def live_in_sql(session: str, *, using: str) -> tuple[str, list[Any]]:
    """Return what `live` asks of the note called n as SQL, and the parameters of that.

    For statements that the ORM would take longer to write than the database to answer.
    """
    now = connections[using].ops.adapt_datetimefield_value(timezone.now())
    unexpired = "(n.expires_at IS NULL OR n.expires_at > %s)"
    shared = "NOT (n.session > '')"
    if not session:
        return f"{unexpired} AND {shared}", [now]
    return f"{unexpired} AND ({shared} OR n.session = %s)", [now, session]


def _usage() -> models.QuerySet[NoteUsage]:
    """Return the usage of the note that the query around it is about."""
    same = {"workspace": models.OuterRef("workspace"), "position": models.OuterRef("position")}
    return NoteUsage.objects.filter(**same)


def _unexpired(now: datetime.datetime | None) -> Q:
    return Q(expires_at=None) | Q(expires_at__gt=now or timezone.now())


def at_or_below(path: str, name: str) -> Q:
    """Return the condition that the column `name` holds the path, or one below it.

    In whole segments: `acme` is above `acme/x` and not above `acme-corp`.
    """
    below = f"{path}/"
    return Q(**{name: path}) | Q(**{f"{name}__gt": below, f"{name}__lt": after_all_with(below)})


def after_all_with(prefix: str) -> str | None:
    """Return the least string greater than all that start with `prefix`; None if there is none."""
    stem = prefix.rstrip(chr(sys.maxunicode))
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    is_surrogate = 0xD800 <= following <= 0xDFFF
    return stem[:-1] + chr(0xE000 if is_surrogate else following)
