"""Why a note is found: asked as agents ask, told by parts, and for nobody else's eyes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory import usage
from django_agent_memory.memory import Memory
from django_agent_memory.models import NoteUsage
from django_agent_memory.writing import Save

from .conftest import note_of, note_url, workspace_of

NOTES = {
    "a": "Bo learned pottery in Lisbon.",
    "b": "Ann plays the cello.",
    "c": "The pottery is in the kiln.",
    "d": "Milk is in the fridge.",
}


@pytest.fixture
def told(memory: Memory) -> Memory:
    for key, body in NOTES.items():
        memory.remember(key, "s", body)
    return memory


def rows(page: Any) -> list[tuple[int, str, bool]]:
    plain = re.compile("<[^>]+>")
    return [(row.place, plain.sub("", row.key), row.is_asked_about) for row in page.context["rows"]]


def test_before_a_query_there_is_a_form_and_what_is_stored_next_to_it(
    told: Memory, admin: Client
) -> None:
    page = admin.get(note_url(told, "b", "finding"))
    assert page.status_code == 200
    assert not page.context["is_asked"]
    plain = re.compile("<[^>]+>")
    around = [(plain.sub("", key), itself) for key, _, itself in page.context["neighbours"]]
    assert around == [("a", False), ("b", True), ("c", False), ("d", False)]


def test_a_query_is_answered_as_find_answers_it(told: Memory, admin: Client) -> None:
    page = admin.get(note_url(told, "c", "finding"), {"query": "Where did Bo learn pottery?"})
    found = told.find("Where did Bo learn pottery?", limit=None)
    assert rows(page) == [(n, one.key, one.key == "c") for n, one in enumerate(found, 1)]
    assert page.context["is_found"]
    first = page.context["rows"][0]
    assert first.score == f"{found[0].score:.2f}"
    told_parts = dict(zip(page.context["headings"], first.parts, strict=True))
    assert told_parts["own words"] == f"{found[0].parts['own']:.2f}"


def test_a_note_that_is_not_found_is_told_so(told: Memory, admin: Client) -> None:
    page = admin.get(note_url(told, "d", "finding"), {"query": "pottery"})
    assert not page.context["is_found"]
    assert "It is not among the first 200 notes that are found." in page.content.decode()
    page = admin.get(note_url(told, "d", "finding"), {"query": "xylophone"})
    assert "Nothing is found." in page.content.decode()


@pytest.mark.parametrize(("place", "shown"), [(10, 10), (11, 11), (12, 11)])
def test_it_is_shown_wherever_it_is(memory: Memory, admin: Client, place: int, shown: int) -> None:
    memory.apply([Save(key=f"k{n:03}", body="same words") for n in range(15)])
    order = [one.key for one in memory.find("words", limit=None)]
    page = admin.get(note_url(memory, order[place - 1], "finding"), {"query": "words"})
    assert rows(page)[-1] == (place, order[place - 1], True)
    assert len(rows(page)) == shown


@pytest.mark.parametrize(
    ("query", "error"),
    [("", "This field is required."), ("a" * 1_001, "at most 1000 characters"), ("\x00", "Null")],
)
def test_what_cannot_be_asked_is_said(told: Memory, admin: Client, query: str, error: str) -> None:
    page = admin.get(note_url(told, "a", "finding"), {"query": query})
    assert page.status_code == 200
    assert error in str(page.context["form"].errors)
    assert rows(page) == []


@pytest.mark.django_db(transaction=True)
def test_asking_counts_as_no_recall(told: Memory, admin: Client) -> None:
    admin.get(note_url(told, "a", "finding"), {"query": "pottery"})
    usage.flush()
    assert not NoteUsage.objects.exists()
    told.find("Lisbon", limit=1)
    told.recall("a")
    usage.flush()
    assert NoteUsage.objects.exists()


def test_how_often_it_was_recalled(told: Memory, admin: Client) -> None:
    assert ">never<" in admin.get(note_url(told, "a")).content.decode()
    place = {"workspace": workspace_of(told), "position": note_of(told, "a").position}
    NoteUsage.objects.create(**place, recalled_at=timezone.now(), recall_count=1)
    assert "once, " in admin.get(note_url(told, "a")).content.decode()
    NoteUsage.objects.filter(**place).update(recall_count=1_234)
    assert "1234 times, last " in admin.get(note_url(told, "a", "finding")).content.decode()


def test_statements_do_not_grow(told: Memory, admin: Client) -> None:
    def count() -> int:
        with CaptureQueriesContext(
            connection,
        ) as statements:
            admin.get(note_url(told, "a", "finding"), {"query": "pottery"})
        return len(statements)

    few = count()
    told.apply([Save(key=f"k{n}", body="pottery and more pottery") for n in range(40)])
    assert count() <= few + 1  # one more where there are more than are shown


def test_who_may_not_see_the_note_sees_nothing(told: Memory, member: Callable[..., Client]) -> None:
    assert member("delete_note").get(note_url(told, "a", "finding")).status_code == 403


def test_who_may_look_may_ask(told: Memory, member: Callable[..., Client]) -> None:
    client = member("view_note")
    page = client.get(note_url(told, "a", "finding"), {"query": "pottery"})
    assert [key for _, key, _ in rows(page)][0] == "a"


def test_a_note_that_is_gone_leads_to_the_list(told: Memory, admin: Client) -> None:
    address = note_url(told, "a", "finding")
    told.forget("a")
    for gone in (address, "/admin/agent_memory/note/x/finding/"):
        page = admin.get(gone, follow=True)
        assert "This note is not stored any more." in page.content.decode()


@override_settings(LANGUAGE_CODE="de", USE_THOUSAND_SEPARATOR=True)
def test_numbers_are_those_of_the_language(told: Memory, admin: Client) -> None:
    page = admin.get(note_url(told, "a", "finding"), {"query": "pottery"})
    assert re.fullmatch(r"\d+,\d\d", page.context["rows"][0].score)


def test_what_agents_store_is_inert(memory: Memory, admin: Client) -> None:
    attack = '"><img src=x onerror=alert(1)>'
    memory.remember(attack, attack, f"{attack} pottery")
    page = admin.get(note_url(memory, attack, "finding"), {"query": f"pottery {attack}"})
    assert "<img src=x" not in page.content.decode()
    assert len(rows(page)) == 1
