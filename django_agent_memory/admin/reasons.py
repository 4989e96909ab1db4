"""The reason a person gives for a change, kept in the history beside their name."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminTextInputWidget
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_agent_memory.writing.channel import MAX_REASON_LENGTH


class ReasonForm(forms.Form):
    """A form that ends in an optional reason."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        required=False,
        strip=False,
        max_length=MAX_REASON_LENGTH,
        widget=AdminTextInputWidget,
        help_text=gettext_lazy("Optional. Kept in the history, beside your name."),
    )


class RequiredReasonForm(ReasonForm):
    """The same where a reason must be given: for what is done to many notes at once."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].required = True
        self.fields["reason"].help_text = _("Kept in the history, beside your name.")

    def clean_reason(self) -> str:
        """Return the reason; blanks alone are none."""
        reason: str = self.cleaned_data["reason"]
        if not reason.strip():
            raise forms.ValidationError(self.fields["reason"].error_messages["required"])
        return reason
