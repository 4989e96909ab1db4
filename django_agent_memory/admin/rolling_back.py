"""The page that rolls back one actor: whose writes, what that restores, and doing exactly that."""

from __future__ import annotations

import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.widgets import AdminTextInputWidget
from django.db import router
from django.http import HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from django_agent_memory import rollback
from django_agent_memory.models import Revision
from django_agent_memory.results import Outcome, Restored
from django_agent_memory.writing import MAX_ACTOR_LENGTH, Change, Restore

from .base import actor_of
from .previewed import PreviewedPage, fingerprint
from .reasons import ReasonForm
from .seen import moment_of
from .shown import key_text, key_with_timeline

# It changes notes, brings back forgotten ones and forgets new ones.
ROLLING_BACK = ("add_note", "change_note", "delete_note")
_SAMPLE = 20
_RECENT_REVISIONS = 2_000
_MOST_ACTORS = 100


class _MomentInput(forms.DateTimeInput):
    """Takes a time to the second, and shows one that was sent with its offset as the local time.

    Browsers leave the field empty where its value has an offset.
    """

    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(attrs={"step": "1"}, format="%Y-%m-%dT%H:%M:%S")

    def format_value(self, value: Any) -> str | None:
        """Return the time as a browser takes it."""
        moment = moment_of(value) if isinstance(value, str) else None
        if moment is not None and timezone.is_aware(moment):
            value = timezone.localtime(moment)
        return super().format_value(value)


