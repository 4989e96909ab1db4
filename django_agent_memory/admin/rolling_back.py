"""The page that rolls back one actor: whose writes, what that restores, and doing exactly that."""

from __future__ import annotations

import datetime
import hashlib
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.widgets import AdminTextInputWidget
from django.db import router
from django.http import HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from django_agent_memory import rollback
from django_agent_memory.exceptions import Busy, Conflict, Refused
from django_agent_memory.memory import Memory
from django_agent_memory.models import Revision
from django_agent_memory.results import Restored
from django_agent_memory.writing import MAX_ACTOR_LENGTH, Restore

from . import links
from .action_page import ActionPage
from .base import actor_of
from .reasons import ReasonForm
from .shown import key_text

# It changes notes, brings back forgotten ones and forgets new ones.
ROLLING_BACK = ("add_note", "change_note", "delete_note")
_SAMPLE = 20
_RECENT_REVISIONS = 2_000
_MOST_ACTORS = 100


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
        widget=forms.DateTimeInput(
            attrs={"type": "datetime-local", "step": "1"}, format="%Y-%m-%dT%H:%M:%S"
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["since"].help_text = _(
            "Everything this actor wrote from this time on is undone. Time zone: %(zone)s."
        ) % {"zone": timezone.get_current_timezone_name()}


class RollbackPage(ActionPage):
    """One request to roll back: the form, the preview of what it does, or doing it."""

    name = "rollback"
    permissions = ROLLING_BACK

    def respond(self) -> HttpResponse:
        """Return the page, or go back to the workspace once it is done."""
        if self.request.method != "POST":
            known = {name: self.request.GET.get(name) for name in ("actor", "since")}
            return self._render(RollbackForm(initial=known))
        form = RollbackForm(self.request.POST)
        if not form.is_valid() or "_again" in self.request.POST:
            return self._render(form)
        changes, left_alone = self._plan(form)
        if "confirmed" not in self.request.POST:
            return self._preview(form, changes, left_alone)
        if self.request.POST["confirmed"] != _fingerprint(changes):
            return self._preview_again(form)
        return self._roll_back(form, changes, left_alone)

    def _plan(self, form: RollbackForm) -> tuple[list[Restore], list[str]]:
        given = form.cleaned_data
        since = given["since"]
        return rollback.plan(
            self.workspace.path,
            actor=given["actor"],
            since=timezone.make_aware(since) if timezone.is_naive(since) else since,
            using=router.db_for_write(Revision),
        )

    def _render(self, form: RollbackForm, **preview: Any) -> HttpResponse:
        return self.render(
            "rollback.html",
            title=_("Roll back an actor"),
            form=form,
            actors=[] if preview else self._actors(),
            **preview,
        )

    def _actors(self) -> list[str]:
        """Return who wrote the last 2,000 revisions."""
        shared = Revision.objects.seen_in("").filter(workspace=self.workspace)
        recent = shared.order_by("-number")
        names = set(recent.values_list("actor", flat=True)[:_RECENT_REVISIONS])
        return sorted(names - {""})[:_MOST_ACTORS]

    def _preview(
        self, form: RollbackForm, changes: list[Restore], left_alone: list[str]
    ) -> HttpResponse:
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
            confirmed=_fingerprint(changes),
        )

    def _preview_again(self, form: RollbackForm) -> HttpResponse:
        """Show what it would do by now, where that is not what the person has confirmed."""
        self.say(
            _("Something was written after you looked, so nothing was rolled back. Look again."),
            messages.WARNING,
        )
        return self._preview(form, *self._plan(form))

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
        """Return a key and the way to its timeline, for those who may look at it."""
        path = self.workspace.path
        may_see = self.may("view_revision")
        return key_text(key), links.to_past(self.site, "timeline", path, key) if may_see else ""

    def _roll_back(
        self, form: RollbackForm, changes: list[Restore], left_alone: list[str]
    ) -> HttpResponse:
        """Apply the plan that was confirmed: each change holds only where nobody wrote since."""
        reason = form.cleaned_data["reason"]
        memory = Memory(self.workspace, actor=actor_of(self.request))
        try:
            outcomes = memory.apply(changes, reason=reason)
        except Conflict:
            return self._preview_again(form)
        except Busy as error:
            self.say_failure(error)
            return self._preview(form, changes, left_alone)
        except Refused as error:
            self.say_failure(error)
            return self._preview(form, *self._plan(form))
        count = sum(1 for o in outcomes if isinstance(o, Restored) and o.outcome == "restored")
        self._report(form.cleaned_data, count, len(left_alone))
        return HttpResponseRedirect(self.back)

    def _report(self, given: dict[str, Any], count: int, left: int) -> None:
        """Say what was done, and leave a line for it in Django's log."""
        done = _restored(count)
        if count:
            about = _("Rolled back “%(actor)s” since %(since)s.")
            said = about % {"actor": given["actor"], "since": given["since"].isoformat()}
            self.log(f"{said} {done}", given["reason"])
        self.say(done, messages.SUCCESS if count else messages.INFO)
        if left:
            self.say(_left_alone(left), messages.WARNING)


def _fingerprint(changes: list[Restore]) -> str:
    """Return what stands for exactly these changes."""
    said = repr([(c.key, c.revision, c.expected_revision) for c in changes])
    return hashlib.sha256(said.encode()).hexdigest()


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
