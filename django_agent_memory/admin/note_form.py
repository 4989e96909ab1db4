"""The form of a note: what is stored stays exactly as it is unless a person changes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget
from django.core.exceptions import ValidationError
from django.db import router
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from django_agent_memory import reading
from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Conflict, Refused
from django_agent_memory.memory import Memory
from django_agent_memory.models import Note
from django_agent_memory.models.details import PLAIN
from django_agent_memory.results import Remembered
from django_agent_memory.text import gate
from django_agent_memory.writing.channel import MAX_REASON_LENGTH

from . import newlines
from .details_form import DetailsForm
from .differences import Line, differences
from .forms import ExactTextField, FixedValue, refusals_as_errors
from .known import Fact, facts
from .marking import COVERED, COVERED_HELP, has_secret
from .numbers import is_number

OVERWRITE = "_overwrite"
_ROOM_FOR_THE_REST = 100_000
_TYPES = {"text": _("text"), "json": _("JSON")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """What the form would have overwritten: `revision` is that of the stored note, 0 if none is."""

    revision: int
    summary: list[Line]
    body: list[Line]
    index_line_differs: bool
    known: list[Fact]
    is_covered: bool
    """Whether a credential is in one of the texts: then they are read on demand only."""

    @property
    def says_the_same(self) -> bool:
        """Whether nothing differs."""
        return not (self.summary or self.body or self.index_line_differs or self.known)


class ExactKeyField(forms.CharField):
    """A key, not trimmed. Browsers send the newline of a key as CRLF, and no key can hold a CR."""

    widget = AdminTextInputWidget

    def to_python(self, value: Any) -> Any:
        """Return the key with LF for CRLF."""
        return newlines.plain(super().to_python(value) or "")


class NoteForm(DetailsForm):
    """Save a note through the channel, at the revision that the person has seen or not at all."""

    key = ExactKeyField(
        label=_("Key"),
        strip=False,
        help_text=_("Path-like, such as <code>user/name</code>; kept exactly as typed."),
    )
    body_type = forms.ChoiceField(
        label=_("Type"),
        choices=list(_TYPES.items()),
        widget=forms.RadioSelect,
        initial="text",
        help_text=_("Text is kept as it is. JSON is checked, and stored without blanks."),
    )
    in_index = forms.BooleanField(
        label=_("Has an index line"),
        required=False,
        initial=True,
        help_text=_(
            "Agents see the line on every turn. Without it the note costs no context; "
            "agents find it by its key and by searching."
        ),
    )
    summary = ExactTextField(
        label=_("Summary"),
        widget=AdminTextareaWidget(attrs={"rows": 3, "dir": "auto"}),
        help_text=_("The index shows it on one line, 120 characters at most."),
    )
    body = ExactTextField(
        label=_("Body"),
        widget=AdminTextareaWidget(attrs={"rows": 20, "dir": "auto", "spellcheck": "false"}),
        help_text=_("What an agent gets when it recalls the key, character by character."),
    )
    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=MAX_REASON_LENGTH,
        widget=AdminTextInputWidget,
        help_text=_("Optional. Kept in the history, beside your name."),
    )
    expected_revision = forms.IntegerField(min_value=0, initial=0, widget=forms.HiddenInput)

    clash: Clash | None = None
    outcome: Remembered | None = None

    class Meta:
        model = Note
        fields = ("workspace",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stored = self.instance if self.instance.pk else None
        self.stored_summary: str | None = getattr(self.stored, "summary", None)
        if self.stored is not None and "workspace" in self.fields:  # else it is only looked at
            self._show(self.stored)

    def _show(self, note: Note) -> None:
        """Fill in what is stored, and fix what a note keeps for life."""
        body_type = "json" if note.body_is_json else "text"
        self.initial.update(
            key=note.key,
            body_type=body_type,
            in_index=self.stored_summary is not None,
            summary=self.stored_summary or "",
            body=note.body,
            expected_revision=note.revision,
        )
        self.show_details(note.known)
        self._cover(summary=self.stored_summary, body=note.body)
        fixed = {"workspace": note.workspace, "key": note.key, "body_type": _TYPES[body_type]}
        for name, shown in fixed.items():
            self.fields[name].widget = FixedValue(shown)
            self.fields[name].required = False
            self.fields[name].has_changed = lambda *_: False  # type: ignore[method-assign]
        self.fields["key"].help_text = ""
        # Whatever is sent: whether there is another workspace of that number is not to be told.
        self.fields["workspace"].disabled = True
        if not _fits_into_a_request(note.body):
            self.fields["body"].disabled = True
            self.fields["body"].help_text = _(
                "Too long to be edited here: this site takes no form of that size "
                "(DATA_UPLOAD_MAX_MEMORY_SIZE)."
            )
        self.fields["expected_revision"].has_changed = lambda *_: False  # type: ignore[method-assign]

    def _cover(self, **texts: str | None) -> None:
        """Cover the fields that hold a credential, until they have the focus."""
        for name, text in texts.items():
            if has_secret(text):
                field = self.fields[name]
                field.widget.attrs["class"] = f"vLargeTextField {COVERED}"
                field.help_text = format_html("{} {}", field.help_text, COVERED_HELP)

    def is_multipart(self) -> bool:
        """Sent as multipart: a character then counts its own bytes, not up to nine as %XX."""
        return True

    def _post_clean(self) -> None:
        """Skip the model's own validation: the gate and the channel decide, and nothing else."""

    def clean_workspace(self) -> Any:
        """Return the workspace, of a stored note its own."""
        return self.cleaned_data["workspace"] if self.stored is None else self.stored.workspace

    def clean_key(self) -> str:
        """Return the key exactly, of a stored note its own."""
        if self.stored is not None:
            return str(self.stored.key)
        with refusals_as_errors():
            return gate.check_key(self.cleaned_data["key"], limit=conf.max_key_length)

    def clean_summary(self) -> str:
        """Return the summary with the line ends it had; what was not touched is not judged."""
        stored = self.stored_summary or ""
        summary = newlines.restored(self.cleaned_data["summary"], stored)
        if summary != stored:
            with refusals_as_errors():
                gate.check_text(summary, name="summary", limit=conf.max_summary_length)
        return summary

    def clean_body(self) -> str:
        """Return the text of the body with the line ends it had."""
        stored = "" if self.stored is None else self.stored.body
        return newlines.restored(self.cleaned_data["body"], stored)

    def clean_expected_revision(self) -> int:
        """Return the revision this person wants to replace: the one shown, or the one confirmed."""
        confirmed = self.data.get(OVERWRITE, "")
        if is_number(confirmed):
            return int(confirmed)
        return int(self.cleaned_data["expected_revision"])

    def clean(self) -> dict[str, Any]:
        """Work out the index line, and the value of a body that was changed."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        cleaned["line"] = self._index_line(cleaned)
        if "body" in cleaned and (self.stored is None or cleaned["body"] != self.stored.body):
            try:
                self._value()
            except Refused as error:
                self.add_error("body", str(error))
        return cleaned

    def _index_line(self, cleaned: dict[str, Any]) -> str | None:
        """Return the summary to store, None for no index line.

        The cleared tick removes the line, unless the summary was changed too: then nobody can say
        what is meant.
        """
        summary: str = cleaned.get("summary", "")
        if cleaned.get("in_index") or not summary:
            return summary if cleaned.get("in_index") else None
        if "summary" not in self.changed_data:
            return None
        self.add_error(
            "in_index",
            _("You wrote a summary and asked for no index line: clear it, or tick this."),
        )
        return summary

    def _value(self) -> Any:
        """Return the body as the type it is stored as, or raise `Refused`."""
        text = self.cleaned_data["body"]
        is_json = self._is_json()
        value = gate.parse_json(text, unique_names=True) if is_json else text
        if is_json and isinstance(value, str):
            raise Refused("A lone string would be stored as text; give any other JSON value.")
        gate.check_body(value, limit=conf.max_body_length)
        return value

    def _is_json(self) -> bool:
        if self.stored is not None:
            return bool(self.stored.body_is_json)
        return self.cleaned_data.get("body_type") == "json"

    def write(self) -> Note:
        """Remember it, unless it is what is stored already, and return the note."""
        given = self.cleaned_data
        note: Note | None = self.stored
        said = (given["body"], given["line"])
        if note is not None and (note.body, self.stored_summary) == said and not self.touched:
            return note
        self.outcome = Memory(given["workspace"], actor=self.actor).remember(
            given["key"],
            given["line"],
            self._value(),
            expected_revision=given["expected_revision"],
            reason=given["reason"],
            **given["known"],
        )
        notes = Note.objects.using(router.db_for_write(Note))
        written: Note = notes.get(workspace_id=given["workspace"].pk, key=given["key"])
        return written

    @property
    def wrote(self) -> bool:
        """Whether a revision was written."""
        return self.outcome is not None and self.outcome.outcome != "unchanged"

    def explain(self, conflict: Conflict) -> None:
        """Show what is stored now beside what this person wrote, if they may see it."""
        given = self.cleaned_data
        path, seeing = given["workspace"].path, ("view_note", "change_note")
        if not any(self.policy.user_may(self.person, name, path) for name in seeing):
            gone = not conflict.current_revision
            self.add_error(None, ValidationError(self._what_happened(gone), code="conflict"))
            return
        # Not by a memory's own recall, which would count as an agent's.
        now = reading.recall(path, given["key"], using=router.db_for_write(Note))
        summary, body = (None, "") if now is None else (now.summary, now.text)
        known = PLAIN if now is None else now
        compared = facts(known, self.details_over(known), key=given["key"])
        self.clash = Clash(
            revision=conflict.current_revision,
            summary=differences(summary or "", given["line"] or ""),
            body=differences(body, given["body"]),
            index_line_differs=(summary is None) != (given["line"] is None),
            known=[fact for fact in compared if fact.differs],
            is_covered=has_secret(summary, given["line"], body, given["body"]),
        )
        self.add_error(None, ValidationError(self._what_happened(now is None), code="conflict"))

    def _what_happened(self, is_gone: bool) -> Any:  # noqa: FBT001
        if is_gone:
            return _("This note was forgotten in the meantime. Nothing was written.")
        if self.stored is None and not self.cleaned_data["expected_revision"]:
            return _("A note is already stored under this key. Nothing was written.")
        return _("This note was changed after you opened it. Nothing was written.")


def _fits_into_a_request(body: str) -> bool:
    """Whether the host takes a form with this body; browsers add a byte to every lone line end."""
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    size = len(body.encode("utf-8", "surrogatepass")) + body.count("\n") + body.count("\r")
    return limit is None or size + _ROOM_FOR_THE_REST < limit
