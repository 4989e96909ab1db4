"""Two states of a key beside each other, and the page that compares any two revisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _

from . import links
from .known import facts
from .marking import has_secret
from .past import PastPage, Said
from .shown import key_text
from .side_by_side import Table, side_by_side


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The summaries or the bodies of two states, with what to know about each beside its text."""

    name: str
    heading: str
    left: str
    right: str
    table: Table
    is_covered: bool
    """Whether a credential is in one of the texts: then they are read on demand only."""

    @property
    def differs(self) -> bool:
        """Whether the texts, or what is to know about them, differ."""
        return bool(self.table.rows) or self.left != self.right


def compare(left: Said, right: Said) -> list[Part]:
    """Return what differs in the summary and in the body."""
    return [
        Part(
            name="summary",
            heading=_("Summary"),
            left=_about_summary(left),
            right=_about_summary(right),
            table=side_by_side(left.summary, right.summary),
            is_covered=has_secret(left.summary, right.summary),
        ),
        Part(
            name="body",
            heading=_("Body"),
            left=_about_body(left),
            right=_about_body(right),
            table=side_by_side(left.text, right.text),
            is_covered=has_secret(left.text, right.text),
        ),
    ]


def _about_summary(said: Said) -> str:
    if said.summary is None:
        return _("no index line")
    return _about_text(said, said.summary) or _("index line")


def _about_body(said: Said) -> str:
    if said.text is None:
        return _("no note")
    return _about_text(said, said.text) or (_("JSON") if said.is_json else _("text"))


def _about_text(said: Said, text: str) -> str:
    if said.redacted:
        return _("redacted: the text is gone")
    return "" if text else _("empty")


class ComparePage(PastPage):
    """Any two revisions of a key, chosen on the timeline or by their numbers."""

    def answer(self) -> HttpResponse:
        """Show both, or go to the timeline where they are not two of its revisions."""
        numbers = self.number("a"), self.number("b")
        found = self.numbered(numbers)
        left, right = (found.get(number or 0) for number in numbers)
        if left is None or right is None:
            return self.to_timeline(_("Choose two revisions of this key."), messages.WARNING)
        response: HttpResponse = self.render(
            "compare.html",
            title=_("Revisions %(a)s and %(b)s") % {"a": left.number, "b": right.number},
            crumbs=[self.crumb()],
            shown_key=key_text(self.key),
            sides=[self._side("a", "A", left), self._side("b", "B", right)],
            parts=compare(Said.by(left), Said.by(right)),
            known=facts(Said.by(left).details, Said.by(right).details, key=self.key),
            compare_url=self.address("compare").partition("?")[0],
            left_name=_("Revision %(number)s") % {"number": left.number},
            right_name=_("Revision %(number)s") % {"number": right.number},
        )
        return response

    def _side(self, name: str, label: str, row: Any) -> dict[str, Any]:
        return {
            "name": name,
            "label": label,
            "number": str(row.number),
            "revision": row,
            "actor": key_text(row.actor) if row.actor else _("(not named)"),
            "url": links.to_page(self.site, "revision", "change", row.pk),
        }
