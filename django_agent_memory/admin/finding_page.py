"""Why a note is found: a query is asked as agents ask it, and each score told by its parts."""

from __future__ import annotations

from typing import Any, NamedTuple

from django import forms
from django.contrib.admin.widgets import AdminTextInputWidget
from django.db import router
from django.http import HttpRequest, HttpResponse
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_agent_memory import associations
from django_agent_memory.exceptions import Refused
from django_agent_memory.models import Note
from django_agent_memory.models.note import NoteQuerySet
from django_agent_memory.relevance import PARTS
from django_agent_memory.results import Found

from . import links
from .shown import LIST_KEY, key_text

MOST_FOUND = 200
"""So many of the best notes are looked through for the one that was asked about."""

SHOWN = 10
"""So many of them are shown, beside the one that was asked about."""

_NEIGHBOURS = 2
_LONGEST_QUERY = 1_000

_HEADINGS: dict[str, Any] = {
    "own": gettext_lazy("own words"),
    "before": gettext_lazy("note before"),
    "after": gettext_lazy("note after"),
    "context": gettext_lazy("same context"),
    "tied": gettext_lazy("context named"),
    "subject": gettext_lazy("subject"),
    "pair": gettext_lazy("words side by side"),
    "length": gettext_lazy("says something"),
    "number": gettext_lazy("has a number"),
    "present": gettext_lazy("holds now"),
    "meaning": gettext_lazy("meaning"),
}


class FindingForm(forms.Form):
    """The query; whatever an agent may ask."""

    query = forms.CharField(
        label=gettext_lazy("Query"),
        strip=False,
        max_length=_LONGEST_QUERY,
        widget=AdminTextInputWidget(attrs={"dir": "auto"}),
        help_text=gettext_lazy("What an agent would ask find, such as a question of its user."),
    )


class _Row(NamedTuple):
    place: int
    key: str
    address: str
    score: str
    parts: list[str]
    is_asked_about: bool


class FindingPage:
    """One request about why a note is found: the form, and with a query its answer."""

    def __init__(self, model_admin: Any, request: HttpRequest, note: Any) -> None:
        self.admin = model_admin
        self.request = request
        self.note = note
        self.site = model_admin.admin_site.name

    def respond(self) -> HttpResponse:
        """Return the page; asking counts as no recall."""
        form = FindingForm(self.request.GET if "query" in self.request.GET else None)
        found = self._find(form) if form.is_valid() else ()
        names = self._names(found)
        response: HttpResponse = self.admin.page(
            self.request,
            "finding.html",
            title=_("Why it is found"),
            crumbs=[(self.note.key, links.to_page(self.site, "note", "change", self.note.pk))],
            form=form,
            is_asked=form.is_bound and form.is_valid(),
            workspace_path=self.note.workspace.path,
            shown_key=key_text(self.note.key),
            headings=[_HEADINGS.get(name, name) for name in names],
            rows=self._rows(found, names),
            is_found=any(one.key == self.note.key for one in found),
            most=MOST_FOUND,
            neighbours=self._neighbours(),
            usage=self.admin.shown_usage(self.note),
        )
        return response

    def _find(self, form: FindingForm) -> tuple[Found, ...]:
        try:
            question = associations.check(form.cleaned_data["query"], {})
        except Refused as error:
            form.add_error("query", str(error))
            return ()
        return associations.find(
            self.note.workspace.path,
            query=question.query,
            filters={},
            limit=MOST_FOUND,
            using=router.db_for_read(Note),
        )

    def _names(self, found: tuple[Found, ...]) -> list[str]:
        """Return the parts that some score has, in their order."""
        told = {name for one in found for name, value in one.parts.items() if value}
        return [name for name in (*PARTS, "meaning") if name in told]

    def _rows(self, found: tuple[Found, ...], names: list[str]) -> list[_Row]:
        """Return the best notes and the one that was asked about, wherever it is."""
        placed = list(enumerate(found, 1))
        asked = [(place, one) for place, one in placed[SHOWN:] if one.key == self.note.key]
        chosen = [*placed[:SHOWN], *asked]
        keys = [one.key for _place, one in chosen]
        same = Note.objects.filter(workspace=self.note.workspace, key__in=keys)
        pks = dict(same.values_list("key", "pk"))
        return [
            _Row(
                place,
                key_text(one.key, most=LIST_KEY),
                links.to_page(self.site, "note", "change", pks[one.key]) if one.key in pks else "",
                _number(one.score),
                [_number(one.parts.get(name, 0.0)) for name in names],
                one.key == self.note.key,
            )
            for place, one in chosen
        ]

    def _neighbours(self) -> list[tuple[str, str, bool]]:
        """Return the notes stored next to it, in order, and itself: key, address, whether it is."""
        notes = Note.objects.filter(workspace=self.note.workspace).seen_in("")
        before = _near(notes.filter(position__lt=self.note.position).order_by("-position"))
        after = _near(notes.filter(position__gt=self.note.position).order_by("position"))
        around = [*reversed(before), (self.note.key, self.note.pk), *after]
        return [
            (
                key_text(key, most=LIST_KEY),
                links.to_page(self.site, "note", "change", pk),
                pk == self.note.pk,
            )
            for key, pk in around
        ]


def _near(notes: NoteQuerySet) -> list[tuple[str, int]]:
    return list(notes.values_list("key", "pk")[:_NEIGHBOURS])


def _number(value: float) -> str:
    return str(number_format(value, decimal_pos=2)) if value else "–"
