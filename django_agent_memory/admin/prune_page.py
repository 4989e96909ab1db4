"""The page that prunes: which notes may go, what that is by now, and forgetting exactly those."""

from __future__ import annotations

import datetime
from typing import Any

from django.contrib import messages
from django.contrib.admin.models import ADDITION
from django.http import HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_agent_memory.exceptions import Refused
from django_agent_memory.models import SavedRule
from django_agent_memory.models.pruning import MAX_RULE_NAME
from django_agent_memory.pruning import fitting, forgotten
from django_agent_memory.results import Outcome
from django_agent_memory.writing import Change

from . import forgetting, links
from .access import may_everywhere
from .base import log
from .numbers import is_number
from .previewed import PreviewedPage, fingerprint
from .reasons import RequiredReasonForm
from .rule_form import CONDITIONS, RuleFields, in_words
from .seen import moment_of
from .shown import key_text

PRUNING = ("delete_note",)
_MOST_RULES = 100
_LONGEST_LOOK = datetime.timedelta(days=1)


class PruneForm(RuleFields, RequiredReasonForm):
    """Which notes may go, and why."""

    field_order = (*CONDITIONS, "reason")


class PrunePage(PreviewedPage[PruneForm, list[forgetting.Chosen]]):
    """One request to prune; what fits is asked as of the moment of the first preview."""

    name = "prune"
    permissions = PRUNING
    form_class = PruneForm
    out_of_date = gettext_lazy(
        "Something was written or recalled after you looked, so nothing was forgotten. Look again."
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.now = timezone.now()

    def new_form(self) -> PruneForm:
        """Return the form, filled with the saved rule that the address names."""
        pk = self.request.GET.get("rule", "")
        saved = self._rules().filter(pk=pk).first() if is_number(pk) else None
        said = saved.rule if saved is not None and isinstance(saved.rule, dict) else {}
        return PruneForm(initial={name: said.get(name) for name in CONDITIONS})

    def answer(self, form: PruneForm) -> HttpResponse:
        """Save the rule where that was asked for, and show what it finds; else as always."""
        if "_save" in self.request.POST:
            self._save(form)
            return self.preview(form, self.plan(form))
        return super().answer(form)

    def plan(self, form: PruneForm) -> list[forgetting.Chosen]:
        """Return the notes that the rule finds."""
        rule = form.cleaned_data["rule"]
        rows = fitting(self.workspace.path, rule, *forgetting.COLUMNS, now=self._seen_at())
        return [forgetting.Chosen(*row) for row in rows]

    def changes(self, plan: list[forgetting.Chosen]) -> list[Change]:
        """Return the forgets."""
        return forgetting.drops(plan)

    def ask(self, form: PruneForm) -> HttpResponse:
        """Ask which notes may go, and why; offer the rules that are saved."""
        rules = self._rules()[:_MOST_RULES]
        return self._render(
            form,
            rules=[self._shown(rule) for rule in rules],
            rules_url=links.to_list(self.site, "savedrule", workspace=self.workspace.path),
        )

    def preview(self, form: PruneForm, plan: list[forgetting.Chosen]) -> HttpResponse:
        """Show how many notes go, which, and what that saves."""
        sent = self.request.POST
        return self._render(
            form,
            is_preview=True,
            rule=in_words(form.cleaned_data["rule"].as_dict()),
            reason=form.cleaned_data["reason"],
            # As they were sent: no number of them gets separators on its way back.
            given={name: sent[name] for name in form.fields if name in sent},
            seen_at=self._seen_at().isoformat(),
            confirmed=fingerprint(self.changes(plan)),
            longest_name=MAX_RULE_NAME,
            **forgetting.shown(plan),
        )

    def done(
        self, form: PruneForm, plan: list[forgetting.Chosen], outcomes: list[Outcome]
    ) -> HttpResponse:
        """Say how many notes were forgotten, and go to the page that can undo it."""
        gone = forgotten(outcomes)
        if not gone:
            self.say(_("There was nothing to forget."), messages.INFO)
            return HttpResponseRedirect(self.request.path)
        forgetting.log_forgotten(
            self.request, self.workspace, len(gone), form.cleaned_data["reason"]
        )
        self.say(forgetting.said(len(gone)), messages.SUCCESS)
        first, last = gone[0].revision, gone[-1].revision
        return HttpResponseRedirect(links.to_batch(self.site, self.workspace.pk, first, last))

    def _render(self, form: PruneForm, **more: Any) -> HttpResponse:
        return self.render("prune.html", title=_("Prune"), form=form, **more)

    def _seen_at(self) -> datetime.datetime:
        """Return the moment of the preview; now where there was none, or none that is recent."""
        sent = moment_of(self.request.POST.get("seen_at", ""))
        is_recent = sent is not None and self.now - _LONGEST_LOOK <= sent <= self.now
        return sent if sent is not None and is_recent else self.now

    def _rules(self) -> Any:
        """Return the rules of this workspace, and those of all for who may prune in all."""
        rules = SavedRule.objects.for_workspace(self.workspace.path)
        if may_everywhere(self.request, *self.permissions):
            return rules
        return rules.filter(workspace=self.workspace)

    def _shown(self, saved: SavedRule) -> tuple[Any, str, list[Any]]:
        """Return the name of a saved rule, the form that is filled with it, and it in words."""
        return key_text(saved.name), f"{self.request.path}?rule={saved.pk}", in_words(saved.rule)

    def _save(self, form: PruneForm) -> None:
        name, rule = self.request.POST.get("name", ""), form.cleaned_data["rule"]
        try:
            saved = SavedRule.objects.keep(workspace=self.workspace, name=name, rule=rule.as_dict())
        except Refused as refusal:
            self.say(str(refusal), messages.ERROR)
            return
        log(self.request, [saved], ADDITION, str(_("Saved.")))
        self.say(_("The rule was saved; memory_prune --rules runs it too."), messages.SUCCESS)
