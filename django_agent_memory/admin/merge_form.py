"""The choice of how notes become one: which stays, what it then says, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Refused
from django_agent_memory.models.details import effective_contexts
from django_agent_memory.results import Details
from django_agent_memory.text import gate
from django_agent_memory.writing import KEEP, Change, Drop, Save
from django_agent_memory.writing.channel import MAX_REASON_LENGTH
from django_agent_memory.writing.details import check_contexts

from . import newlines
from .forms import ExactTextField
from .marking import COVERED, COVERED_HELP, has_secret
from .reasons import RequiredReasonForm
from .shown import LIST_KEY, key_text, local_time
from .together import suggested, times

BETWEEN = "\n\n"
"""What stands between texts that are put one below the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Which note stays, with what text and contexts, and which are forgotten, by their keys."""

    survivor: Any
    others: list[Any]
    body: str
    contexts: tuple[str, ...]

    @property
    def details(self) -> Details:
        """What is known of the survivor afterwards."""
        known: Details = self.survivor.known
        return replace(known, contexts=self.contexts)

    @property
    def value(self) -> Any:
        """The body as the channel takes it; JSON stays what it is."""
        return self.body if self.body != self.survivor.body else self.survivor.value

    @property
    def changes_survivor(self) -> bool:
        """Whether it will say something else."""
        is_same = self.contexts == self.survivor.known.contexts
        return not is_same or self.body != self.survivor.body

    def changes(self) -> list[Change]:
        """Return the changes, each as long as nobody writes to its note.

        Forgets first, so that one undo begins with them. The survivor is saved even as it is: that
        writes nothing, and is refused where it is not what was shown.
        """
        note = self.survivor
        save = Save(
            key=note.key,
            body=self.value,
            summary=KEEP,
            context=self.contexts if self.contexts != note.known.contexts else KEEP,
            expected_revision=note.revision,
        )
        drops = [Drop(key=other.key, expected_revision=other.revision) for other in self.others]
        return [*drops, save]

    def reason(self, typed: str) -> str:
        """Return the reason that every revision of it keeps."""
        return f'Merged into "{self.survivor.key}": {typed}'


class MergeForm(RequiredReasonForm):
    """Which of the notes stays, what it says, and why; valid, it has the `merge`."""

    field_order = ("survivor", "text", "body", "join_contexts", "reason")

    survivor = forms.ChoiceField(
        label=gettext_lazy("Note that stays"),
        widget=forms.RadioSelect,
        help_text=gettext_lazy("Its key, index line and all else that is known of it stay too."),
    )
    text = forms.ChoiceField(
        label=gettext_lazy("Its text"),
        widget=forms.RadioSelect,
        initial="keep",
        choices=[
            ("keep", gettext_lazy("as it is")),
            ("join", gettext_lazy("with the other texts below it")),
            ("hand", gettext_lazy("as written here:")),
        ],
    )
    body = ExactTextField(
        label=gettext_lazy("Text by hand"),
        widget=AdminTextareaWidget(attrs={"rows": 10, "dir": "auto", "spellcheck": "false"}),
        help_text=gettext_lazy("Taken only where “as written here” is chosen."),
    )
    join_contexts = forms.BooleanField(
        label=gettext_lazy("Tie it to the contexts of the others too"),
        required=False,
        initial=True,
    )

    merge: Merge

    def __init__(self, notes: Sequence[Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.notes = {str(note.pk): note for note in notes}
        best, why = suggested(notes)
        choices = [
            (pk, _label(note, why if note is best else "")) for pk, note in self.notes.items()
        ]
        survivor: Any = self.fields["survivor"]
        survivor.choices = choices
        survivor.initial = str(best.pk)
        self.fields["body"].initial = best.body
        if has_secret(*(note.body for note in notes)):
            self.fields["body"].widget.attrs["class"] = f"vLargeTextField {COVERED}"
            self.fields["body"].help_text = format_html(
                "{} {}", self.fields["body"].help_text, COVERED_HELP
            )
        if len({note.known.contexts for note in notes}) == 1:
            del self.fields["join_contexts"]

    @property
    def centre(self) -> Any:
        """The note that was chosen to stay, or is suggested: what the others are held against."""
        chosen = self.data.get("survivor", "") if self.is_bound else ""
        return self.notes.get(chosen) or self.notes[str(self.fields["survivor"].initial)]

    def clean(self) -> dict[str, Any]:
        """Make the `merge`, where the channel would take it."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return given
        note = self.notes[given["survivor"]]
        others = sorted((n for n in self.notes.values() if n is not note), key=lambda n: n.key)
        refusal = self._refusal(note, given["text"])
        if refusal:
            self.add_error("text", refusal)
            return given
        contexts = note.known.contexts
        if given.get("join_contexts"):
            contexts = _joined_contexts(note, others)
        self.merge = Merge(
            survivor=note, others=others, body=self._body(note, given), contexts=contexts
        )
        self._check(given)
        return given

    def _refusal(self, note: Any, choice: str) -> str:
        """Return why JSON is not changed here; "" where there is nothing against the choice."""
        if choice == "join" and any(one.body_is_json for one in self.notes.values()):
            return _("JSON is not put together with other texts: keep the text as it is.")
        if choice == "hand" and note.body_is_json:
            return _("The note that stays is JSON: keep its text, and edit it on its own page.")
        return ""

    def _body(self, note: Any, given: dict[str, Any]) -> str:
        if given["text"] == "hand":
            return newlines.restored(given["body"], note.body)
        texts = [note.body]
        if given["text"] == "join":
            texts += [other.body for other in self.notes.values() if other is not note]
        # Each once, without empty ones.
        return BETWEEN.join(dict.fromkeys(filter(None, texts)))

    def _check(self, given: dict[str, Any]) -> None:
        """Add what the channel would refuse, so that it is said before anything is confirmed."""
        merge = self.merge
        note = merge.survivor
        try:
            checked = gate.check_body(merge.value, limit=conf.max_body_length)
            if checked != (merge.body, note.body_is_json):
                self.add_error("survivor", _("Its JSON is damaged: repair the note first."))
        except Refused as error:
            self.add_error("text", str(error))
        try:
            if merge.contexts != note.known.contexts:
                check_contexts(merge.contexts)
        except Refused as error:
            self.add_error("join_contexts", str(error))
        too_many = len(merge.reason(given["reason"])) - MAX_REASON_LENGTH
        if too_many > 0:
            said = _(
                "The key of the note that stays comes before it: %(count)s characters too long."
            )
            self.add_error("reason", said % {"count": too_many})


def _joined_contexts(note: Any, others: Sequence[Any]) -> tuple[str, ...]:
    """Return the contexts of the note with those the others were given, in code-point order.

    A note that was given none is tied to the path of its key: it stays so.
    """
    own = note.known.contexts
    added = _of_others(others) - set(effective_contexts(note.key, own))
    return tuple(sorted({*effective_contexts(note.key, own), *added})) if added else own


def _of_others(notes: Sequence[Any]) -> set[str]:
    return {context for note in notes for context in note.known.contexts}


def _label(note: Any, why: str) -> Any:
    """Return a note as a choice: its key, what tells it from others, why it is suggested."""
    told = _("written %(when)s, %(size)s characters, %(times)s") % {
        "when": date_format(local_time(note.updated_at), "SHORT_DATETIME_FORMAT"),
        "size": number_format(note.size),
        "times": times(note.recalls),
    }
    suggestion = _("suggested: %(why)s") % {"why": why} if why else ""
    badge = format_html(' <span class="agent-memory-badge">{}</span>', suggestion) if why else ""
    key = key_text(note.key, most=LIST_KEY)
    return format_html('{} <span class="agent-memory-quiet">({})</span>{}', key, told, badge)
