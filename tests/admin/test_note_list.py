"""The list of notes: searched as the tool searches, light at any size."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey, IndexEntry, Note
from django_agent_memory.writing import Save

from .conftest import note_of, note_url, url

LIST = "/admin/agent_memory/note/"


def keys(admin: Client, **query: str) -> list[str]:
    response = admin.get(LIST, query)
    assert response.status_code == 200
    return [note.key for note in response.context["cl"].result_list]


def test_a_row_shows_the_note(memory: Memory, admin: Client) -> None:
    memory.remember("user/name", "line one\nline  two", "é" * 42)
    page = admin.get(LIST).content.decode()
    assert f'<a href="{note_url(memory, "user/name")}">' in page
    assert "line one line two" in page
    assert '<td class="field-shown_size">42</td>' in page
    assert "core" in page


def test_the_summary_is_cut_as_the_index_cuts_it(memory: Memory, admin: Client) -> None:
    memory.remember("k", "x" * 200, "b")
    assert "x" * 106 + "…(summary cut)" in admin.get(LIST).content.decode()


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("ПРИВЕТ", ["greeting"]),
        ("straße", ["street"]),
        ("100%", ["percent"]),
        ("%", ["percent"]),
        ("_", ["snake_case"]),
        ("two words", ["words"]),
        ("words two", []),
        (" two", ["words"]),
        ("  two", []),
        ("", ["greeting", "percent", "snake_case", "street", "words"]),
        ("summary of words", ["words"]),
    ],
)
def test_it_searches_as_the_tool_does(
    memory: Memory, admin: Client, pattern: str, found: list[str]
) -> None:
    memory.apply(
        [
            Save(key="greeting", body="Привет, мир"),
            Save(key="street", body="HAUPTSTRASSE"),
            Save(key="percent", body="100% sure"),
            Save(key="snake_case", body="x"),
            Save(key="words", body="says two words", summary="Summary of Words"),
        ]
    )
    assert keys(admin, q=pattern) == found
    assert [match.key for match in memory.search(pattern).matches] == found


def test_filters(memory: Memory, admin: Client) -> None:
    memory.remember("filled", "s", "b")
    memory.remember("blank", "", "b")
    memory.remember("none", None, "b")
    Memory("other").remember("elsewhere", "s", "b")
    assert keys(admin, workspace="core") == ["blank", "filled", "none"]
    assert keys(admin, workspace="other") == ["elsewhere"]
    assert keys(admin, workspace="cor") == []
    assert keys(admin, workspace="core", summary="none") == ["none"]
    assert keys(admin, workspace="core", summary="blank") == ["blank"]
    assert keys(admin, workspace="core", summary="filled") == ["filled"]
    assert keys(admin, key="none") == ["none"]
    assert keys(admin, summary="nonsense", workspace="core") == ["blank", "filled", "none"]


@pytest.mark.parametrize("term", ["\x00", "k\x00", "\x00k"])
@pytest.mark.parametrize("model", ["note", "workspace", "agentkey", "recordedcall", "revision"])
def test_a_search_for_what_no_database_takes_finds_nothing(
    memory: Memory, admin: Client, model: str, term: str
) -> None:
    Memory("core", run="k").remember("k", "s", "b")
    AgentKey.objects.issue(workspace="core", name="k")
    page = admin.get(url(model, "changelist"), {"q": term})
    assert [str(message) for message in page.context["messages"]] == []
    assert list(page.context["cl"].result_list) == []
    assert len(admin.get(url(model, "changelist")).context["cl"].result_list) == 1


def test_choices_offered_for_what_no_database_takes_are_none(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "b")
    field = {"app_label": "agent_memory", "model_name": "note", "field_name": "workspace"}
    for term, found in (("co", ["core"]), ("\x00", [])):
        page = admin.get("/admin/autocomplete/", {**field, "term": term})
        assert [choice["text"] for choice in page.json()["results"]] == found


@pytest.mark.parametrize("parameter", ["workspace", "key"])
def test_a_filter_value_that_no_database_takes_finds_nothing(
    memory: Memory, admin: Client, parameter: str
) -> None:
    memory.remember("k", "s", "b")
    assert keys(admin, **{parameter: "\x00"}) == []


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "Pacific/Apia"])
def test_ages(memory: Memory, admin: Client, zone: str) -> None:
    days = {"now": 0, "d3": 3, "d20": 20, "d60": 60, "d200": 200}
    for key, age in days.items():
        memory.remember(key, "s", "b")
        Note.objects.filter(key=key).update(
            updated_at=timezone.now() - datetime.timedelta(days=age)
        )
    with override_settings(TIME_ZONE=zone):
        assert keys(admin, updated="today") == ["now"]
        assert keys(admin, updated="7") == ["d3", "now"]
        assert keys(admin, updated="30") == ["d20", "d3", "now"]
        assert keys(admin, updated="90") == ["d20", "d3", "d60", "now"]
        assert keys(admin, updated="older") == ["d200"]
        assert len(keys(admin, updated="rubbish")) == 5


def test_every_column_sorts(memory: Memory, admin: Client) -> None:
    memory.remember("a", "s", "xxx")
    memory.remember("b", "s", "x")
    assert keys(admin, o="-1") == ["b", "a"]
    assert keys(admin, o="3") == ["b", "a"]
    for column in range(1, 7):
        assert len(keys(admin, o=str(column))) == 2


def test_the_list_reads_no_long_text_and_takes_few_queries(
    memory: Memory, admin: Client, django_assert_num_queries: Callable[..., Any]
) -> None:
    memory.apply([Save(key=f"k{n}", body="b", summary="s") for n in range(300)])
    admin.get(LIST, {"q": "k1"})  # PostgreSQL is asked about its table once a minute
    for query in ({}, {"q": "k1"}, {"workspace": "core", "summary": "filled", "updated": "7"}):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert admin.get(LIST, query).status_code == 200
        # Session, user, two filters (paths; kinds, slots and sources), count, page, its summaries.
        assert len(queries) == (8 if "q" in query else 7)  # And excerpts.
        assert "JOIN" not in queries[4]["sql"] or "summary" in query
        for row in queries[:7]:
            selected = row["sql"].split(" FROM ")[0]
            assert "haystack" not in selected
            assert re.findall(r"(\w+\()?[^ (]*\bbody\b", selected) in (
                [],
                ["LENGTH("],
                ["CHAR_LENGTH("],
            )


def test_damaged_rows_are_shown(memory: Memory, admin: Client) -> None:
    memory.remember("no entry", "s", "b")
    memory.remember("no note", "s", "b")
    memory.remember("bad json", "s", [1])
    IndexEntry.objects.filter(key="no entry").delete()
    Note.objects.filter(key="no note").delete()
    Note.objects.filter(key="bad json").update(body="[1,")
    assert keys(admin) == ["bad json", "no entry"]
    assert keys(admin, summary="none") == ["no entry"]
    for note in Note.objects.all():
        for page in ("change", "forget"):
            assert admin.get(url("note", page, note)).status_code == 200


@pytest.mark.parametrize("key", [" ", "a\nb", "\u200b", "a/../b", "_5F", "x?y#z&w=1", "%", "🔑"])
def test_any_key_can_be_reached(memory: Memory, admin: Client, key: str) -> None:
    memory.remember(key, "s", "b")
    page = admin.get(LIST).content.decode()
    assert f'<a href="{note_url(memory, key)}">' in page
    assert admin.get(note_url(memory, key)).status_code == 200
    history = admin.get(note_url(memory, key, "history"), follow=True)
    assert (history.context["key"], history.context["total"]) == (key, 1)


def test_the_form_takes_few_queries(
    memory: Memory, admin: Client, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    memory.remember("k", "s", "b")
    address = note_url(memory)
    with django_assert_max_num_queries(6):  # session, user, note, summary, workspace, type
        admin.get(address)
    assert note_of(memory).body == "b"
