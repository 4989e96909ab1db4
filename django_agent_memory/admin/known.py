"""What is known of a note beside its text, as pages show it, and what of it differs."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any, NamedTuple

from django.contrib import admin
from django.utils import formats
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_agent_memory.models.details import PLAIN, effective_contexts
from django_agent_memory.results import Details

from .shown import key_text, local_time, quiet

LABELS = {
    "kind": gettext_lazy("Kind"),
    "slot": gettext_lazy("Slot"),
    "subject": gettext_lazy("Subject"),
    "weight": gettext_lazy("Weight"),
    "contexts": gettext_lazy("Contexts"),
    "happened_at": gettext_lazy("Happened"),
    "expires_at": gettext_lazy("Expires"),
    "source": gettext_lazy("Source"),
}
"""The details that people see, in the order of every page; what has a session is on none."""


class Fact(NamedTuple):
    """One detail of two states, as HTML: "" for a state in which there is no note."""

    heading: Any
    left: str
    right: str
    differs: bool


def facts(left: Details | None, right: Details | None, *, key: str) -> list[Fact]:
    """Return what either has that is not as usual; None is no note, which has nothing."""
    found = []
    for name in LABELS:
        before, after = _value(left, name), _value(right, name)
        if before != after or before != _usual(name):
            cells = (_cell(left, name, key), _cell(right, name, key))
            found.append(Fact(LABELS[name], *cells, before != after))
    return found


def noteworthy(details: Details, before: Details | None) -> list[str]:
    """Return the names of the details that are not as usual, or not as `before`."""
    return [
        name
        for name in LABELS
        if _value(details, name) != _usual(name) or _differs(details, before, name)
    ]


def shown(details: Details, name: str, *, key: str) -> str:
    """Return one detail as HTML; what is not given is said in our words."""
    value = getattr(details, name)
    if name == "contexts":
        return _contexts(value, key)
    if isinstance(value, float):
        return format_html("{}", repr(value).removesuffix(".0"))
    if isinstance(value, datetime.datetime):
        return format_html("<bdi>{}</bdi>", _moment(value))
    return key_text(value) if value else quiet(_("none"))


def _read_only(name: str) -> Callable[[Any], str]:
    """Return a read-only field that shows a detail of a note, or of a revision and what it was.

    A revision has `before`: the number and the details of the one before it, or None.
    """

    @admin.display(description=LABELS[name])
    def field(row: Any) -> str:
        now = shown(row.known, name, key=row.key)
        number, before = getattr(row, "before", None) or (0, None)
        if before is None or not _differs(row.known, before, name):
            return now
        was = _("in revision %(number)s:") % {"number": number}
        return format_html(
            '<div>{}</div><div><bdi class="agent-memory-badge">{}</bdi> <bdi>{}</bdi> {}</div>',
            now,
            _("changed"),
            quiet(was),
            shown(before, name, key=row.key),
        )

    field.__name__ = f"known_{name}"
    return field


READ_ONLY = {name: _read_only(name) for name in LABELS}
"""A read-only field of the admin for each."""


def _usual(name: str) -> Any:
    return getattr(PLAIN, name)


def _value(details: Details | None, name: str) -> Any:
    return _usual(name) if details is None else getattr(details, name)


def _differs(details: Details, before: Details | None, name: str) -> bool:
    return before is not None and getattr(details, name) != getattr(before, name)


def _cell(details: Details | None, name: str, key: str) -> str:
    return "" if details is None else shown(details, name, key=key)


def _contexts(contexts: tuple[str, ...], key: str) -> str:
    if contexts:
        lines = format_html_join("", "<span>{}</span>", ((key_text(name),) for name in contexts))
        return format_html('<span class="agent-memory-lines">{}</span>', lines)
    usual = effective_contexts(key, ())
    if not usual:
        return quiet(_("none"))
    return format_html("{} {}", quiet(_("the path its key lies under:")), key_text(usual[0]))


def _moment(moment: datetime.datetime) -> str:
    """Return a time as the other pages write it, and the parts of a second where it has some."""
    local = local_time(moment)
    date = formats.date_format(local, "SHORT_DATE_FORMAT")
    parts = f".{local.microsecond:06}" if local.microsecond else ""
    return f"{date} {formats.time_format(local, 'H:i:s')}{parts}"
