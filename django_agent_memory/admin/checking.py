"""The page that checks a workspace for rows that contradict each other, and mends them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseRedirect
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from django_agent_memory import writing
from django_agent_memory.exceptions import AgentMemoryError
from django_agent_memory.models import Note, Revision
from django_agent_memory.results import Defect

from .action_page import ActionPage
from .base import actor_of
from .reasons import ReasonForm
from .rolling_back import ROLLING_BACK
from .shown import key_text, quiet

MOST_SHOWN = 1_000
MOST_NOTES = 10_000
MOST_REVISIONS = 100_000
"""Of a workspace that is checked while a person waits, at half a millisecond a note or so."""
_BATCH = 500

_MEANINGS: dict[str, Any] = {
    "note_missing": gettext_lazy("The history has a note that is not stored."),
    "entry_without_note": gettext_lazy("A line of the index that neither note nor history knows."),
    "note_without_history": gettext_lazy("A note that the history does not know."),
    "note_differs": gettext_lazy("The note says something else than the history."),
    "entry_missing": gettext_lazy("The line of the index is missing."),
    "entry_differs": gettext_lazy("The line of the index says something else than the history."),
    "haystack_stale": gettext_lazy("What is searched is not what is stored."),
    "broken_json": gettext_lazy("The body is no JSON although it is marked so."),
    "revision_differs": gettext_lazy("The note has not the number of its last revision."),
    "position_shared": gettext_lazy("Another note has the same position."),
    "postings_stale": gettext_lazy("What is counted for finding is not what is stored."),
    "revision_counter_behind": gettext_lazy("The number of the last revision is too low."),
    "revisions_missing": gettext_lazy("Revisions are missing from the history."),
    "history_start_ahead": gettext_lazy("The history is said to begin after its end."),
}


class CheckPage(ActionPage):
    """One request to check: shows what is wrong, or mends it."""

    name = "check"
    permissions = ("view_note",)

    def respond(self) -> HttpResponse:
        """Check, and on POST repair."""
        if self._is_large():
            return self._render(ReasonForm(), is_large=True)
        if self.request.method != "POST":
            return self._check(ReasonForm())
        if not self.may(*ROLLING_BACK):
            raise PermissionDenied
        form = ReasonForm(self.request.POST)
        return self._repair(form) if form.is_valid() else self._check(form)

    def _is_large(self) -> bool:
        if self.workspace.revision > MOST_REVISIONS:
            return True
        notes = Note.objects.filter(workspace=self.workspace)
        return notes[: MOST_NOTES + 1].count() > MOST_NOTES

    def _check(self, form: ReasonForm) -> HttpResponse:
        found = writing.find_defects(self.workspace.path)
        shown = list(islice(found, MOST_SHOWN))
        more = sum(1 for _defect in found)
        return self._render(
            form,
            is_large=False,
            total=len(shown) + more,
            defects=self._rows(shown),
            more=more,
            may_repair=self.may(*ROLLING_BACK),
        )

    def _render(self, form: ReasonForm, **context: Any) -> HttpResponse:
        return self.render("check.html", title=_("Check and repair"), form=form, **context)

    def _rows(self, defects: list[Defect]) -> list[tuple[SafeString, Any, int]]:
        private = self._private({defect.key for defect in defects})
        return [
            (
                quiet(_("a note of a session")) if defect.key in private else key_text(defect.key),
                _MEANINGS.get(defect.kind, defect.kind),
                defect.count,
            )
            for defect in defects
        ]

    def _private(self, keys: Iterable[str]) -> set[str]:
        """Return those of the keys that a session has, or had last, to itself."""
        wanted, private = sorted(keys), set[str]()
        for start in range(0, len(wanted), _BATCH):
            batch = {"workspace": self.workspace, "key__in": wanted[start : start + _BATCH]}
            private.update(Note.objects.filter(**batch).private().values_list("key", flat=True))
            log = Revision.objects.filter(**batch, session__gt="")
            private.update(log.values_list("key", flat=True))
        return private

    def _repair(self, form: ReasonForm) -> HttpResponse:
        reason = form.cleaned_data["reason"]
        actor = actor_of(self.request)
        try:
            mended = writing.repair(self.workspace.path, actor=actor, reason=reason)
        except AgentMemoryError as error:
            self.say_failure(error)
            return self._check(form)
        if not mended:
            self.say(_("There was nothing to repair."), messages.INFO)
            return HttpResponseRedirect(self.request.path)
        done = ngettext(
            "%(count)d defect was repaired. The history keeps what was there.",
            "%(count)d defects were repaired. The history keeps what was there.",
            len(mended),
        ) % {"count": len(mended)}
        self.log(done, reason)
        self.say(done, messages.SUCCESS)
        return HttpResponseRedirect(self.request.path)
