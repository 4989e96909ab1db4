"""The page that shows which notes of a workspace say the same, or nearly; it changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_agent_memory.duplicates import (
    LEAST_PERCENT,
    LONGEST,
    MOST_GROUPS,
    Alike,
    NearlySame,
    Same,
    nearly_same,
    of_same,
    same,
)
from django_agent_memory.text.likeness import Words

from . import links, together
from .action_page import ActionPage
from .numbers import is_number
from .shown import LIST_KEY, key_text, quiet, summary_line

MERGING = ("change_note", "delete_note")
"""What it takes to merge notes, beside seeing them."""

A_PAGE = 20
"""So many groups are on a page."""

_MOST_WORDS = 12
_LONGEST_WORD = 40


class _Group(NamedTuple):
    """A group before its notes are read: how alike they are, how many, and which are shown."""

    says: str
    size: int
    pks: list[int]
    alike: dict[int, Alike]


class DuplicatesPage(ActionPage):
    """One request to look at groups: those of the same text first, then the nearly same."""

    name = "duplicates"
    permissions = ("view_note",)

    def respond(self) -> HttpResponse:
        """Return a page of the groups."""
        asked = self.request.GET.get("page", "")
        page = int(asked) if is_number(asked) and int(asked) else 1
        exact = same(self.workspace.path)
        first, behind = (page - 1) * A_PAGE, page * A_PAGE
        listed = exact[:MOST_GROUPS]
        # Words are compared only for a page that reaches beyond the groups of the same text.
        near = nearly_same(self.workspace.path) if behind >= len(listed) else None
        total = len(listed) + (len(near.groups) if near else 1)
        groups = self._same(listed[first:behind])
        if near is not None:
            start = max(0, first - len(listed))
            groups += [_nearly(group) for group in near.groups[start : behind - len(listed)]]
        return self.render(
            "duplicates.html",
            title=_("Duplicates"),
            groups=self._shown(groups),
            has_more_same=len(exact) > MOST_GROUPS,
            most_groups=MOST_GROUPS,
            looked_at=_looked_at(near),
            least=LEAST_PERCENT,
            longest=LONGEST,
            may_merge=self.may(*MERGING),
            before=f"?page={page - 1}" if page > 1 else "",
            after=f"?page={page + 1}" if behind < total else "",
            page=page,
        )

    def _same(self, groups: Sequence[Same]) -> list[_Group]:
        if not groups:
            return []
        found = of_same(self.workspace.path, groups, most=together.MOST_TOGETHER)
        return [
            _Group(_("the same text"), group.size, found.get(group.fingerprint, []), {})
            for group in groups
        ]

    def _shown(self, groups: Sequence[_Group]) -> list[dict[str, Any]]:
        """Return the groups with their notes, which are read for all of them at once."""
        pks = [pk for group in groups for pk in group.pks]
        notes = together.live_notes(self.workspace).defer("body", "haystack", "contexts")
        found = {note.pk: note for note in together.read(notes, pks)}
        return [
            {
                "says": group.says,
                "size": group.size,
                "more": group.size - len(group.pks),
                "address": links.to_merge(self.site, self.workspace.pk, group.pks),
                "notes": self._rows(group, [found[pk] for pk in group.pks if pk in found]),
            }
            for group in groups
        ]

    def _rows(self, group: _Group, notes: Sequence[Any]) -> list[dict[str, Any]]:
        return [
            {
                "key": key_text(note.key, most=LIST_KEY),
                "address": links.to_page(self.site, "note", "change", note.pk),
                "summary": summary_line(note.summary),
                "words": _words(group, note, notes),
                "updated_at": note.updated_at,
                "created_at": note.created_at,
                "size": note.size,
                "recalls": note.recalls,
            }
            for note in notes
        ]


def _nearly(group: Sequence[Alike]) -> _Group:
    shown = group[: together.MOST_TOGETHER]
    lowest, highest = (end(note.percent for note in group[1:]) for end in (min, max))
    said = _("%(percent)s %% the same words")
    span = str(lowest) if lowest == highest else f"{lowest}–{highest}"
    alike = {note.pk: note for note in shown}
    return _Group(said % {"percent": span}, len(group), list(alike), alike)


def _looked_at(near: NearlySame | None) -> str:
    """Return which notes were compared by their words; "" where there was no need to."""
    if near is None:
        return ""
    if near.is_complete:
        return _("All notes were looked at.")
    said = ngettext(
        "The newest note was looked at, and no older one.",
        "The newest %(count)s notes were looked at, and no older ones.",
        near.looked_at,
    )
    return said % {"count": near.looked_at}


def _words(group: _Group, note: Any, notes: Sequence[Any]) -> dict[str, Any] | None:
    """Return how a note differs from the first of its group; None where it says the same."""
    if not group.alike:
        return None
    first, own = group.alike[group.pks[0]], group.alike[note.pk]
    if own is first:
        return {"note": quiet(_("stored last"))}
    if together.holds_secret(row for row in notes if row.pk in (first.pk, own.pk)):
        return {"percent": own.percent, "note": quiet(_("covered: there is a credential in it"))}
    return {
        "percent": own.percent,
        "missing": _some(first.words - own.words),
        "added": _some(own.words - first.words),
    }


def _some(words: Words) -> str:
    """Return the first words by the alphabet, and that there are more."""
    found = sorted(words)
    short = [
        word if len(word) <= _LONGEST_WORD else f"{word[:_LONGEST_WORD]}…"
        for word in found[:_MOST_WORDS]
    ]
    return ", ".join([*short, *["…"] * (len(found) > _MOST_WORDS)])
