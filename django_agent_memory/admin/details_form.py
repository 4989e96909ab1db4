"""The part of a note's form that is about what is known of it beside its text.

What a person does not touch is neither judged nor sent, so that it stays exactly as it is stored: a
time keeps its parts of a second, and what raw SQL put there hinders nobody.
"""

from __future__ import annotations

import datetime
from typing import Any

from django import forms
from django.contrib.admin.widgets import (
    AdminSplitDateTime,
    AdminTextareaWidget,
    AdminTextInputWidget,
)
from django.core.exceptions import ValidationError
from django.forms.utils import from_current_timezone
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_agent_memory.models.details import PLAIN
from django_agent_memory.results import Details, fields_of
from django_agent_memory.writing.details import check_details

from . import newlines
from .forms import ExactTextField, WrittenForm, refusals_as_errors
from .known import LABELS

NAMES = tuple(LABELS)
"""The fields, in their order."""

_LINES = ("kind", "slot", "subject", "source")


class _LineField(ExactTextField):
    """A name, kept exactly. One that has several lines is edited in a box that keeps them."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(widget=AdminTextInputWidget(attrs={"dir": "auto"}), **kwargs)
        self.validators = []  # the gate has a sentence for NUL


class _WeightField(forms.FloatField):
    """A number; whether it can be a weight the gate says."""

    def prepare_value(self, value: Any) -> Any:
        """Return a whole number without its point."""
        return repr(value).removesuffix(".0") if isinstance(value, float) else value

    def to_python(self, value: Any) -> Any:
        """Return the number, or the text that is none."""
        try:
            return float(value)
        except (TypeError, ValueError):
            return value

    def validate(self, value: Any) -> None:
        """Leave it to the gate."""


class _ContextsField(ExactTextField):
    """One context a line; empty lines are none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.validators = []

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether they are other contexts, whatever their order."""
        return not self.disabled and set(_contexts(initial)) != set(_contexts(data))


class _MomentField(forms.SplitDateTimeField):
    """A date and a time of the current zone, which is applied only to what was touched."""

    widget = AdminSplitDateTime

    def compress(self, data_list: Any) -> datetime.datetime | None:
        """Return the naive time; a date without a time, or the other way round, is refused."""
        if not data_list:
            return None
        for value, code in zip(data_list, ("invalid_date", "invalid_time"), strict=True):
            if value in self.empty_values:
                raise ValidationError(self.error_messages[code], code=code)
        return datetime.datetime.combine(*data_list)


class DetailsForm(WrittenForm):
    """A form with a field for each detail; `cleaned_data["known"]` is what is to be sent."""

    kind = _LineField(label=LABELS["kind"], help_text=_("What sort of memory it is."))
    slot = _LineField(label=LABELS["slot"], help_text=_("Where in a prompt it goes."))
    subject = _LineField(
        label=LABELS["subject"], help_text=_("Whom or what it is about, or who said it.")
    )
    weight = _WeightField(
        label=LABELS["weight"],
        required=False,
        initial=PLAIN.weight,
        widget=forms.NumberInput(attrs={"dir": "ltr"}),
        help_text=_("0 or more; of what is found, the heavier comes first. 1 is usual."),
    )
    contexts = _ContextsField(
        label=LABELS["contexts"],
        widget=AdminTextareaWidget(attrs={"rows": 4, "dir": "auto", "spellcheck": "false"}),
        help_text=_("What it is tied to, one per line. Empty: the path its key lies under."),
    )
    happened_at = _MomentField(
        label=LABELS["happened_at"],
        required=False,
        help_text=_("When it was so, where that is not when it was saved."),
    )
    expires_at = _MomentField(
        label=LABELS["expires_at"],
        required=False,
        help_text=_("From then on no agent sees it. Empty: never."),
    )
    source = _LineField(label=LABELS["source"], help_text=_("What it was taken from."))

    stored_details: Details | None = None

    def show_details(self, details: Details) -> None:
        """Fill in what is stored."""
        self.stored_details = details
        self.initial.update({name: getattr(details, name) for name in NAMES})
        for name in _LINES:
            if newlines.dropped(getattr(details, name)) != getattr(details, name):
                self.fields[name].widget = AdminTextareaWidget(attrs={"rows": 2, "dir": "auto"})
        text = self.initial["contexts"] = "\n".join(details.contexts)
        if _contexts(text) != [*details.contexts]:
            self.fields["contexts"].disabled = True
            self.fields["contexts"].help_text = _(
                "One of them has a line break in it, so they cannot be edited one per line."
            )

    def clean(self) -> dict[str, Any]:
        """Work out what was touched, and let the gate judge that alone."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        known: dict[str, Any] = {}
        for name in self.touched:
            if name in cleaned:
                try:
                    known |= self._judged(name, cleaned[name])
                except ValidationError as error:
                    self.add_error(name, error)
        cleaned["known"] = {**self._kept(), **known}
        return cleaned

    @property
    def touched(self) -> list[str]:
        """The details that the person changed; what the page did not have was not touched."""
        return [
            name
            for name in NAMES
            if name in self.changed_data
            and not self.fields[name].widget.value_omitted_from_data(
                self.data, self.files, self.add_prefix(name)
            )
        ]

    def details_over(self, details: Details) -> Details:
        """Return `details` as they would be with what was touched."""
        known: Any = dict(check_details(self.cleaned_data["known"]))
        return Details(**{**fields_of(details), **known})

    def _judged(self, name: str, value: Any) -> dict[str, Any]:
        """Return what to send for one field, or raise `ValidationError` with the gate's words."""
        if name in _LINES:
            value = newlines.restored(value, self.initial.get(name) or "")
        elif name == "contexts":
            value = _contexts(value)
        elif isinstance(value, datetime.datetime):
            value = _aware(from_current_timezone(value))
        given = {_argument(name): value}
        with refusals_as_errors():
            check_details(given)
        return given

    def _kept(self) -> dict[str, Any]:
        """Return what has to be sent though it was not touched.

        To the channel an expired note is as good as none: it would keep nothing of that.
        """
        stored = self.stored_details
        if stored is None or stored.expires_at is None or stored.expires_at > timezone.now():
            return {}
        values = {_argument(name): getattr(stored, name) for name in NAMES}
        for name in ("happened_at", "expires_at"):
            values[name] = values[name] and _aware(values[name])
        return values


def _argument(name: str) -> str:
    return "context" if name == "contexts" else name


def _contexts(text: Any) -> list[str]:
    return [line for line, _end in newlines.lines(text or "") if line]


def _aware(moment: datetime.datetime) -> datetime.datetime:
    return timezone.make_aware(moment) if timezone.is_naive(moment) else moment
