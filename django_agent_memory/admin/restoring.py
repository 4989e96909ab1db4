"""The page that asks before a revision is brought back, and shows what that changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.core.exceptions import PermissionDenied
from django.db import models, router
from django.http import HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _

from django_agent_memory.exceptions import Busy, Conflict, Refused
from django_agent_memory.memory import Memory
from django_agent_memory.models import Note, Revision
from django_agent_memory.results import Restored

from . import links
from .access import may
from .base import actor_of, log
from .comparing import compare
from .known import facts
from .past import PastPage, Said, may_restore
from .reasons import ReasonForm
from .shown import key_text


class RestoreForm(ReasonForm):
    """Why, and which revision the person was shown as what is stored now (0: nothing)."""

    expected_revision = forms.IntegerField(
        min_value=0, max_value=10**18, widget=forms.HiddenInput, localize=False
    )


def _brought_back(target: Revision) -> Said:
    """Return what a revision says once it is restored: without an expiry that is past."""
    said = Said.by(target)
    details = said.details
    if details is None or details.expires_at is None or details.expires_at > timezone.now():
        return said
    return said._replace(details=replace(details, expires_at=None))


class RestorePage(PastPage):
    """Shows what is stored now beside what was, and on POST brings it back."""

    target: Revision

    def answer(self) -> HttpResponse:
        """Ask, or restore; only what is not redacted, and only what the person was shown."""
        number = self.number("revision")
        target = self.numbered([number]).get(number or 0)
        if target is None:
            return self.to_timeline(_("This key has no such revision."), messages.WARNING)
        self.target = target
        note = self.note()
        if not self._is_allowed(note):
            raise PermissionDenied
        if target.redacted:
            refusal = _("Revision %(number)s was redacted, so it cannot be restored.")
            return self.to_timeline(refusal % {"number": target.number}, messages.ERROR)
        if self.request.method != "POST":
            return self._ask(note, RestoreForm())
        form = RestoreForm(self.request.POST)
        return self._restore(note, form) if form.is_valid() else self._ask(note, form)

    def _is_allowed(self, note: Any) -> bool:
        to_nothing = self.target.body is None
        path = self.workspace.path
        return may_restore(self.request, path, is_gone=note is None, to_nothing=to_nothing)

    def _ask(self, note: Any, form: RestoreForm) -> HttpResponse:
        now, then = Said.by(note), _brought_back(self.target)
        response: HttpResponse = self.render(
            "restore.html",
            title=_("Restore revision %(number)s?") % {"number": self.target.number},
            crumbs=[self.crumb()],
            form=form,
            shown_key=key_text(self.key),
            revision=self.target,
            revision_url=links.to_page(self.site, "revision", "change", self.target.pk),
            actor=key_text(self.target.actor) if self.target.actor else _("(not named)"),
            expected_revision=str(note.revision if note is not None else 0),
            is_forgotten=note is None,
            to_nothing=then.text is None,
            changes=now != then,
            parts=compare(now, then),
            known=facts(now.details, then.details, key=self.key),
            left_name=_("Stored now"),
            right_name=_("Revision %(number)s") % {"number": self.target.number},
        )
        return response

    def _restore(self, note: Any, form: RestoreForm) -> HttpResponse:
        """Restore; what stands in the way is said above the fresh difference."""
        given = form.cleaned_data
        try:
            outcome = Memory(self.workspace, actor=actor_of(self.request)).restore(
                self.key,
                self.target.number,
                expected_revision=given["expected_revision"],
                reason=given["reason"],
            )
        except Conflict:
            form.add_error(None, _("The key was written to after you looked; see what is new."))
        except Busy:
            form.add_error(None, _("The memory is busy, so nothing was written. Try it again."))
        except Refused as error:
            form.add_error(None, str(error))
        else:
            return self._done(outcome, note, given["reason"])
        return self._ask_again(form)

    def _ask_again(self, form: RestoreForm) -> HttpResponse:
        """Ask with what is stored by now, for which the person may not be the right one."""
        note = self.note()
        if not self._is_allowed(note):
            raise PermissionDenied
        return self._ask(note, form)

    def _done(self, outcome: Restored, before: Any, reason: str) -> HttpResponse:
        if outcome.outcome == "unchanged":
            nothing = _("Nothing was changed: the key says exactly this already.")
            return self.to_timeline(nothing, messages.INFO)
        after = self._written()
        self._log(before, after, reason)
        self.say(self._success(outcome, after), messages.SUCCESS)
        return HttpResponseRedirect(self.address("timeline"))

    def _written(self) -> Any:
        notes = Note.objects.using(router.db_for_write(Note)).defer("body", "haystack")
        return notes.filter(workspace_id=self.workspace.pk, key=self.key).first()

    def _log(self, before: Any, after: Any, reason: str) -> None:
        """Leave a line in Django's log: for the note that is there, or for the one that was."""
        done = _("Restored revision %(number)s.") % {"number": self.target.number}
        row: models.Model = after or before or self.workspace
        flag = DELETION if after is None else ADDITION if before is None else CHANGE
        log(self.request, [row], flag, f"{done} {reason}".strip())

    def _success(self, outcome: Restored, after: Any) -> object:
        """Say what was done, that it can be undone, and lead to what is stored now."""
        if after is None:
            done = _(
                "Revision %(number)s was restored: the note is forgotten, as it was then. "
                "This can be undone below; the history keeps every text."
            )
            return done % {"number": outcome.restored_revision}
        done = _(
            "Revision %(number)s was restored as revision %(new)s. "
            "This can be undone below; the history keeps every text."
        ) % {"number": outcome.restored_revision, "new": outcome.revision}
        if not may(self.request, "view_note", path=self.workspace.path):
            return done
        address = links.to_page(self.site, "note", "change", after.pk)
        return format_html('{} <a href="{}">{}</a>', done, address, _("See the note"))
