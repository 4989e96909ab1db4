"""The history: everybody's writes, and nothing to change."""

from __future__ import annotations

import html
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_agent_memory.memory import Memory
from django_agent_memory.models import Revision
from django_agent_memory.writing import Drop, Save

from .conftest import note_url, url

LIST = "/admin/agent_memory/revision/"


def numbers(admin: Client, **query: str) -> list[tuple[str, int]]:
    response = admin.get(LIST, query)
    return [(row.workspace.path, row.number) for row in response.context["cl"].result_list]


@pytest.fixture
def history(memory: Memory) -> Memory:
    memory.remember("k", "s", "one", reason="because")
    Memory("core", actor="ада").remember("K", "s", "other key")
    memory.forget("k")
    Memory("other").remember("k", "s", "other workspace")
    return memory


def test_filters(history: Memory, admin: Client) -> None:
    assert numbers(admin) == [("other", 1), ("core", 3), ("core", 2), ("core", 1)]
    assert numbers(admin, workspace="core", key="k") == [("core", 3), ("core", 1)]
    assert numbers(admin, operation__exact="forget") == [("core", 3)]
    assert numbers(admin, actor="ада") == [("core", 2)]
    assert numbers(admin, actor="") == [("other", 1)]
    assert numbers(admin, actor="\x00") == []


def test_the_list_reads_no_texts(history: Memory, admin: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        page = admin.get(LIST)
    assert len(queries) == 6  # session, user, two filters, count, page
    selected = " ".join(row["sql"].split(" FROM ")[0] for row in queries)
    assert "summary" not in selected
    assert not re.search(r"\bbody\b", selected)
    assert "because" in page.content.decode()


@pytest.mark.parametrize("body", ["\n\nlead", "crlf\r\ncr\rend\n", "  <b>&amp;\t", "x" * 5_000])
def test_a_revision_shows_the_body_exactly(memory: Memory, admin: Client, body: str) -> None:
    memory.remember("k", "  s\n", body)
    page = admin.get(url("revision", "change", Revision.objects.get())).content.decode()
    shown = [html.unescape(text) for text in re.findall(r"<pre[^>]*>\n(.*?)</pre>", page, re.S)]
    assert shown == ["  s\n", body]
    # A parser of HTML reads a bare CR as LF.
    assert "\r" not in page
    assert 'type="submit"' not in page.split('id="content"')[1]


def test_none_and_empty_are_told_apart(memory: Memory, admin: Client) -> None:
    memory.remember("k", None, "")
    memory.forget("k")
    memory.remember("k", "", {"a": 1})
    pages = [
        admin.get(url("revision", "change", revision)).content.decode()
        for revision in Revision.objects.order_by("number")
    ]
    assert "no index line" in pages[0]
    assert "(empty)" in pages[0]
    assert "no note: it was forgotten" in pages[1]
    assert "{&quot;a&quot;:1}" in pages[2]
    assert "JSON" in pages[2]


def test_damaged_json_is_shown_as_it_is(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", [1])
    Revision.objects.update(body="[1,")
    page = admin.get(url("revision", "change", Revision.objects.get())).content.decode()
    assert "[1,</pre>" in page


def test_nothing_can_be_changed(history: Memory, admin: Client) -> None:
    revision = Revision.objects.first()
    assert admin.get(LIST + "add/").status_code == 403
    assert admin.post(LIST + "add/", {}).status_code == 403
    assert admin.post(url("revision", "change", revision), {"reason": "x"}).status_code == 403
    assert admin.post(url("revision", "delete", revision), {"post": "yes"}).status_code == 403
    assert 'name="action"' not in admin.get(LIST).content.decode()


def test_a_forget_leads_to_all_that_was_forgotten_with_it(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key=key, body="b") for key in "abcd"])
    memory.apply([Drop(key=key) for key in "abc"])
    memory.forget("d")
    pages = {}
    for revision in Revision.objects.filter(operation="forget"):
        page = admin.get(url("revision", "change", revision)).content.decode()
        (address,) = re.findall(r'<a href="([^"]+)"[^>]*>What was forgotten with it…</a>', page)
        pages[revision.key] = admin.get(html.unescape(address))
    assert {key: page.context["total"] for key, page in pages.items()} == {
        **dict.fromkeys("abc", 3),
        "d": 1,
    }
    page = admin.get(url("revision", "change", Revision.objects.first())).content.decode()
    assert "What was forgotten with it" not in page


def test_a_note_and_its_history_lead_to_each_other(history: Memory, admin: Client) -> None:
    page = admin.get(note_url(history, "K")).content.decode()
    assert f'href="{LIST}timeline/?workspace=core&amp;key=K"' in page
    revision = Revision.objects.get(key="K")
    page = admin.get(url("revision", "change", revision)).content.decode()
    assert f'href="{note_url(history, "K")}"' in page
    assert f'href="{LIST}timeline/?workspace=core&amp;key=K"' in page
    forgotten = Revision.objects.get(operation="forget")
    page = admin.get(url("revision", "change", forgotten)).content.decode()
    assert "The note</a>" not in page