class RollbackForm(ReasonForm):
    """Whose writes are undone, from when on, and why."""

    field_order = ("actor", "since", "reason")

    actor = forms.CharField(
        label=gettext_lazy("Actor"),
        strip=False,
        max_length=MAX_ACTOR_LENGTH,
        widget=AdminTextInputWidget(attrs={"list": "agent-memory-actors", "autocomplete": "off"}),
        help_text=gettext_lazy("The name exactly as the history shows it."),
    )
    since = forms.DateTimeField(
        label=gettext_lazy("Since"),
        widget=_MomentInput,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["since"].help_text = _(
            "Everything this actor wrote from this time on is undone. Time zone: %(zone)s."
        ) % {"zone": timezone.get_current_timezone_name()}


Plan = tuple[list[Restore], list[str]]
"""What is restored, and the keys that are left alone."""


class RollbackPage(PreviewedPage[RollbackForm, Plan]):
    """One request to roll back."""

    name = "rollback"
    permissions = ROLLING_BACK
    form_class = RollbackForm
    out_of_date = gettext_lazy(
        "Something was written after you looked, so nothing was rolled back. Look again."
    )

    def new_form(self) -> RollbackForm:
        """Return the form, filled in by an address that says what is to be rolled back."""
        known = {name: self.request.GET.get(name) for name in ("actor", "since")}
        return RollbackForm(initial=known)

    def plan(self, form: RollbackForm) -> Plan:
        """Return what undoes all that this actor wrote since."""
        given = form.cleaned_data
        since = given["since"]
        return rollback.plan(
            self.workspace.path,
            actor=given["actor"],
            since=timezone.make_aware(since) if timezone.is_naive(since) else since,
            using=router.db_for_write(Revision),
        )

    def changes(self, plan: Plan) -> list[Change]:
        """Return the restores."""
        return list(plan[0])

    def ask(self, form: RollbackForm) -> HttpResponse:
        """Ask whose writes, since when, and why."""
        return self._render(form, actors=self._actors())

    def _render(self, form: RollbackForm, **more: Any) -> HttpResponse:
        return self.render("rollback.html", title=_("Roll back an actor"), form=form, **more)

    def _actors(self) -> list[str]:
        """Return who wrote the last 2,000 revisions."""
        shared = Revision.objects.seen_in("").filter(workspace=self.workspace)
        recent = shared.order_by("-number")
        names = set(recent.values_list("actor", flat=True)[:_RECENT_REVISIONS])
        return sorted(names - {""})[:_MOST_ACTORS]

    def preview(self, form: RollbackForm, plan: Plan) -> HttpResponse:
        """Show what becomes of which keys."""
        changes, left_alone = plan
        gone = self._forgets([change.revision for change in changes[:_SAMPLE]])
        return self._render(
            form,
            is_preview=True,
            total=len(changes),
            sample=[self._effect(change, gone) for change in changes[:_SAMPLE]],
            more=max(0, len(changes) - _SAMPLE),
            left_total=len(left_alone),
            left_sample=[self._linked(key) for key in left_alone[:_SAMPLE]],
            left_more=max(0, len(left_alone) - _SAMPLE),
            given=_as_sent(form.cleaned_data),
            actor=key_text(form.cleaned_data["actor"]),
            since=form.cleaned_data["since"],
            confirmed=fingerprint(changes),
        )

    def _forgets(self, numbers: list[int]) -> set[int]:
        """Return which of the revisions hold no note."""
        rows = Revision.objects.filter(workspace=self.workspace, number__in=numbers, body=None)
        return set(rows.values_list("number", flat=True))

    def _effect(self, change: Restore, gone: set[int]) -> tuple[Any, str, str]:
        """Return a key, its timeline, and what becomes of it."""
        if not change.revision or change.revision in gone:
            return (*self._linked(change.key), _("forgotten: nothing was there before"))
        effect = _("says again what revision %(number)s says")
        return (*self._linked(change.key), effect % {"number": change.revision})

    def _linked(self, key: str) -> tuple[Any, str]:
        return key_with_timeline(self.request, self.site, self.workspace.path, key)

    def done(self, form: RollbackForm, plan: Plan, outcomes: list[Outcome]) -> HttpResponse:
        """Say how many notes were rolled back, and go back to the workspace."""
        restored = [o for o in outcomes if isinstance(o, Restored) and o.outcome == "restored"]
        self._report(form.cleaned_data, restored, len(plan[1]))
        return HttpResponseRedirect(self.back)

    def _report(self, given: dict[str, Any], restored: list[Restored], left: int) -> None:
        """Say what was done and how to undo it, and leave a line for it in Django's log."""
        count = len(restored)
        done = _restored(count)
        if count:
            about = _("Rolled back “%(actor)s” since %(since)s.")
            said = about % {"actor": given["actor"], "since": given["since"].isoformat()}
            self.log(f"{said} {done}", given["reason"])
            undoing = format_html('<a href="{}">{}</a>', self._undoing(restored[0]), _("Undo…"))
            self.say(format_html("{} {}", done, undoing), messages.SUCCESS)
        else:
            self.say(done, messages.INFO)
        if left:
            self.say(_left_alone(left), messages.WARNING)

    def _undoing(self, first: Restored) -> str:
        """Return the way to roll back this person, since the first of what was restored."""
        log = Revision.objects.using(router.db_for_write(Revision))
        written = log.filter(workspace=self.workspace, number=first.revision)
        since = written.values_list("created_at", flat=True).first() or timezone.now()
        asked = {"actor": actor_of(self.request), "since": since.isoformat()}
        return f"{self.address('rollback')}?{urlencode(asked)}"


def _as_sent(given: dict[str, Any]) -> dict[str, str]:
    """Return the fields as hidden inputs send them, the time with its offset."""
    since: datetime.datetime = given["since"]
    return {"actor": given["actor"], "since": since.isoformat(), "reason": given["reason"]}


def _restored(count: int) -> str:
    return ngettext(
        "%(count)d note was rolled back. Its history keeps what was undone.",
        "%(count)d notes were rolled back. Their history keeps what was undone.",
        count,
    ) % {"count": count}


def _left_alone(count: int) -> str:
    return ngettext(
        "%(count)d key was left alone: others wrote to it later, or its text was redacted.",
        "%(count)d keys were left alone: others wrote to them later, or their text was redacted.",
        count,
    ) % {"count": count}
