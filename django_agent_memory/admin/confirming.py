"""The form in front of what cannot be undone: what goes, typed; why; and what was shown of it."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminTextInputWidget
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from .reasons import RequiredReasonForm
from .shown import shows_whole

LONGEST_TYPED = 80
"""Code points of a key that a person is asked to type; for a longer one they tick a box."""


class ConfirmForm(RequiredReasonForm):
    """The name of what goes, typed, or a tick where nobody can type it; and a reason.

    `expected_revision` is the last revision that the counts beside the form are of.
    """

    field_order = ("typed", "sure", "reason", "expected_revision")

    typed = forms.CharField(
        strip=False,
        widget=AdminTextInputWidget(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )
    sure = forms.BooleanField(
        label=gettext_lazy("Yes, exactly this one"),
        help_text=gettext_lazy("Its key is long or has characters that nobody can type."),
    )
    expected_revision = forms.IntegerField(
        min_value=0, max_value=10**18, widget=forms.HiddenInput, localize=False
    )

    def __init__(self, name: str, *args: Any, is_typed: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = name
        del self.fields["sure" if is_typed else "typed"]

    def clean_typed(self) -> str:
        """Return what was typed, where it is the name."""
        typed: str = self.cleaned_data["typed"]
        if _composed(typed) != _composed(self.name):
            raise forms.ValidationError(_("This is something else, so nothing was removed."))
        return typed


class ConfirmKeyForm(ConfirmForm):
    """The same for a key."""

    def __init__(self, key: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(key, *args, is_typed=is_typeable(key), **kwargs)
        if "typed" in self.fields:
            self.fields["typed"].label = _("Key")
            self.fields["typed"].help_text = _("Type the key to confirm.")


class ConfirmPathForm(ConfirmForm):
    """The same for a workspace, the reason for which stays in Django's log."""

    def __init__(self, path: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(path, *args, **kwargs)
        self.fields["typed"].label = _("Path")
        self.fields["typed"].help_text = _("Type the path of the workspace to confirm.")
        say_where_it_stays(self)


class EraseKeyForm(ConfirmKeyForm):
    """The same for a key that is erased: the reason, which stays in Django's log, has it not."""

    def __init__(self, key: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(key, *args, **kwargs)
        say_where_it_stays(self)

    def clean_reason(self) -> str:
        """Return the reason, where it does not name the key."""
        reason = super().clean_reason()
        named = rf"(?<!\w){re.escape(_composed(self.name).casefold())}(?!\w)"
        if re.search(named, _composed(reason).casefold()):
            raise forms.ValidationError(
                _("This repeats the key, and it would stay in the log. Say it without the key.")
            )
        return reason


def say_where_it_stays(form: ConfirmForm) -> None:
    """Tell the person where the reason of an erasure is kept: no history is left to have it."""
    form.fields["reason"].help_text = _(
        "Kept in this site's log of the admin, beside your name: do not repeat what is erased."
    )


def is_typeable(key: str) -> bool:
    """Whether a person can be asked to type the key: it is short, and every character shows."""
    return shows_whole(key) and len(key) <= LONGEST_TYPED


def _composed(text: str) -> str:
    """Return the text in the form that keyboards give, whatever the stored one has."""
    return unicodedata.normalize("NFC", text)
