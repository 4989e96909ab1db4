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
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_agent_memory.exceptions import AgentMemoryError, Busy, Conflict
from django_agent_memory.models import Note, Workspace
from django_agent_memory.text.rendering import estimated_tokens

from . import forgetting, links
from .access import may
from .base import actor_of, log
from .forms import BUSY
from .reasons import ReasonForm
from .shown import key_text

_SAMPLE = 20
_MOST_SAVINGS = 5


class ForgetForm(ReasonForm):
    """Why, and when the person was shown what is about to go."""

    seen_at = forms.CharField(widget=forms.HiddenInput)

    def clean_seen_at(self) -> datetime.datetime:
        """Return the time."""
        try:
            seen_at = parse_datetime(self.cleaned_data["seen_at"])
        except ValueError:
            seen_at = None
        if seen_at is None or timezone.is_naive(seen_at) != timezone.is_naive(timezone.now()):
            raise forms.ValidationError(_("This page is out of date; look at it again."))
        return seen_at


class ForgetPage:
    """One request to forget: shows the confirmation, or carries it out once it is confirmed."""

    def __init__(self, model_admin: Any, request: HttpRequest) -> None:
        self.admin = model_admin
        self.request = request
        self.list = links.to_list(model_admin.admin_site.name, "note")

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
        form = ForgetForm(self.request.POST if confirmed else None)
        chosen = forgetting.chosen(notes)
        if not form.is_valid():
            return self._ask(chosen, note, form)
        self._forget(chosen, note, form.cleaned_data)
        return HttpResponseRedirect(self.request.get_full_path() if note is None else self.list)

    def _ask(
        self, chosen: list[forgetting.Chosen], note: Note | None, form: ForgetForm
    ) -> HttpResponse:
        saved = forgetting.saved_characters(chosen)
        selected = self.request.POST.getlist(ACTION_CHECKBOX_NAME)
        across = self.request.POST.get("select_across") == "1"
        response: HttpResponse = self.admin.page(
            self.request,
            "forget.html",
            title=_("Forget this note?") if note else _("Forget these notes?"),
            crumbs=self._crumbs(note),
            form=form,
            seen_at=timezone.now().isoformat(),
            total=len(chosen),
            sample=[(row.path, key_text(row.key)) for row in chosen[:_SAMPLE]],
            more=max(0, len(chosen) - _SAMPLE),
            saved=_shown_savings(saved),
            more_saved=max(0, len(saved) - _MOST_SAVINGS),
            several=len({row.workspace_id for row in chosen}) > 1,
            selected=[] if note else selected[:1] if across else selected,
            across=across,
            checkbox=ACTION_CHECKBOX_NAME,
            back=self._back(note),
        )
        return response

    def _crumbs(self, note: Note | None) -> list[tuple[Any, str]]:
        if note is None:
            return []
        return [(note.key, links.to_page(self.admin.admin_site.name, "note", "change", note.pk))]

    def _back(self, note: Note | None) -> str:
        return self._crumbs(note)[0][1] if note else self.request.get_full_path()

    def _forget(
        self, chosen: list[forgetting.Chosen], note: Note | None, given: dict[str, Any]
    ) -> None:
        seen = [row for row in chosen if row.updated_at <= given["seen_at"]]
        count = 0
        for pk, path, rows in forgetting.by_workspace(seen):
            count += self._forget_in(Workspace(pk=pk, path=path), rows, note, given["reason"])
        if count:
            done = ngettext(
                "%(count)d note was forgotten.", "%(count)d notes were forgotten.", count
            )
            self._say(done % {"count": count}, messages.SUCCESS)
        if kept := len(chosen) - len(seen):
            self._say(_kept(kept), messages.WARNING)

    def _forget_in(
        self,
        workspace: Workspace,
        rows: list[forgetting.Chosen],
        note: Note | None,
        reason: str,
    ) -> int:
        """Forget in one workspace, say what went wrong, and return how many notes are forgotten."""
        try:
            count = forgetting.forget(
                workspace.path, rows, actor=actor_of(self.request), reason=reason
            )
        except AgentMemoryError as error:
            self._say(f"{workspace.path}: {_failure(error)}", messages.ERROR)
            return 0
        if count:
            self._log(workspace if note is None else note, count, reason)
        return count

    def _log(self, what: Workspace | Note, count: int, reason: str) -> None:
        """Leave one line in Django's log: for the note, or for its workspace with the number."""
        flag = DELETION if isinstance(what, Note) else CHANGE
        forgot = ngettext("Forgot %(count)d note.", "Forgot %(count)d notes.", count)
        message = f"{forgot % {'count': count}} {reason}".strip()
        log(self.request, [what], flag, message)

    def _say(self, message: object, level: int) -> None:
        self.admin.message_user(self.request, message, level)


def _shown_savings(saved: dict[str, int]) -> list[dict[str, Any]]:
    """Return what the page says of each of the first few workspaces."""
    return [
        {"path": path, "characters": size, "tokens": estimated_tokens(size)}
        for path, size in list(saved.items())[:_MOST_SAVINGS]
    ]


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
