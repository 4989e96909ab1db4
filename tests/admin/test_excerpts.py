"""The list of notes while somebody searches: where each note says it."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_agent_memory.admin import note_list
from django_agent_memory.memory import Memory
from django_agent_memory.writing import Save

from .test_note_list import LIST

EXCERPT = re.compile(r'<div class="agent-memory-excerpt" dir="auto">(.*?)</div>', re.DOTALL)


def excerpts(admin: Client, pattern: str) -> list[str]:
    return EXCERPT.findall(admin.get(LIST, {"q": pattern}).content.decode())


def test_the_excerpt_is_that_of_the_tool_with_the_match_highlighted(
    memory: Memory, admin: Client
) -> None:
    memory.remember("k", "s", "x " * 100 + "the Straße & <b>\n\n on the hill" + " y" * 300)
    (match,) = memory.search("STRASSE").matches
    (shown,) = excerpts(admin, "STRASSE")
    assert "the <mark>Straße</mark> &amp; &lt;b&gt; on the hill" in shown
    plain = re.sub("</?mark>", "", shown)
    assert plain.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">") == match.excerpt
    assert excerpts(admin, "") == []


def test_key_and_summary_are_highlighted(memory: Memory, admin: Client) -> None:
    memory.remember("user/tea", "Green Tea", "b")
    page = admin.get(LIST, {"q": "tea"}).content.decode()
    assert '<bdi class="agent-memory-key">user/<mark>tea</mark></bdi>' in page
    assert "<bdi>Green <mark>Tea</mark></bdi>" in page
    assert EXCERPT.findall(page) == ["b"]


def test_a_credential_stays_covered_where_a_search_hits_it(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "before password=hunter2hunter2 behind")
    (shown,) = excerpts(admin, "hunter2")
    assert ">hunter2hunter2</span> behind" in shown
    assert 'class="agent-memory-covered"' in shown
    assert "<mark>" not in shown
    (shown,) = excerpts(admin, "before password")
    assert "<mark>before password</mark>" in shown


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_no_more_is_read_than_the_budget(
    memory: Memory, admin: Client, monkeypatch: pytest.MonkeyPatch, over: int
) -> None:
    memory.apply([Save(key=f"k{n}", body="needle" + "x" * 94) for n in range(5)])
    monkeypatch.setattr(note_list, "MOST_READ", 300 + over)
    assert len(excerpts(admin, "needle")) == (3 if over >= 0 else 2)


def test_excerpts_cost_one_statement(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key=f"k{n}", body="needle", summary="s") for n in range(200)])
    memory.remember("one", "s", "thread")
    counts = []
    for query in ({"q": "thread"}, {"q": "needle"}, {"q": "needle", "rows": "500"}):
        admin.get(LIST, query)  # PostgreSQL is asked about its table once a minute.
        with CaptureQueriesContext(connection) as queries:
            assert admin.get(LIST, query).status_code == 200
        reading = [
            row for row in queries if re.search(r"\.\Wbody\W( AS \Wbody\W)? FROM", row["sql"])
        ]
        assert len(reading) == 1
        counts.append(len(queries))
    assert counts[0] == counts[1] == counts[2] <= 11
