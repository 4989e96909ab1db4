"""The page on which notes become one: side by side, which stays, what then changes, doing it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from django_agent_memory.pruning import forgotten
from django_agent_memory.results import Outcome
from django_agent_memory.writing import Change

from . import forgetting, links, together
from .base import Crumb
from .batches import UNDOING
from .comparing import compare
from .duplicates_page import MERGING
from .known import facts
from .marking import has_secret
from .merge_form import Merge, MergeForm
from .numbers import is_number
from .past import Said
from .previewed import PreviewedPage, fingerprint
from .shown import LIST_KEY, exact_text, key_text

_MOST_OF_TEXT = 5_000
_HEADING_KEY = 40


class MergePage(PreviewedPage[MergeForm, Merge]):
    """One request about the notes that the address names; only live ones that all share.

    Whoever may see notes sees them side by side; to merge them takes more.
    """

    name = "merge"
    permissions = ("view_note",)
    form_class = MergeForm
    out_of_date = gettext_lazy(
        "One of the notes was written or forgotten after you looked, so nothing was merged. "
        "Look again."
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.workspace_page = self.back
        self.back = self.address("duplicates")
        self.may_merge = self.may(*MERGING)
        self.notes = self._read()

    def respond(self) -> HttpResponse:
        """Return the page; on POST the preview, or do it."""
        if len(self.notes) < 2:
            return self._too_few()
        if self.request.method != "POST":
            return self.ask(self.new_form())
        if not self.may_merge:
            raise PermissionDenied
        if self.request.POST.get("seen") != self._seen():
            return self._look_again()
        return super().respond()

    def crumbs(self) -> list[Crumb]:
        """Return the workspace, where it may be seen, and its duplicates."""
        crumbs: list[Crumb] = [(_("Duplicates"), self.back)]
        if self.admin.has_view_permission(self.request, self.workspace):
            crumbs.insert(0, (self.workspace.path, self.workspace_page))
        return crumbs

    def new_form(self) -> MergeForm:
        """Return the form about these notes."""
        return MergeForm(self.notes)

    def sent_form(self) -> MergeForm:
        """Return it with what was typed into it."""
        return MergeForm(self.notes, self.request.POST)

    def plan(self, form: MergeForm) -> Merge:
        """Return what was chosen."""
        return form.merge

    def changes(self, plan: Merge) -> list[Change]:
        """Return the forgets, and the save of the note that stays."""
        return plan.changes()

    def reason(self, form: MergeForm, plan: Merge) -> str:
        """Return the reason with the note that stays."""
        return plan.reason(form.cleaned_data["reason"])

    def ask(self, form: MergeForm) -> HttpResponse:
        """Show the notes beside each other, and to those who may merge them the choice."""
        centre = form.centre
        return self._render(
            form,
            centre=key_text(centre.key, most=LIST_KEY),
            centre_url=links.to_page(self.site, "note", "change", centre.pk),
            text=exact_text(centre.body[:_MOST_OF_TEXT]),
            is_covered=has_secret(centre.body),
            is_cut=len(centre.body) > _MOST_OF_TEXT,
            pairs=[self._pair(centre, note) for note in self.notes if note is not centre],
            may_merge=self.may_merge,
        )

    def preview(self, form: MergeForm, plan: Merge) -> HttpResponse:
        """Show what is forgotten, what that saves, and what becomes of the note that stays."""
        note, sent = plan.survivor, self.request.POST
        before = Said.by(note)
        after = before._replace(text=plan.body, details=plan.details)
        return self._render(
            form,
            is_preview=True,
            survivor=key_text(note.key),
            changes_survivor=plan.changes_survivor,
            parts=compare(before, after)[1:],
            known=facts(before.details, after.details, key=note.key),
            left_name=_("Stored now"),
            right_name=_("After merging"),
            ends_first=_ends_first(note, plan.others),
            reason=plan.reason(form.cleaned_data["reason"]),
            undoable=self.may(*UNDOING),
            given={name: sent[name] for name in form.fields if name in sent},
            confirmed=fingerprint(plan.changes()),
            **forgetting.shown([self._chosen(other) for other in plan.others]),
        )

    def preview_again(self, form: MergeForm) -> HttpResponse:
        """Show it anew with the notes that are stored by now; what was typed stays."""
        self.notes = self._read()
        return self._too_few() if len(self.notes) < 2 else self._look_again()

    def done(self, form: MergeForm, plan: Merge, outcomes: list[Outcome]) -> HttpResponse:
        """Say how many notes were merged, and go to the page that can undo it."""
        gone = forgotten(outcomes)
        said = ngettext(
            "%(count)d note was merged into another.",
            "%(count)d notes were merged into another.",
            len(gone),
        ) % {"count": len(gone)}
        self.log(said, form.cleaned_data["reason"])
        self.say(said, messages.SUCCESS)
        last = outcomes[-1].workspace_revision
        return HttpResponseRedirect(
            links.to_batch(self.site, self.workspace.pk, gone[0].revision, last)
        )

    # How

    def _read(self) -> list[Any]:
        """Return the notes that the address names, at most 10, with what a page shows of them."""
        asked = dict.fromkeys(filter(is_number, self.request.GET.getlist("note")))
        pks = list(dict.fromkeys(map(int, asked)))[: together.MOST_TOGETHER]
        return together.read(together.live_notes(self.workspace), pks)

    def _too_few(self) -> HttpResponse:
        self.say(_("Fewer than two of these notes are stored: nothing to merge."), messages.WARNING)
        return HttpResponseRedirect(self.back)

    def _look_again(self) -> HttpResponse:
        """Show what was confirmed as it would be now, or else the form, with all that was typed."""
        self.say(self.out_of_date, messages.WARNING)
        form, sent = self.sent_form(), self.request.POST
        if "confirmed" in sent and "_again" not in sent and form.is_valid():
            return self.preview(form, self.plan(form))
        return self.ask(form)

    def _seen(self) -> str:
        """Return what stands for exactly these notes as they are."""
        return " ".join(f"{note.pk}:{note.revision}" for note in self.notes)

    def _render(self, form: MergeForm, **more: Any) -> HttpResponse:
        return self.render(
            "merge.html",
            title=_("Merge notes"),
            form=form,
            seen=self._seen(),
            action=self.request.get_full_path(),
            **more,
        )

    def _pair(self, centre: Any, note: Any) -> dict[str, Any]:
        left, right = Said.by(centre), Said.by(note)
        return {
            "heading": key_text(note.key, most=LIST_KEY),
            "url": links.to_page(self.site, "note", "change", note.pk),
            "parts": compare(left, right),
            "known": facts(left.details, right.details, key=centre.key),
            "left_name": key_text(centre.key, most=_HEADING_KEY),
            "right_name": key_text(note.key, most=_HEADING_KEY),
        }

    def _chosen(self, note: Any) -> forgetting.Chosen:
        return forgetting.Chosen(
            self.workspace.pk,
            self.workspace.path,
            self.workspace.index_budget,
            note.key,
            note.revision,
            note.summary,
            note.updated_at,
        )


def _ends_first(note: Any, others: Sequence[Any]) -> Any:
    """Return when the note that stays expires, None where none of the others outlasts it."""
    end = note.expires_at
    outlasts = [other.expires_at is None or (end and other.expires_at > end) for other in others]
    return end if end is not None and any(outlasts) else None
