"""Recorded calls: seen exactly as they were answered, and changed by nobody."""

from __future__ import annotations

import html
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_agent_memory.memory import Memory
from django_agent_memory.models import RecordedCall

from .conftest import url
from .test_timeline import address

LIST = "/admin/agent_memory/recordedcall/"


@pytest.fixture
def calls(memory: Memory) -> list[RecordedCall]:
    agent = Memory("core", actor="scribe", run="the run")
    agent.remember("k", "s", "  <b>é\r\n")
    agent.recall("k")
    agent.index_note()
    Memory("other", actor="bob", run="r").recall("k")
    return list(RecordedCall.objects.order_by("pk"))


def names(admin: Client, **query: str) -> list[str]:
    return [row.name for row in admin.get(LIST, query).context["cl"].result_list]


def test_newest_first_filters_and_search(calls: list[RecordedCall], admin: Client) -> None:
    assert names(admin) == ["r/1", "the run/3", "the run/2", "the run/1"]
    assert names(admin, workspace="core", key="k") == ["the run/2", "the run/1"]
    assert names(admin, q="the run/2") == ["the run/2"]
    assert names(admin, q="actor:scribe") == ["the run/3", "the run/2", "the run/1"]
    assert names(admin, q="run") == []
    assert names(admin, q="the") == []


def test_the_list_reads_no_answers(calls: list[RecordedCall], admin: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        page = admin.get(LIST)
    assert len(queries) == 5  # session, user, the filter's paths, count, page
    assert not any("answer" in row["sql"] for row in queries)
    assert "(no single key)" in page.content.decode()


def test_the_answer_is_shown_exactly(calls: list[RecordedCall], admin: Client) -> None:
    page = admin.get(url("recordedcall", "change", calls[1])).content.decode()
    (shown,) = re.findall(r"<pre[^>]*>\n(.*?)</pre>", page, re.S)
    assert html.unescape(shown) == calls[1].answer
    assert "é" in calls[1].answer
    assert f'href="{html.escape(address("timeline"))}"' in page
    Memory("core").remember("k", "s", "new")
    Memory("core").redact("k")
    page = admin.get(url("recordedcall", "change", calls[1])).content.decode()
    assert "redacted: the text is gone" in page


def test_nobody_changes_them(calls: list[RecordedCall], admin: Client) -> None:
    before = list(RecordedCall.objects.values())
    assert admin.get(LIST + "add/").status_code == 403
    assert admin.post(LIST + "add/", {}).status_code == 403
    for page in ("change", "delete"):
        assert admin.post(url("recordedcall", page, calls[0]), {"post": "y"}).status_code == 403
    assert 'name="action"' not in admin.get(LIST).content.decode()
    assert list(RecordedCall.objects.values()) == before
