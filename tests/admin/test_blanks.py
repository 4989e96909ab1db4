"""White space marked on demand: what is where, and that the text between the marks stays exact."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from django_agent_memory.admin import blanks
from django_agent_memory.admin.marking import marked
from django_agent_memory.admin.shown import exact_text
from django_agent_memory.memory import Memory
from django_agent_memory.models import Revision

from .browser import fields_of
from .conftest import note_url, url
from .test_flagged import TOKEN

BODY = "  lead\r\n\ttab\u00a0nbsp \n\n<b>\u3000\u200bwide</b>  \r end\t"
MARKS = [
    ("  ", "··", "agent-memory-blank"),
    ("\r", "CR", "agent-memory-invisible"),
    ("\n", "↵", "agent-memory-line-end"),
    ("\t", "→", "agent-memory-blank"),
    ("\u00a0", "NBSP", "agent-memory-invisible"),
    (" ", "·", "agent-memory-blank agent-memory-trailing"),
    ("\n", "↵", "agent-memory-line-end"),
    ("\n", "↵", "agent-memory-line-end"),
    ("\u3000", "U+3000", "agent-memory-invisible"),
    ("\u200b", "U+200B", "agent-memory-invisible"),
    ("  ", "··", "agent-memory-blank agent-memory-trailing"),
    ("\r", "CR", "agent-memory-invisible"),
    (" ", "·", "agent-memory-blank"),
    ("\t", "→", "agent-memory-blank agent-memory-trailing"),
]


class Reader(HTMLParser):
    """Reads the text of each <pre> as a browser copies it, and what is marked in it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.marks: list[list[tuple[str, str, str]]] = []
        self.mark: list[str] | None = None
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "pre":
            self.inside = True
            self.texts.append("")
            self.marks.append([])
        elif self.inside and "data-name" in given:
            self.mark = ["", given["data-name"], given["class"]]

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self.inside = False
        elif tag == "span" and self.mark is not None:
            text, name, kind = self.mark
            self.marks[-1].append((text, name, kind))
            self.mark = None

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.texts[-1] += data
        if self.mark is not None:
            self.mark[0] += data


def read(page: Any) -> Reader:
    """Return what a parser reads; like a browser it takes CR in the source for a line feed."""
    source = page if isinstance(page, str) else page.content.decode()
    reader = Reader()
    reader.feed(re.sub("\r\n?", "\n", source))
    reader.close()
    # The newline behind <pre> is dropped.
    reader.texts = [text.removeprefix("\n") for text in reader.texts]
    return reader


def test_every_blank_is_marked_and_none_is_changed() -> None:
    reader = read(exact_text(BODY, with_blanks=True))
    assert reader.texts == [BODY]
    assert reader.marks == [MARKS]


def test_without_asking_nothing_is_marked_but_what_nobody_sees() -> None:
    reader = read(exact_text(BODY))
    assert reader.texts == [BODY]
    assert reader.marks == [[MARKS[9]]]


@given(st.text(st.sampled_from(" \t\n\r\u00a0\u2028\u200bab<&\x0b=:" + TOKEN[:6]), max_size=60))
def test_the_text_between_the_marks_is_the_text(text: str) -> None:
    text += f" {TOKEN}\tpassword = hunter2aXq9 \n"
    reader = read(exact_text(text, with_blanks=True))
    assert reader.texts == [text]
    assert read(f"<pre>\n{marked(text)}</pre>".replace("\r", "&#13;")).texts == [text]
    whole = "".join(blank for blank, _, _ in reader.marks[0] if blank != "\u200b")
    assert whole == "".join(re.findall(r"\s", text))


def test_blanks_within_a_credential_are_marked_under_its_cover() -> None:
    body = "-----BEGIN RSA PRIVATE KEY-----\nMIIE  abc\n-----END RSA PRIVATE KEY-----\n"
    reader = read(exact_text(body, with_blanks=True))
    assert reader.texts == [body]
    assert [name for _, name, _ in reader.marks[0]][-1] == "↵"
    assert len([1 for _, name, _ in reader.marks[0] if name == "↵"]) == 3
    assert "agent-memory-covered" in exact_text(body, with_blanks=True)


@pytest.mark.parametrize(("count", "is_whole"), [(9_999, True), (10_000, True), (10_001, False)])
def test_only_so_many_are_marked_and_that_is_said(count: int, is_whole: bool) -> None:
    text = "a\n" * count
    reader = read(exact_text(text, with_blanks=True))
    assert reader.texts == [text]
    assert len(reader.marks[0]) == min(count, 10_000)
    said = "Only the first 10000 blanks are marked." in exact_text(text, with_blanks=True)
    assert said == (not is_whole)


@pytest.mark.parametrize("text", [" " * 1_000_000 + "x", "\t " * 500_000, " \r" * 500_000])
def test_no_text_takes_long(text: str) -> None:
    begin = time.process_time()
    assert len(blanks.marks_of(text)) == 10_000
    assert not blanks.is_marked_whole(text)
    assert time.process_time() - begin < 2


# On the pages


def test_a_revision_shows_them_when_asked(memory: Memory, admin: Client) -> None:
    memory.remember("k", "sum  mary ", BODY)
    address = url("revision", "change", Revision.objects.get())
    assert f'href="{address}?exact=1"' in admin.get(address).content.decode()
    page = admin.get(f"{address}?exact=1")
    reader = read(page)
    assert reader.texts[-2:] == ["sum  mary ", BODY]
    assert reader.marks[-2] == [
        ("  ", "··", "agent-memory-blank"),
        (" ", "·", "agent-memory-blank agent-memory-trailing"),
    ]
    assert reader.marks[-1] == MARKS
    assert f'href="{address}"' in page.content.decode()
    for other in ("0", "x", "\0", ""):
        assert read(admin.get(f"{address}?exact={other}")).marks[-1] == [MARKS[9]]


def test_a_viewer_and_an_editor_see_them_on_the_note(
    memory: Memory, member: Any, admin: Client
) -> None:
    memory.remember("k", "sum  mary ", BODY)
    viewer = member("view_note")
    address = note_url(memory)
    for browser in (viewer, admin):
        assert f'href="{address}?exact=1"' in browser.get(address).content.decode()
        reader = read(browser.get(f"{address}?exact=1"))
        assert reader.texts[-2:] == ["sum  mary ", BODY]
        assert reader.marks[-1] == MARKS
    assert read(admin.get(address)).texts[-1:] != [BODY]


def test_the_field_beside_it_stays_exact(memory: Memory, admin: Client) -> None:
    memory.remember("k", "sum  mary ", BODY)
    address = f"{note_url(memory)}?exact=1"
    form = fields_of(admin.get(address))
    assert form["body"].replace("\r\n", "\n") == re.sub("\r\n?", "\n", BODY)
    assert admin.post(address, form).status_code == 302
    note = memory.recall("k")
    assert note is not None
    assert (note.body, note.summary, note.revision) == (BODY, "sum  mary ", 1)


def test_what_has_no_text_offers_no_marks(memory: Memory, admin: Client) -> None:
    memory.remember("k", None, "")
    memory.forget("k")
    for revision in Revision.objects.all():
        page = admin.get(url("revision", "change", revision) + "?exact=1")
        assert page.status_code == 200
        assert "exact=1" not in page.content.decode().split('class="object-tools"')[1][:2_000]
