"""The page that ends sessions: which have notes to themselves, and forgetting those."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from django.contrib import messages
from django.db.models import Count, Max
from django.http import HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_agent_memory import writing
from django_agent_memory.exceptions import AgentMemoryError
from django_agent_memory.models import Note
from django_agent_memory.results import Forgot

from . import links
from .action_page import ActionPage
from .base import actor_of
from .batches import UNDOING
from .overview import private_counts
from .reasons import ReasonForm
from .shown import key_text

MOST_LISTED = 100


class _Session(NamedTuple):
    """What a session has to itself: how many notes, and when it last wrote one of them."""

    name: str
    notes: int
    last: datetime.datetime


class SessionsPage(ActionPage):
    """One request to end sessions: lists them, or ends those that were chosen."""

    name = "sessions"
    permissions = ("delete_note",)

    def respond(self) -> HttpResponse:
        """List the sessions, and on POST end the chosen ones."""
        if self.request.method != "POST":
            return self._ask(ReasonForm())
        form = ReasonForm(self.request.POST)
        chosen = self.request.POST.getlist("session")
        if not chosen:
            form.add_error(None, _("Choose at least one session."))
        return self._end(form) if form.is_valid() else self._ask(form)

    def _ask(self, form: ReasonForm) -> HttpResponse:
        sessions, notes = private_counts(self.workspace)
        chosen = set(self.request.POST.getlist("session"))
        is_first = self.request.method != "POST"
        return self.render(
            "end_sessions.html",
            title=_("End sessions"),
            form=form,
            rows=[
                (row, key_text(row.name, most=80), is_first or row.name in chosen)
                for row in self._sessions()
            ],
            total=sessions,
            notes=notes,
            more=max(0, sessions - MOST_LISTED),
        )

    def _sessions(self) -> list[_Session]:
        """Return the first sessions by name."""
        private = Note.objects.filter(workspace=self.workspace).private().order_by("session")
        rows = private.values_list("session").annotate(Count("pk"), Max("updated_at"))
        return [_Session(*row) for row in rows[:MOST_LISTED]]

    def _end(self, form: ReasonForm) -> HttpResponse:
        """End those of the chosen sessions that are listed, each in a critical section."""
        reason = form.cleaned_data["reason"]
        chosen = set(self.request.POST.getlist("session"))
        ended, numbers = 0, list[int]()
        failure: AgentMemoryError | None = None
        for session in self._sessions():
            if session.name not in chosen:
                continue
            try:
                numbers += self._end_one(session.name, reason)
            except AgentMemoryError as error:
                failure = error
                break
            ended += 1
        self._report(ended, numbers, reason)
        if failure is None:
            return HttpResponseRedirect(self.back)
        self.say_failure(failure)
        return self._ask(form)

    def _end_one(self, session: str, reason: str) -> list[int]:
        """Return the revisions that forgot what the session had to itself."""
        actor = actor_of(self.request)
        gone = writing.end_session(self.workspace.path, session, actor=actor, reason=reason)
        return [outcome.revision for outcome in gone if isinstance(outcome, Forgot)]

    def _report(self, ended: int, numbers: list[int], reason: str) -> None:
        if not ended:
            return
        done = ngettext("%(ended)d session was ended.", "%(ended)d sessions were ended.", ended) % {
            "ended": ended
        }
        notes = ngettext(
            "%(count)d private note was forgotten; the history keeps its text.",
            "%(count)d private notes were forgotten; the history keeps their text.",
            len(numbers),
        ) % {"count": len(numbers)}
        self.log(f"{done} {notes}", reason)
        self.say(self._undoable(f"{done} {notes}", numbers), messages.SUCCESS)

    def _undoable(self, done: str, numbers: list[int]) -> object:
        """Return what was done, with the way to undo all of it."""
        if not (numbers and self.may(*UNDOING)):
            return done
        at = (self.site, self.workspace.pk, numbers[0], numbers[-1])
        address = links.to_batch(*at, of_sessions=True)
        return format_html('{} <a href="{}">{}</a>', done, address, _("Undo…"))
