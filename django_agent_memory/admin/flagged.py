"""Flags as people see them: badges, what each means, and the filter beside the list of notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from django_agent_memory.text.flags import FLAGS, decode_flags

from .filters import Choices

_ANY = "any"

_NAMES: dict[str, Any] = {
    "private_key": _("private key"),
    "api_key": _("API key"),
    "token": _("token"),
    "password": _("password"),
    "instruction": _("orders to the model"),
    "invisible": _("invisible text"),
    "large": _("unusually long"),
    "encoded": _("encoded data"),
}
_MEANINGS: dict[str, Any] = {
    "private_key": _("The block of a private key. Take it out, and replace the key."),
    "api_key": _("What looks like an API key. Take it out, and replace the key."),
    "token": _("What looks like an access token. Take it out, and replace the token."),
    "password": _("What looks like a password. Take it out, and change the password."),
    "instruction": _("Words that give a model orders: whoever recalls the note may follow them."),
    "invisible": _("Characters that only models see; shown by their numbers, such as U+200B."),
    "large": _("A body over 20,000 characters, or a summary over 300."),
    "encoded": _("A thousand characters or more without a blank: data, and no text."),
}


class FlagFilter(admin.SimpleListFilter):
    """By what a person should look at in a note."""

    title = _("flags")
    parameter_name = "flag"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Return any flag, and each."""
        return [(_ANY, _("any flag")), *((flag, _NAMES[flag]) for flag in FLAGS)]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Return the notes that have the chosen flag."""
        chosen = self.value()
        if chosen == _ANY:
            return queryset.flagged()
        return queryset.flagged(chosen) if chosen in FLAGS else queryset


def badges(flags: Sequence[str]) -> SafeString:
    """Return the names of flags, each a badge that says on demand what it means."""
    return format_html_join(
        " ",
        '<span class="agent-memory-badge agent-memory-flag" title="{}">{}</span>',
        ((_MEANINGS[flag], _NAMES[flag]) for flag in flags),
    )


def explained(column: str) -> SafeString:
    """Return the flags of a note, each with what it means."""
    rows = ((badges([flag]), _MEANINGS[flag]) for flag in decode_flags(column))
    return format_html(
        '<ul class="agent-memory-flags">{}</ul>', format_html_join("", "<li>{} {}</li>", rows)
    )
