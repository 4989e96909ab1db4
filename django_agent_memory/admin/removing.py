"""What pages share that remove text for good: the counts of what goes, one question, one try."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.models import CHANGE
from django.http import HttpRequest, HttpResponse
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_agent_memory.exceptions import Busy, Conflict, Refused
from django_agent_memory.models import Workspace
from django_agent_memory.results import Erased

from .base import log
from .confirming import ConfirmForm

Counts = list[tuple[Any, int]]
"""What goes, each with its name, without what is not there."""

REVISIONS = gettext_lazy("Revisions")
CHARACTERS = gettext_lazy("Characters of text")
ANSWERS = gettext_lazy("Recorded answers, blanked")
LINES = gettext_lazy("Lines in this site's log of the admin, blanked")
_OF_ERASURES = {
    "notes": gettext_lazy("Notes"),
    "index_entries": gettext_lazy("Lines of the index"),
    "revisions": REVISIONS,
    "recorded_calls": ANSWERS,
    "usage": gettext_lazy("Counts of recalls"),
    "postings": gettext_lazy("Words by which find knows them"),
    "contexts": gettext_lazy("Ties to contexts"),
}


class Removing:
    """One request to a page that removes: asks, or removes what was shown and says how much.

    For what was written since it was shown it asks anew, and says so.
    """

    request: HttpRequest
    workspace: Workspace
    done_word: ClassVar[Any]

    def respond_to(self) -> HttpResponse:
        """Ask, and on POST of a valid form remove."""
        if self.request.method != "POST":
            return self.ask(self.form())
        form = self.form(self.request.POST)
        counts = self._removed(form) if form.is_valid() else None
        if counts is None:
            return self.ask(form)
        self._report(counts, form.cleaned_data["reason"])
        return self.leave()

    # What each page says for itself

    def form(self, data: Any = None) -> ConfirmForm:
        """Return the form, with what was sent."""
        raise NotImplementedError

    def ask(self, form: ConfirmForm) -> HttpResponse:
        """Return the page that says what goes by now."""
        raise NotImplementedError

    def remove(self, given: dict[str, Any]) -> Counts:
        """Remove it where it is still what was shown, and return what went."""
        raise NotImplementedError

    def logged(self, said: str, reason: str) -> str:
        """Return what Django's log keeps: never a text that went, nor its key."""
        raise NotImplementedError

    def leave(self) -> HttpResponse:
        """Go on to a page that is there still."""
        raise NotImplementedError

    def say(self, message: object, level: int) -> None:
        """Leave a message for the next page."""
        raise NotImplementedError

    # How

    def _removed(self, form: ConfirmForm) -> Counts | None:
        try:
            return self.remove(form.cleaned_data)
        except Conflict:
            error = _("Something was written after you looked, so nothing was removed. Look again.")
        except Busy:
            error = _("The memory is busy, so nothing was removed. Try it again.")
        except Refused as refusal:
            error = str(refusal)
        form.add_error(None, error)
        return None

    def _report(self, counts: Counts, reason: str) -> None:
        said = f"{self.done_word} {in_words(counts)}"
        log(self.request, [self.workspace], CHANGE, self.logged(said, reason))
        self.say(said, messages.SUCCESS)


def counted(*rows: tuple[Any, int]) -> Counts:
    """Return those of the rows that count anything."""
    return [row for row in rows if row[1]]


def of_erasure(erased: Erased, *more: tuple[Any, int]) -> Counts:
    """Return what an erasure removes, by the names that people know."""
    named = ((name, getattr(erased, field)) for field, name in _OF_ERASURES.items())
    return counted(*named, *more)


def in_words(counts: Counts) -> str:
    """Return the counts in one line."""
    if not counts:
        return _("There was nothing.")
    return ", ".join(f"{name}: {number_format(number)}" for name, number in counts) + "."
