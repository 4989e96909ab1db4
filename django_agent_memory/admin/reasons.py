"""The reason a person gives for a change, kept in the history beside their name."""

from __future__ import annotations

from django import forms
from django.contrib.admin.widgets import AdminTextInputWidget
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
