"""The pages that ask before a key, or all of a workspace, is removed from every table."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_agent_memory import admin_log, writing
from django_agent_memory.exceptions import Refused
from django_agent_memory.memory import Memory
from django_agent_memory.models import Workspace
from django_agent_memory.policy import ERASES

from . import links
from .access import may
from .action_page import ActionPage
from .base import actor_of
from .confirming import ConfirmForm, ConfirmPathForm, EraseKeyForm
from .past import PastPage
from .removing import CHARACTERS, LINES, Counts, Removing, of_erasure
from .shown import key_text

_ERASED = gettext_lazy("Erased.")
_LEAD = gettext_lazy("This is removed from every table, for good. This cannot be undone.")
_NOTHING = gettext_lazy("There is nothing to erase.")
_INCLUDES = gettext_lazy(
    "Notes of sessions count too, and so do calls and recalls recorded until you confirm."
)
_OUTSIDE = gettext_lazy("What backups and other programs of this site have.")
_NAMES = gettext_lazy("The names of recorded calls, so that a late retry brings nothing back.")


class _Erasing(Removing):
    """What both pages do: `key` is None for all of the workspace."""

    key: str | None
    done_word = _ERASED

    def asked(self, form: ConfirmForm) -> dict[str, Any]:
        """Return what the page shows of what goes by now."""
        found = writing.erasable(self.workspace.path, self.key)
        return {
            "form": form,
            "lead": _LEAD,
            "rows": of_erasure(found.rows, (CHARACTERS, found.characters), (LINES, self._lines())),
            "nothing": _NOTHING,
            "includes": _INCLUDES,
            "expected_revision": str(found.last_revision),
            "button": _("Erase for good"),
        }

    def remove(self, given: dict[str, Any]) -> Counts:
        """Erase what was shown."""
        lines = self._lines()
        memory = Memory(self.workspace, actor=actor_of(self.request))
        erased = memory.erase(self.key, expected_revision=given["expected_revision"])
        return of_erasure(erased, (LINES, lines))

    def logged(self, said: str, reason: str) -> str:
        """Return the counts and the reason, which no history is left to keep."""
        return f"{said} {reason}"

    def _lines(self) -> int:
        keys = writing.keys_of(self.workspace.path, self.key)
        path = self.workspace.path
        return admin_log.lines_about(workspace=path, keys=keys, whole=self.key is None)


class EraseKeyPage(PastPage, _Erasing):
    """One request to erase a key."""

    permissions: ClassVar[tuple[str, ...]] = (ERASES,)
    key: str

    def answer(self) -> HttpResponse:
        """Ask, or erase; where what the query has can be no key, there is nothing to erase."""
        try:
            return self.respond_to()
        except Refused:
            return self.leave()

    def form(self, data: Any = None) -> ConfirmForm:
        """Return the form that asks for the key."""
        return EraseKeyForm(self.key, data)

    def ask(self, form: ConfirmForm) -> HttpResponse:
        """Return the page with what would go by now."""
        response: HttpResponse = self.render(
            "remove.html",
            title=_("Erase %(key)s?") % {"key": self.short_key()},
            crumbs=[self.crumb()] if self.sees_past() else [],
            shown_key=key_text(self.key),
            stays=[_("Other notes, whatever they repeat of it."), _NAMES, _OUTSIDE],
            back=self.elsewhere(),
            **self.asked(form),
        )
        return response

    def leave(self) -> HttpResponse:
        """Go to a list of the workspace that this person may see: the key has no page any more."""
        for model in ("note", "revision"):
            if any(
                may(self.request, f"{verb}_{model}", path=self.workspace.path)
                for verb in ("view", "change")
            ):
                listed = links.to_list(self.site, model, workspace=self.workspace.path)
                return HttpResponseRedirect(listed)
        return HttpResponseRedirect(reverse("admin:index", current_app=self.site))


class ErasePage(ActionPage, _Erasing):
    """One request to erase all of a workspace."""

    name = "erase"
    permissions = (ERASES,)

    def __init__(self, model_admin: Any, request: Any, workspace: Workspace) -> None:
        super().__init__(model_admin, request, workspace)
        self.key = None

    def respond(self) -> HttpResponse:
        """Ask, and on POST with the right path erase."""
        return self.respond_to()

    def form(self, data: Any = None) -> ConfirmForm:
        """Return the form that asks for the path."""
        return ConfirmPathForm(self.workspace.path, data)

    def ask(self, form: ConfirmForm) -> HttpResponse:
        """Return the page with what would go by now."""
        return self.render(
            "remove.html",
            title=_("Erase all of this workspace?"),
            stays=[
                _("The workspace, without title and description, its keys, grants and rules."),
                _NAMES,
                _OUTSIDE,
            ],
            **self.asked(form),
        )

    def leave(self) -> HttpResponse:
        """Go back to the workspace, which is there still."""
        return HttpResponseRedirect(self.back)
