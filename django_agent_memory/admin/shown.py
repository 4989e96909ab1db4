"""Stored text as a page shows it: always escaped, blanks and line ends as they are."""

from __future__ import annotations

import datetime
from typing import Any

from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import is_aware, localtime
from django.utils.translation import gettext as _

from django_agent_memory.text import rendering

from . import links
from .access import may
from .blanks import MOST_MARKED, is_marked_whole
from .marking import marked

LIST_KEY = 80


def key_text(key: str, *, most: int | None = None, pattern: str = "") -> SafeString:
    """Return a key isolated from the direction around it, cut behind `most` cp.

    It is quoted where part of it would hide: a link that is one blank could not be seen. What
    matches the pattern is highlighted.
    """
    short = key if most is None or len(key) <= most else key[:most] + "…"
    shown = short if shows_whole(key) else f"“{short}”"
    return format_html('<bdi class="agent-memory-key">{}</bdi>', marked(shown, pattern=pattern))


def shows_whole(key: str) -> bool:
    """Whether every character of the key can be seen: no blank or other one hides."""
    return key.isprintable() and key == " ".join(key.split())


def key_with_timeline(
    request: HttpRequest, site: str, path: str, key: str
) -> tuple[SafeString, str]:
    """Return a key and the way to its timeline, "" for those who may not look at that."""
    may_see = may(request, "view_revision", path=path)
    return key_text(key), links.to_past(site, "timeline", path, key) if may_see else ""


def exact_text(text: str, *, with_blanks: bool = False) -> SafeString:
    """Return a text to be read and copied character by character, its white space marked or not."""
    if not text:
        return quiet(_("(empty)"))
    safe = marked(text, with_blanks=with_blanks)
    # HTML drops one newline behind <pre>: this one, not the text's own. It reads a bare CR as LF.
    exact = mark_safe(safe.replace("\r", "&#13;"))  # noqa: S308  (escaped by marked)
    shown = format_html('<pre class="agent-memory-text" dir="auto">\n{}</pre>', exact)
    if not with_blanks or is_marked_whole(text):
        return shown
    rest = _("Only the first %(count)s blanks are marked.")
    return format_html(
        "<div>{}{}</div>", shown, quiet(rest % {"count": number_format(MOST_MARKED)})
    )


def exact_summary(row: Any) -> SafeString:
    """Return the summary of a note or revision exactly; none is not the same as a blank one."""
    return no_index_line() if row.summary is None else _exact(row, row.summary)


def exact_body(row: Any) -> SafeString:
    """Return the body of a note or revision exactly."""
    return _exact(row, row.body)


def exact_tool(site: str, model: str, row: Any) -> tuple[Any, str]:
    """Return the way to the page with white space marked, or back from there."""
    name = _("Plain text") if row.shows_blanks else _("Exact white space")
    return name, links.to_exact(site, model, row.pk, is_on=row.shows_blanks)


def _exact(row: Any, text: str) -> SafeString:
    return exact_text(text, with_blanks=getattr(row, "shows_blanks", False))


def summary_line(summary: str | None, *, pattern: str = "") -> SafeString:
    """Return a summary as the index shows it; what matches the pattern is highlighted."""
    if summary is None:
        return no_index_line()
    return format_html("<bdi>{}</bdi>", marked(rendering.fit_summary(summary), pattern=pattern))


def no_index_line() -> SafeString:
    """Return what stands for a summary that is not there."""
    return quiet(_("no index line"))


def local_time(moment: datetime.datetime) -> datetime.datetime:
    """Return the time in the zone of the page; one without a zone is in it already."""
    return localtime(moment) if is_aware(moment) else moment


def quiet(text: object) -> SafeString:
    """Return a remark of ours in a place where stored text is expected."""
    return format_html('<span class="agent-memory-quiet">{}</span>', text)
