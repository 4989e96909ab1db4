"""The little of a browser that forms need: what a page's controls send, newlines as CRLF."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from django.http import HttpResponse


class _Controls(HTMLParser):
    """Collects what the successful controls of a page would send."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.sent: dict[str, str] = {}
        self.textarea: str | None = None
        self.text = ""
        self.select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "option" and self.select:
            if "selected" in given or self.select not in self.sent:
                self.sent[self.select] = given.get("value") or ""
            return
        name = given.get("name")
        if not name or "disabled" in given:
            return
        if tag == "textarea":
            self.textarea, self.text = name, ""
        elif tag == "select":
            self.select = name
        elif tag == "input":
            kind = given.get("type", "text")
            ticked = kind not in ("checkbox", "radio") or "checked" in given
            if ticked and kind not in ("submit", "button"):
                self.sent[name] = given.get("value") or ("on" if kind == "checkbox" else "")

    def handle_data(self, data: str) -> None:
        if self.textarea:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self.select = None
        if tag == "textarea" and self.textarea:
            # HTML drops one newline behind the opening tag.
            self.sent[self.textarea] = re.sub(r"\A\n", "", self.text)
            self.textarea = None


def fields_of(page: HttpResponse) -> dict[str, str]:
    """Return name and value of every control of the page as a browser sends them.

    A parser of HTML reads CRLF and CR as LF; a form is sent with CRLF for each.
    """
    controls = _Controls()
    controls.feed(re.sub(r"\r\n?", "\n", page.content.decode()))
    return {name: re.sub(r"\r\n|\r|\n", "\r\n", text) for name, text in controls.sent.items()}
