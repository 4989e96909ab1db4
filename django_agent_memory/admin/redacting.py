"""The page that asks before the past of a key is blanked, and counts what that takes."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_agent_memory import writing
from django_agent_memory.exceptions import Refused
from django_agent_memory.memory import Memory
from django_agent_memory.models import Revision
from django_agent_memory.policy import REDACTS
from django_agent_memory.results import Redactable

from .base import actor_of
from .confirming import ConfirmForm, ConfirmKeyForm
from .past import PastPage
from .removing import ANSWERS, CHARACTERS, REVISIONS, Counts, Removing, counted
from .shown import key_text


class RedactPage(PastPage, Removing):
    """One request to redact the history of a key, or the one revision that the query names."""

    permissions: ClassVar[tuple[str, ...]] = (REDACTS,)
    done_word = gettext_lazy("Redacted.")
    revision: int | None

    def answer(self) -> HttpResponse:
        """Ask, or redact; what is said now and what never was is not redacted."""
        self.revision = self.number("revision")
        if "revision" in self.request.GET and self.revision is None:
            return self._refuse(_("This key has no such revision."))
        try:
            return self.respond_to()
        except Refused as refusal:
            return self._refuse(str(refusal))

    def _refuse(self, why: str) -> HttpResponse:
        self.say(why, messages.WARNING)
        return HttpResponseRedirect(self.elsewhere())

    def form(self, data: Any = None) -> ConfirmForm:
        """Return the form that asks for the key."""
        return ConfirmKeyForm(self.key, data)

    def ask(self, form: ConfirmForm) -> HttpResponse:
        """Return the page with what would be blanked by now."""
        found = writing.redactable(self.workspace.path, self.key, revision=self.revision)
        response: HttpResponse = self.render(
            "remove.html",
            title=self._title(),
            crumbs=[self.crumb()] if self.sees_past() else [],
            form=form,
            shown_key=key_text(self.key),
            lead=_("These texts are blanked for good. This cannot be undone."),
            rows=counted(
                (REVISIONS, found.revisions),
                (CHARACTERS, found.characters),
                (ANSWERS, found.recorded_calls),
            ),
            nothing=_("There is nothing to redact: no past text is left here."),
            includes=_("Notes of sessions count too, and so do calls recorded until you confirm."),
            stays=self._stays(found),
            expected_revision=str(found.last_revision),
            button=_("Redact for good"),
            back=self.elsewhere(),
        )
        return response

    def _title(self) -> str:
        if self.revision is None:
            return _("Redact the past of %(key)s?") % {"key": self.short_key()}
        return _("Redact revision %(number)s?") % {"number": self.revision}

    def _stays(self, found: Redactable) -> list[str]:
        said_now = _("What the note says now: forget or replace it first where that must go too.")
        return [
            _("Who wrote when, and what kind of write it was."),
            _("The key, and the reasons that were given: erase the key where these must go too."),
            *([said_now] if found.kept_revision else []),
        ]

    def remove(self, given: dict[str, Any]) -> Counts:
        """Blank what was shown."""
        redacted = Memory(self.workspace, actor=actor_of(self.request)).redact(
            self.key,
            self.revision,
            expected_revision=given["expected_revision"],
            reason=given["reason"],
        )
        return counted((REVISIONS, redacted.revisions), (ANSWERS, redacted.recorded_calls))

    def logged(self, said: str, reason: str) -> str:
        """Return the counts; the reason is in the history."""
        return said

    def leave(self) -> HttpResponse:
        """Go back to the timeline."""
        return HttpResponseRedirect(self.elsewhere())


def is_redactable(revision: Revision) -> bool:
    """Whether the revision says something, and not what the note says now."""
    try:
        found = writing.redactable(revision.workspace.path, revision.key, revision=revision.number)
    except Refused:
        return False
    return found.revisions > 0
