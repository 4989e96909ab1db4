"""Replacing a key: what is asked before, and what happens once it is answered."""

from __future__ import annotations

import datetime
import secrets

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from django_agent_memory.exceptions import Refused
from django_agent_memory.models import AgentKey
from django_agent_memory.models.access import MAX_OVERLAP

from . import issued
from .access import policy_of
from .forms import refusal_to_issue

_MAX_HOURS = MAX_OVERLAP // datetime.timedelta(hours=1)


class RotationForm(forms.Form):
    """For how many hours the old key goes on working."""

    overlap = forms.IntegerField(
        label=_("Hours for which the old key goes on working"),
        min_value=0,
        max_value=_MAX_HOURS,
        initial=24,
        help_text=_("0 ends it at once. If it was to expire sooner, it does."),
    )
    nonce = forms.CharField(
        widget=forms.HiddenInput,
        max_length=100,
        initial=lambda: secrets.token_urlsafe(16),
        error_messages={"required": _("This form is incomplete; open it again.")},
    )

    def rotate(self, key: AgentKey, request: HttpRequest) -> tuple[AgentKey, str] | None:
        """Return the new key and its secret; None, with the reason as an error, if it is refused.

        Whoever gets a key gets what it gives. The session remembers that this form has made one.
        """
        refusal = refusal_to_issue(
            policy_of(request),
            request.user,
            key.access,
            path=key.workspace.path,
            user_id=key.user_id,
            name=key.name,
        )
        if refusal is not None:
            self.add_error(None, refusal)
            return None
        overlap = datetime.timedelta(hours=self.cleaned_data["overlap"])
        issued.remember(request.session, self.cleaned_data["nonce"])
        try:
            return AgentKey.objects.rotate(key, overlap=overlap)
        except Refused as refusal:
            self.add_error(None, str(refusal))
            return None
