"""The page that has agents forget a whole workspace, once its path was typed."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.widgets import AdminTextInputWidget
from django.http import HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from django_agent_memory.exceptions import AgentMemoryError
from django_agent_memory.memory import Memory
from django_agent_memory.models import Note
from django_agent_memory.results import Cleared

from . import links
from .action_page import ActionPage
from .base import actor_of
from .batches import UNDOING
from .overview import private_counts
from .reasons import ReasonForm


class ClearForm(ReasonForm):
    """The path of the workspace, typed, and why."""

    field_order = ("path", "reason")

    path = forms.CharField(
        label=gettext_lazy("Path"),
        widget=AdminTextInputWidget(attrs={"autocomplete": "off", "autocapitalize": "none"}),
        help_text=gettext_lazy("Type the path of the workspace to confirm."),
    )

    def __init__(self, workspace_path: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.workspace_path = workspace_path

    def clean_path(self) -> str:
        """Return the path, where it is that of the workspace."""
        path: str = self.cleaned_data["path"]
        if path != self.workspace_path:
            raise forms.ValidationError(
                _("This is not the path of the workspace, so nothing was forgotten.")
            )
        return path


class ClearPage(ActionPage):
    """One request to clear: asks, or forgets every note that all share."""

    name = "clear"
    permissions = ("delete_note",)

    def respond(self) -> HttpResponse:
        """Ask, and on POST with the right path forget."""
        if self.request.method != "POST":
            return self._ask(ClearForm(self.workspace.path))
        form = ClearForm(self.workspace.path, self.request.POST)
        return self._clear(form) if form.is_valid() else self._ask(form)

    def _ask(self, form: ClearForm) -> HttpResponse:
        live = Note.objects.filter(workspace=self.workspace).live()
        return self.render(
            "clear.html",
            title=_("Forget all notes?"),
            form=form,
            total=live.count(),
            private=private_counts(self.workspace)[1],
        )

    def _clear(self, form: ClearForm) -> HttpResponse:
        reason = form.cleaned_data["reason"]
        try:
            cleared = Memory(self.workspace, actor=actor_of(self.request)).clear(reason=reason)
        except AgentMemoryError as error:
            self.say_failure(error)
            return self._ask(form)
        if not cleared.notes:
            self.say(_("There was nothing to forget."), messages.INFO)
            return HttpResponseRedirect(self.back)
        done = ngettext(
            "%(count)d note was forgotten.", "%(count)d notes were forgotten.", cleared.notes
        ) % {"count": cleared.notes}
        self.log(done, reason)
        self.say(self._undoable(done, cleared), messages.SUCCESS)
        return HttpResponseRedirect(self.back)

    def _undoable(self, done: str, cleared: Cleared) -> object:
        """Return what was done, with the way to undo it."""
        kept = _("The history keeps every text, so that this can be undone.")
        if not self.may(*UNDOING):
            return f"{done} {kept}"
        last = cleared.workspace_revision
        first = last - cleared.notes + 1
        address = links.to_batch(self.site, self.workspace.pk, first, last)
        return format_html('{} {} <a href="{}">{}</a>', done, kept, address, _("Undo…"))
