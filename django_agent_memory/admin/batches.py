"""The page about what one write forgot or changed, why, and one button that undoes it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_agent_memory import undoing
from django_agent_memory.exceptions import AgentMemoryError
from django_agent_memory.memory import Memory
from django_agent_memory.models import Workspace
from django_agent_memory.undoing import Batch, Touched

from . import links
from .action_page import ActionPage
from .base import actor_of
from .numbers import is_number
from .prune_page import PRUNING
from .rolling_back import ROLLING_BACK
from .shown import LIST_KEY, exact_text, key_text, key_with_timeline

UNDOING = ROLLING_BACK
_SAMPLE = 20


class BatchPage(ActionPage):
    """One request about a batch: shows it, or undoes it."""

    name = "batch"
    permissions = PRUNING

    def __init__(self, model_admin: Any, request: HttpRequest, workspace: Workspace) -> None:
        super().__init__(model_admin, request, workspace)
        self.of_sessions = request.GET.get("sessions") == "1"
        self.back = self.address("sessions" if self.of_sessions else "prune")
        self.back_name = _("End sessions") if self.of_sessions else _("Prune")
        self.may_undo = self.may(*UNDOING)

    def respond(self) -> HttpResponse:
        """Return the page; on POST undo the batch and show what became of it."""
        batch = self._batch()
        if batch is None:
            self.say(_("There is no such batch."), messages.WARNING)
            return HttpResponseRedirect(self.back)
        if self.request.method != "POST":
            return self._page(batch)
        if not self.may_undo:
            raise PermissionDenied
        self._undo(batch)
        return HttpResponseRedirect(self.request.get_full_path())

    def _batch(self) -> Batch | None:
        first, last = (self.request.GET.get(name, "") for name in ("first", "last"))
        if not (is_number(first) and is_number(last)):
            return None
        return undoing.batch_of(
            self.workspace.path, int(first), int(last), of_sessions=self.of_sessions
        )

    def _page(self, batch: Batch) -> HttpResponse:
        undoable = [stone for stone in batch.tombstones if stone.is_undoable]
        response: HttpResponse = self.admin.page(
            self.request,
            "batch.html",
            title=_("What was forgotten"),
            crumbs=self._crumbs(),
            workspace=self.workspace,
            batch=batch,
            reason=exact_text(batch.reason),
            total=len(batch.tombstones),
            undoable=len(undoable),
            may_restore=bool(batch.restores),
            left=len(batch.tombstones) - len(undoable),
            sample=[self._row(stone, _("forgotten")) for stone in batch.tombstones[:_SAMPLE]],
            changed=[self._row(note, _("changed")) for note in batch.changed[:_SAMPLE]],
            more=max(0, len(batch.tombstones) - _SAMPLE),
            may_undo=self.may_undo,
            of_sessions=self.of_sessions,
            back=self.back,
            back_name=self.back_name,
        )
        return response

    def _crumbs(self) -> list[tuple[Any, str]]:
        if not self.admin.has_view_permission(self.request, self.workspace):
            return [(self.back_name, self.back)]
        page = links.to_page(self.site, "workspace", "change", self.workspace.pk)
        return [(self.workspace.path, page), (self.back_name, self.back)]

    def _row(self, touched: Touched, done: str) -> tuple[Any, str, str]:
        """Return a key, its timeline, and what was done or what stands in the way of undoing it.

        Of what a session had, the session in the place of the key, which no page shows.
        """
        state = done
        if not touched.has_text:
            state = _("its text was redacted or removed")
        elif touched.was_written_since:
            state = _("written since")
        if self.of_sessions:
            return key_text(touched.session, most=LIST_KEY), "", state
        path = self.workspace.path
        return (*key_with_timeline(self.request, self.site, path, touched.key), state)

    def _undo(self, batch: Batch) -> None:
        memory = Memory(self.workspace, actor=actor_of(self.request))
        reason = f"Undo of revisions {batch.first} to {batch.last}"
        try:
            done = undoing.undo(
                memory, batch.first, batch.last, of_sessions=self.of_sessions, reason=reason
            )
        except AgentMemoryError as error:
            self.say_failure(error)
            return
        changed = {note.key for note in batch.changed}
        count = sum(1 for restored in done.restored if restored.key not in changed)
        sentences = [_brought_back(count)]
        if again := len(done.restored) - count:
            sentences.append(_changed_back(again))
        sentence = " ".join(sentences)
        if done.restored:
            self.log(sentence, "")
        self.say(sentence, messages.SUCCESS if done.restored else messages.INFO)
        if done.left_alone:
            self.say(_left_alone(len(done.left_alone)), messages.WARNING)


def _brought_back(count: int) -> str:
    return ngettext(
        "%(count)d note was brought back.", "%(count)d notes were brought back.", count
    ) % {"count": count}


def _changed_back(count: int) -> str:
    return ngettext(
        "%(count)d note is again as it was before.",
        "%(count)d notes are again as they were before.",
        count,
    ) % {"count": count}


def _left_alone(count: int) -> str:
    return ngettext(
        "%(count)d key was left alone: it was written since, or its text was redacted or removed.",
        "%(count)d keys were left alone: they were written since, or their text was redacted or "
        "removed.",
        count,
    ) % {"count": count}
