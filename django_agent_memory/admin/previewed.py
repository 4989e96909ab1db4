"""Pages that ask for a choice, show what it does, and then do exactly what was shown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, TypeVar

from django.contrib import messages
from django.http import HttpResponse

from django_agent_memory.exceptions import Busy, Conflict, Refused
from django_agent_memory.memory import Memory
from django_agent_memory.results import Outcome
from django_agent_memory.writing import Change

from .action_page import ActionPage
from .base import actor_of
from .reasons import ReasonForm

Form = TypeVar("Form", bound=ReasonForm)
Plan = TypeVar("Plan")


class PreviewedPage(ActionPage, Generic[Form, Plan]):
    """One request about a workspace: the form, the preview of what it does, or doing it.

    A `Plan` is all that the preview shows; the changes in it are what is done. The preview sends
    the fingerprint of them along, and where they are others by then, it is shown anew.
    """

    form_class: type[Form]
    # What is said where they are others.
    out_of_date: ClassVar[Any]

    def respond(self) -> HttpResponse:
        """Return the page, or go on to another once it is done."""
        if self.request.method != "POST":
            return self.ask(self.new_form())
        form = self.sent_form()
        if not form.is_valid() or "_again" in self.request.POST:
            return self.ask(form)
        return self.answer(form)

    def answer(self, form: Form) -> HttpResponse:
        """Show what a valid form does, or do it where exactly that was confirmed."""
        plan = self.plan(form)
        if "confirmed" not in self.request.POST:
            return self.preview(form, plan)
        if self.request.POST["confirmed"] != fingerprint(self.changes(plan)):
            return self.preview_again(form)
        return self._carry_out(form, plan)

    # What each page says for itself

    def new_form(self) -> Form:
        """Return the form that nothing was typed into."""
        return self.form_class()

    def sent_form(self) -> Form:
        """Return the form with what was typed into it."""
        return self.form_class(self.request.POST)

    def plan(self, form: Form) -> Plan:
        """Return what the choice does by now."""
        raise NotImplementedError

    def changes(self, plan: Plan) -> list[Change]:
        """Return the changes of the plan."""
        raise NotImplementedError

    def reason(self, form: Form, plan: Plan) -> str:
        """Return the reason that the history keeps."""
        reason: str = form.cleaned_data["reason"]
        return reason

    def ask(self, form: Form) -> HttpResponse:
        """Return the page with the form."""
        raise NotImplementedError

    def preview(self, form: Form, plan: Plan) -> HttpResponse:
        """Return the page that shows the plan."""
        raise NotImplementedError

    def done(self, form: Form, plan: Plan, outcomes: list[Outcome]) -> HttpResponse:
        """Say what was done, and go on."""
        raise NotImplementedError

    def preview_again(self, form: Form) -> HttpResponse:
        """Show what it would do by now, where that is not what the person has confirmed."""
        self.say(self.out_of_date, messages.WARNING)
        return self.preview(form, self.plan(form))

    # How

    def _carry_out(self, form: Form, plan: Plan) -> HttpResponse:
        """Apply the plan that was confirmed: each change holds only where nobody wrote since."""
        memory = Memory(self.workspace, actor=actor_of(self.request))
        try:
            outcomes = memory.apply(self.changes(plan), reason=self.reason(form, plan))
        except Conflict:
            return self.preview_again(form)
        except Busy as error:
            self.say_failure(error)
            return self.preview(form, plan)
        except Refused as error:
            self.say_failure(error)
            return self.preview(form, self.plan(form))
        return self.done(form, plan, outcomes)


def fingerprint(changes: Iterable[Change]) -> str:
    """Return what stands for exactly these changes."""
    digest = hashlib.sha256()
    for change in changes:
        digest.update(repr(change).encode())
    return digest.hexdigest()
