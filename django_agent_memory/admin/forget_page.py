"""The page that asks before notes are forgotten: how many, which, and what it saves."""

from __future__ import annotations

import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import CHANGE, DELETION
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_agent_memory.exceptions import AgentMemoryError, Busy, Conflict
from django_agent_memory.models import Note, Workspace
from django_agent_memory.results import Forgot

from . import forgetting, links
from .access import may
from .base import actor_of
from .batches import UNDOING
from .forms import BUSY
from .reasons import ReasonForm, RequiredReasonForm
from .seen import moment_of

_MOST_WAYS = 5


class ForgetForm(ReasonForm):
    """Why, and when the person was shown what is about to go."""

    seen_at = forms.CharField(widget=forms.HiddenInput)

    def clean_seen_at(self) -> datetime.datetime:
        """Return the time."""
        seen_at = moment_of(self.cleaned_data["seen_at"])
        if seen_at is None:
            raise forms.ValidationError(_("This page is out of date; look at it again."))
        return seen_at


class ForgetManyForm(RequiredReasonForm, ForgetForm):
    """The same for what was selected in a list."""


class ForgetPage:
    """One request to forget: shows the confirmation, or carries it out once it is confirmed."""

    def __init__(self, model_admin: Any, request: HttpRequest) -> None:
        self.admin = model_admin
        self.request = request
        self.site = model_admin.admin_site.name
        self.list = links.to_list(self.site, "note")

    def of_one(self, object_id: str) -> HttpResponse:
        """Answer for the page of one note."""
        if not self.admin.has_forget_permission(self.request):
            raise PermissionDenied
        note = self.admin.get_object(self.request, object_id)
        if note is None:
            self._say(_("This note is not stored any more."), messages.WARNING)
            return HttpResponseRedirect(self.list)
        if not may(self.request, "delete_note", path=note.workspace.path):
            raise PermissionDenied
        return self._answer(self.admin.get_queryset(self.request).filter(pk=note.pk), note)

    def of_many(self, notes: QuerySet[Note]) -> HttpResponse:
        """Answer for the action of the list."""
        return self._answer(notes, None)

    def _answer(self, notes: QuerySet[Note], note: Note | None) -> HttpResponse:
        confirmed = self.request.method == "POST" and "confirmed" in self.request.POST
        kind = ForgetManyForm if note is None else ForgetForm
        form = kind(self.request.POST if confirmed else None)
        chosen = forgetting.chosen(notes)
        if not form.is_valid():
            return self._ask(chosen, note, form)
        self._forget(chosen, note, form.cleaned_data)
        return HttpResponseRedirect(self.request.get_full_path() if note is None else self.list)

    def _ask(
        self, chosen: list[forgetting.Chosen], note: Note | None, form: ForgetForm
    ) -> HttpResponse:
        selected = self.request.POST.getlist(ACTION_CHECKBOX_NAME)
        across = self.request.POST.get("select_across") == "1"
        response: HttpResponse = self.admin.page(
            self.request,
            "forget.html",
            title=_("Forget this note?") if note else _("Forget these notes?"),
            crumbs=self._crumbs(note),
            form=form,
            seen_at=timezone.now().isoformat(),
            **forgetting.shown(chosen),
            selected=[] if note else selected[:1] if across else selected,
            across=across,
            checkbox=ACTION_CHECKBOX_NAME,
            back=self._back(note),
        )
        return response

    def _crumbs(self, note: Note | None) -> list[tuple[Any, str]]:
        if note is None:
            return []
        return [(note.key, links.to_page(self.site, "note", "change", note.pk))]

    def _back(self, note: Note | None) -> str:
        return self._crumbs(note)[0][1] if note else self.request.get_full_path()

    def _forget(
        self, chosen: list[forgetting.Chosen], note: Note | None, given: dict[str, Any]
    ) -> None:
        seen = [row for row in chosen if row.updated_at <= given["seen_at"]]
        batches = []
        for pk, path, rows in forgetting.by_workspace(seen):
            workspace = Workspace(pk=pk, path=path)
            gone = self._forget_in(workspace, rows, note, given["reason"])
            if gone:
                batches.append((workspace, gone))
        if batches:
            self._say(self._done(batches), messages.SUCCESS)
        if kept := len(chosen) - len(seen):
            self._say(_kept(kept), messages.WARNING)

    def _forget_in(
        self,
        workspace: Workspace,
        rows: list[forgetting.Chosen],
        note: Note | None,
        reason: str,
    ) -> list[Forgot]:
        """Forget in one workspace, say what went wrong, and return what is forgotten."""
        try:
            gone = forgetting.forget(
                workspace.path, rows, actor=actor_of(self.request), reason=reason
            )
        except AgentMemoryError as error:
            self._say(f"{workspace.path}: {_failure(error)}", messages.ERROR)
            return []
        row, flag = (workspace, CHANGE) if note is None else (note, DELETION)
        if gone:
            forgetting.log_forgotten(self.request, row, len(gone), reason, flag=flag)
        return gone

    def _done(self, batches: list[tuple[Workspace, list[Forgot]]]) -> str:
        """Return how many notes were forgotten, and the ways to undo it where one may."""
        count = sum(len(gone) for _workspace, gone in batches)
        several = len(batches) > 1
        ways = [
            (
                links.to_batch(self.site, row.pk, gone[0].revision, gone[-1].revision),
                _("Undo in %(path)s…") % {"path": row.path} if several else _("Undo…"),
            )
            for row, gone in batches[:_MOST_WAYS]
            if may(self.request, *UNDOING, path=row.path)
        ]
        linked = format_html_join("", ' <a href="{}">{}</a>', ways)
        return format_html("{}{}", forgetting.said(count), linked)

    def _say(self, message: object, level: int) -> None:
        self.admin.message_user(self.request, message, level)


def _failure(error: AgentMemoryError) -> object:
    if isinstance(error, Busy):
        return BUSY
    if isinstance(error, Conflict):
        return _(
            "A note was written at the same moment, so nothing of its workspace was forgotten. "
            "Look again, then repeat it."
        )
    return str(error)


def _kept(count: int) -> str:
    return ngettext(
        "%(count)d note was left alone: it was written after you looked.",
        "%(count)d notes were left alone: they were written after you looked.",
        count,
    ) % {"count": count}
