"""The fields of a prune rule, and a rule in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminTextInputWidget
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from django_agent_memory.exceptions import Refused
from django_agent_memory.pruning import MOST_CHARACTERS, MOST_DAYS, PruneRule, rule_of
from django_agent_memory.writing.details import MAX_CONTEXT_LENGTH, MAX_NAME_LENGTH

from .marking import marked


def _days(label: Any, help_text: Any = "") -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        required=False,
        min_value=1,
        max_value=MOST_DAYS,
        help_text=help_text,
    )


def _name(label: Any, most: int, help_text: Any = "") -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        strip=False,
        max_length=most,
        widget=AdminTextInputWidget(attrs={"dir": "auto"}),
        help_text=help_text,
    )


class RuleFields(forms.Form):
    """A field for each condition; `cleaned_data["rule"]` is the rule, where there is one."""

    older_than_days = _days(_("Last written more than … days ago"))
    unrecalled_days = _days(
        _("Not used for … days"),
        _("Neither written nor recalled for so long, as far as recalls are counted."),
    )
    weight_below = forms.FloatField(
        label=_("Weight below"),
        required=False,
        widget=forms.NumberInput(attrs={"step": "any", "min": "0"}),
        help_text=_("1 is usual."),
    )
    size_above = forms.IntegerField(
        label=_("Longer than … characters"),
        required=False,
        min_value=0,
        max_value=MOST_CHARACTERS,
        help_text=_("The body alone."),
    )
    kind = _name(_("Kind"), MAX_NAME_LENGTH)
    slot = _name(_("Slot"), MAX_NAME_LENGTH)
    context = _name(
        _("Context"), MAX_CONTEXT_LENGTH, _("Exactly; a path finds what lies directly under it.")
    )
    expired = forms.BooleanField(label=_("Expired"), required=False)
    duplicates = forms.BooleanField(
        label=_("Duplicates"),
        required=False,
        help_text=_(
            "Notes of the same body, contexts, slot and source; the one written last stays."
        ),
    )

    def clean(self) -> dict[str, Any]:
        """Make the rule of what is given; what it refuses is an error of the form."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors:
            given = {name: cleaned.get(name) for name in CONDITIONS}
            try:
                cleaned["rule"] = rule_of({n: v for n, v in given.items() if v != ""})
            except Refused as refusal:
                self.add_error(None, str(refusal))
        return cleaned


CONDITIONS = tuple(RuleFields.base_fields)
"""The names of the fields, in their order."""


def in_words(given: object) -> list[Any]:
    """Return what a rule asks of a note, a phrase for each condition; stored text is escaped.

    A rule that is damaged says only that.
    """
    try:
        rule = rule_of(given)
    except Refused:
        return [gettext("This rule is damaged and finds nothing.")]
    return list(_phrases(rule))


def _phrases(rule: PruneRule) -> Iterator[Any]:
    if rule.older_than_days is not None:
        yield ngettext(
            "last written more than %(days)s day ago",
            "last written more than %(days)s days ago",
            rule.older_than_days,
        ) % {"days": number_format(rule.older_than_days)}
    if rule.unrecalled_days is not None:
        yield ngettext(
            "neither written nor recalled for %(days)s day",
            "neither written nor recalled for %(days)s days",
            rule.unrecalled_days,
        ) % {"days": number_format(rule.unrecalled_days)}
    if rule.weight_below is not None:
        weight = rule.weight_below
        shown = number_format(int(weight) if weight == int(weight) else weight)
        yield gettext("weight below %(weight)s") % {"weight": shown}
    if rule.size_above is not None:
        size = number_format(rule.size_above)
        yield gettext("longer than %(size)s characters") % {"size": size}
    for name, label in (("kind", _("kind")), ("slot", _("slot")), ("context", _("context"))):
        value = getattr(rule, name)
        if value is not None:
            yield _quoted(label, value)
    if rule.expired:
        yield gettext("expired")
    if rule.duplicates:
        yield gettext("the same as another note that was written later")


def _quoted(label: Any, value: str) -> Any:
    return format_html("{} <bdi>“{}”</bdi>", label, marked(value))
