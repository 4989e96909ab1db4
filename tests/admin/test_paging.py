"""Lists of any size: counted up to a bound, shown by as many rows as were asked for."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_agent_memory.admin import paging
from django_agent_memory.memory import Memory
from django_agent_memory.writing import Save

from .test_note_list import LIST

REVISIONS = "/admin/agent_memory/revision/"


@pytest.fixture
def many(memory: Memory) -> Memory:
    memory.apply([Save(key=f"k{n:03}", body="b") for n in range(120)])
    return memory


@pytest.mark.parametrize(("most", "capped"), [(119, True), (120, False), (121, False)])
@pytest.mark.parametrize("address", [LIST, REVISIONS])
def test_so_many_rows_are_counted(
    many: Memory, admin: Client, monkeypatch: Any, address: str, most: int, capped: bool
) -> None:
    monkeypatch.setattr(paging, "MOST_COUNTED", most)
    page = admin.get(address)
    assert page.context["cl"].result_count == min(most, 120)
    said = f"There are more than {most}: these are the first of them."
    assert (said in page.content.decode()) is capped


def test_the_last_page_of_those_that_are_counted(
    many: Memory, admin: Client, monkeypatch: Any
) -> None:
    monkeypatch.setattr(paging, "MOST_COUNTED", 110)
    page = admin.get(LIST, {"p": "2"})
    assert [note.key for note in page.context["cl"].result_list] == [
        f"k{n}" for n in range(100, 110)
    ]
    assert admin.get(LIST, {"p": "3"}).status_code == 302


def test_counting_stops_in_the_database_and_reads_no_text(many: Memory, admin: Client) -> None:
    with CaptureQueriesContext(connection) as statements:
        admin.get(LIST)
    (count,) = [row["sql"] for row in statements if "COUNT(" in row["sql"]]
    assert "LIMIT 10001" in count
    assert "LENGTH" not in count
    assert "body" not in count


@pytest.mark.parametrize(
    ("asked", "shown"), [("", 100), ("25", 25), ("100", 100), ("500", 120), ("1000000", 100)]
)
@pytest.mark.parametrize("address", [LIST, REVISIONS])
def test_a_page_has_as_many_rows_as_were_asked_for(
    many: Memory, admin: Client, address: str, asked: str, shown: int
) -> None:
    page = admin.get(address, {"rows": asked} if asked else {})
    assert page.status_code == 200
    assert len(page.context["cl"].result_list) == shown


def test_the_size_stays_with_filters_and_pages(many: Memory, admin: Client) -> None:
    page = admin.get(LIST, {"rows": "25", "workspace": "core"}).content.decode()
    assert "?p=2&amp;rows=25&amp;workspace=core" in page
    assert "By rows a page" in page
