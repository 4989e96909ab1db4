"""The timeline of a key: every revision, newest first, also of a key that is forgotten."""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from django.db.models.functions import Length
from django.http import HttpResponse
from django.utils.translation import gettext as _

from django_agent_memory.models import Note
from django_agent_memory.models.revision import RevisionQuerySet
from django_agent_memory.policy import ERASES, REDACTS

from . import links
from .access import may
from .base import Crumb
from .past import PastPage, may_restore
from .shown import key_text, quiet

_PAGE = 50
_REASON = 200


class TimelinePage(PastPage):
    """Fifty revisions a page, read without their texts.

    A page goes on from a revision number, so that a write in between moves no row to another page.
    """

    def answer(self) -> HttpResponse:
        """Show the revisions, two of which can be compared and each of which can be restored."""
        rows, older = self._rows()
        current = self._current()
        response: HttpResponse = self.render(
            "timeline.html",
            title=_("History of %(key)s") % {"key": self.short_key()},
            crumbs=[],
            shown_key=key_text(self.key),
            tools=self._tools() if rows else [],
            rows=self._shown(rows, current),
            total=self.revisions().count(),
            is_forgotten=current is None,
            history_from=str(self.workspace.history_from),
            is_pruned_behind=older is None and self._is_complete(rows),
            note_url=self._note_url(current),
            compare_url=self.address("compare").partition("?")[0],
            older_url=older and self.address("timeline", before=older),
            **self._newer(),
        )
        return response

    def _rows(self) -> tuple[list[Any], int | None]:
        """Return the revisions of this page, and where the next one begins."""
        before = self.number("before")
        rows = self.revisions() if before is None else self.revisions().filter(number__lt=before)
        found = list(_without_texts(rows).order_by("-number")[: _PAGE + 1])
        return found[:_PAGE], found[_PAGE - 1].number if len(found) > _PAGE else None

    def _newer(self) -> dict[str, str]:
        """Return the ways to the page before this one and to the first."""
        before = self.number("before")
        if before is None:
            return {}
        newer = self.revisions().filter(number__gte=before).order_by("number")
        numbers = list(newer.values_list("number", flat=True)[: _PAGE + 1])
        first = self.address("timeline")
        is_first = len(numbers) <= _PAGE
        newer_url = first if is_first else self.address("timeline", before=numbers[_PAGE])
        return {"newest_url": first, "newer_url": newer_url}

    def _current(self) -> Any:
        """Return id and revision of the note, None if it is forgotten."""
        notes = Note.objects.seen_in("").filter(workspace=self.workspace, key=self.key)
        return notes.values_list("pk", "revision", named=True).first()

    def _shown(self, rows: list[Any], current: Any) -> list[dict[str, Any]]:
        """Return what the page says of each revision; A and B begin as the newest two."""
        numbers = [row.number for row in rows]
        limit = self.workspace.history_from
        first_incomplete = next((number for number in numbers if number < limit), None)
        return [
            {
                "revision": row,
                # Strings: a locale would put separators into numbers.
                "number": str(row.number),
                "operation": row.get_operation_display(),
                "actor": key_text(row.actor) if row.actor else quiet(_("(not named)")),
                "reason": row.reason[:_REASON] + "…" * (len(row.reason) > _REASON),
                "is_current": current is not None and row.number == current.revision,
                "is_a": row.number in numbers[1:2] or len(numbers) == 1,
                "is_b": row.number in numbers[:1],
                "is_first_before_pruning": row.number == first_incomplete,
                "url": links.to_page(self.site, "revision", "change", row.pk),
                "restore_url": self._restore_url(row, current),
            }
            for row in rows
        ]

    def _restore_url(self, row: Any, current: Any) -> str:
        """Return the way to restoring a revision, "" where there is nothing to bring back."""
        is_now = row.number == current.revision if current is not None else row.gone
        allowed = may_restore(
            self.request, self.workspace.path, is_gone=current is None, to_nothing=row.gone
        )
        if row.redacted or is_now or not allowed:
            return ""
        return self.address("restore", revision=row.number)

    def _is_complete(self, rows: list[Any]) -> bool:
        """Whether retention took something from the workspace, but nothing between these rows."""
        limit = self.workspace.history_from
        return 0 < limit <= (rows[-1].number if rows else 0)

    def _tools(self) -> list[Crumb]:
        """Return the ways to what removes text of the key for good."""
        ways = ((REDACTS, "redact", _("Redact…")), (ERASES, "erase", _("Erase…")))
        path = self.workspace.path
        return [
            (name, self.address(page)) for p, page, name in ways if may(self.request, p, path=path)
        ]

    def _note_url(self, current: Any) -> str:
        if current is None or not may(self.request, "view_note", path=self.workspace.path):
            return ""
        return links.to_page(self.site, "note", "change", current.pk)


def _without_texts(rows: RevisionQuerySet) -> RevisionQuerySet:
    """Return revisions with the lengths of their texts instead of the texts."""
    sized = rows.annotate(size=Length("body"), gone=Q(body__isnull=True))
    return sized.defer("body", "summary", "details", "workspace")
