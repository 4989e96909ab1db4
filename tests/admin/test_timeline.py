"""The timeline of a key, and the comparison of two of its revisions."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone, translation

from django_agent_memory.admin import links
from django_agent_memory.memory import Memory
from django_agent_memory.models import Revision, Workspace
from django_agent_memory.writing import Save, prune_revisions

from .browser import fields_of
from .conftest import note_url, url

BASE = "/admin/agent_memory/revision/"
KEYS = ["a/b/c", "a\nb", "100%", "%2F", "a?b#c&workspace=other", " ", "a+b", "é/שלום", "..", '"<i>']


def address(page: str, key: str = "k", workspace: str = "core", **more: int) -> str:
    return links.to_past("admin", page, workspace, key, **more)


def numbers(page: Any) -> list[str]:
    return [row["number"] for row in page.context["rows"]]


def messages_of(page: Any) -> list[str]:
    return [str(message) for message in page.context["messages"]]


def text_of(page: Any) -> str:
    return re.sub(r"\s+", " ", page.content.decode())


@pytest.fixture
def past(memory: Memory) -> Memory:
    """`k` was stored, changed by somebody, forgotten and restored; another key lies between."""
    memory.remember("k", "s", "one", reason="because")
    memory.remember("K", "s", "other key")
    Memory("core", actor="ада").remember("k", "s2", "one two\n", reason="r" * 300)
    memory.forget("k")
    Memory("other").remember("k", "s", "other workspace")
    memory.restore("k", 1)
    return memory


def test_every_revision_newest_first(past: Memory, admin: Client) -> None:
    page = admin.get(address("timeline"))
    assert numbers(page) == ["5", "4", "3", "1"]
    rows = {row["number"]: row for row in page.context["rows"]}
    assert [rows[n]["operation"] for n in ("5", "4", "3", "1")] == [
        "restore", "forget", "remember", "remember"
    ]  # fmt: skip
    assert rows["3"]["reason"] == "r" * 200 + "…"
    assert rows["1"]["reason"] == "because"
    assert "ада" in rows["3"]["actor"]
    assert [rows[n]["revision"].size for n in ("5", "3", "1")] == [3, 8, 3]
    assert [n for n, row in rows.items() if row["is_current"]] == ["5"]
    assert [n for n, row in rows.items() if row["restore_url"]] == ["4", "3", "1"]
    text = text_of(page)
    assert text.count("no note") == 1
    assert f'href="{url("revision", "change", Revision.objects.get(number=3, key="k"))}"' in text
    assert "redacted" not in text
    assert "Retention" not in text


def test_it_reads_no_texts_and_takes_the_same_queries_at_any_length(
    memory: Memory, admin: Client
) -> None:
    # Session, user, workspace, page, total, note.
    for writes, least in ((1, 0), (300, 250)):
        memory.apply([Save(key="k", body=f"text {n} {writes}") for n in range(writes)])
        with CaptureQueriesContext(connection) as queries:
            page = admin.get(address("timeline"))
        assert len(queries) == 6
        assert page.context["total"] > least
        selected = [row["sql"].split(" FROM ")[0] for row in queries]
        read = " ".join(re.sub(r"(LENGTH\(\S+\)|\S+ IS NULL)", "", sql) for sql in selected)
        assert not re.search(r'"body"|`body`|"summary"|`summary`', read)
    with CaptureQueriesContext(connection) as queries:
        admin.get(address("timeline", before=200))
    assert len(queries) == 7


def test_fifty_a_page_and_the_ways_between_them(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key="k", body=str(n)) for n in range(120)])
    pages, page = [], admin.get(address("timeline"))
    assert "newest_url" not in page.context
    while True:
        pages.append(numbers(page))
        if not page.context["older_url"]:
            break
        page = admin.get(page.context["older_url"])
    assert [len(shown) for shown in pages] == [50, 50, 20]
    assert [n for shown in pages for n in shown] == [str(n) for n in range(120, 0, -1)]
    middle = admin.get(page.context["newer_url"])
    assert numbers(middle) == pages[1]
    assert numbers(admin.get(middle.context["newer_url"])) == pages[0]
    assert numbers(admin.get(page.context["newest_url"])) == pages[0]
    # A write in between moves nothing to another page.
    memory.remember("k", None, "new")
    assert numbers(admin.get(address("timeline", before=71))) == pages[1]


@pytest.mark.parametrize("before", ["", "x", "-1", "٣", "9" * 30, "1.5"])
def test_a_page_that_is_none_is_the_first(past: Memory, admin: Client, before: str) -> None:
    page = admin.get(BASE + "timeline/", {"workspace": "core", "key": "k", "before": before})
    assert numbers(page)[0] == "5"


def test_a_forgotten_key_has_its_timeline(past: Memory, admin: Client) -> None:
    past.forget("k")
    page = admin.get(address("timeline"))
    assert numbers(page) == ["6", "5", "4", "3", "1"]
    assert "forgotten" in text_of(page)
    # It is forgotten already, so no forget is there to be restored.
    offered = [row["number"] for row in page.context["rows"] if row["restore_url"]]
    assert offered == ["5", "3", "1"]


def test_a_key_without_revisions_says_so(past: Memory, admin: Client) -> None:
    page = admin.get(address("timeline", "never"))
    assert page.status_code == 200
    assert "No revisions are kept of this key" in text_of(page)
    past.erase("k")
    assert "it was erased" in text_of(admin.get(address("timeline")))


@pytest.mark.parametrize("query", [{}, {"workspace": "nope"}, {"workspace": "core", "key": "\0"}])
@pytest.mark.parametrize("page", ["timeline", "compare", "restore"])
def test_without_a_workspace_it_goes_to_the_list(
    past: Memory, admin: Client, page: str, query: dict[str, str]
) -> None:
    response = admin.get(f"{BASE}{page}/", query, follow=True)
    assert response.redirect_chain == [(BASE, 302)]
    assert messages_of(response) == ["This workspace does not exist."]


def test_redacted_revisions_are_marked_and_not_offered(past: Memory, admin: Client) -> None:
    past.redact("k", 3)
    page = admin.get(address("timeline"))
    rows = {row["number"]: row for row in page.context["rows"]}
    assert rows["3"]["restore_url"] == ""
    assert text_of(page).count(">redacted<") == 1


def test_it_says_where_retention_took_something(memory: Memory, admin: Client) -> None:
    for n in range(4):
        memory.remember("k", None, str(n))
    memory.remember("young", None, "b")
    Revision.objects.update(created_at=timezone.now() - datetime.timedelta(days=9))
    memory.remember("k", None, "now")
    prune_revisions("core", older_than=datetime.timedelta(days=1), keep=2, dry_run=False)
    text = text_of(admin.get(address("timeline")))
    assert text.count("Retention removed old revisions") == 1
    assert "before revision 4" in text
    assert text.index(">4</a>") < text.index("Retention removed")
    # A key that is younger than what was removed is told so too: nobody knows what it lost.
    assert "Retention removed" in text_of(admin.get(address("timeline", "young")))


def test_the_mark_of_retention_stands_between_the_revisions(past: Memory, admin: Client) -> None:
    Workspace.objects.filter(path="core").update(history_from=4)
    text = text_of(admin.get(address("timeline")))
    assert text.index(">4</a>") < text.index("Retention removed") < text.index(">3</a>")
    assert text.count("Retention removed") == 1


@pytest.mark.parametrize("key", KEYS)
def test_any_key_has_its_pages(memory: Memory, admin: Client, key: str) -> None:
    memory.remember(key, "s", "one")
    memory.remember(key, "s", "two")
    shown = admin.get(note_url(memory, key))
    (history,) = (link for name, link in shown.context["tools"] if str(name) == "History")
    asked = parse_qs(urlsplit(history).query)
    assert asked == {"workspace": ["core"], "key": [key]}
    page = admin.get(history)
    assert numbers(page) == ["2", "1"]
    # The form sends the key as a browser does, a newline of it as CRLF.
    sent = {**fields_of(page), "a": "1", "b": "2"}
    compared = admin.get(page.context["compare_url"], sent)
    assert [side["number"] for side in compared.context["sides"]] == ["1", "2"]
    restore = admin.get(page.context["rows"][1]["restore_url"])
    assert "Restore revision 1?" in text_of(restore)
    listed = admin.get(BASE)
    assert history.replace("&", "&amp;") in listed.content.decode()
    assert admin.get(note_url(memory, key, "history"))["Location"] == history


def test_two_revisions_beside_each_other(past: Memory, admin: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        page = admin.get(address("compare", a=1, b=3))
    assert len(queries) == 4  # session, user, workspace, both revisions
    text = text_of(page)
    assert "<ins> two</ins>" in text
    assert "Revision 1" in text
    summary, body = page.context["parts"]
    assert (summary.differs, body.differs) == (True, True)
    swapped = text_of(admin.get(address("compare", a=3, b=1)))
    assert "<del> two</del>" in swapped
    same = admin.get(address("compare", a=1, b=5))
    assert text_of(same).count("Both say the same.") == 2


def test_what_is_none_empty_json_or_redacted_is_said(memory: Memory, admin: Client) -> None:
    memory.remember("k", None, "[1]")
    memory.remember("k", "", [1])
    memory.forget("k")
    page = admin.get(address("compare", a=1, b=2))
    summary, body = page.context["parts"]
    assert (summary.left, summary.right) == ("no index line", "empty")
    assert (body.left, body.right, body.table.rows) == ("text", "JSON", [])
    assert body.differs
    summary, body = admin.get(address("compare", a=2, b=3)).context["parts"]
    assert (summary.right, body.right) == ("no index line", "no note")
    memory.redact("k", 2)
    summary, body = admin.get(address("compare", a=2, b=3)).context["parts"]
    assert (summary.left, body.left) == ("redacted: the text is gone",) * 2


@pytest.mark.parametrize(
    "more", [{}, {"a": 1}, {"a": 1, "b": 2}, {"a": 0, "b": 1}, {"a": 1, "b": 10**17}]
)
def test_other_than_two_revisions_of_the_key_lead_back(
    past: Memory, admin: Client, more: dict[str, int]
) -> None:
    page = admin.get(address("compare", **more), follow=True)
    assert page.redirect_chain == [(address("timeline"), 302)]
    assert messages_of(page) == ["Choose two revisions of this key."]


def test_white_space_is_exact_on_the_page(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "  lead\n\n\ttab  end ")
    memory.remember("k", "s", "  lead\n\n\ttab  end  <b>")
    page = admin.get(address("compare", a=1, b=2)).content.decode()
    assert "\ttab  end " in page
    assert ">  lead</td>" in page
    assert "&lt;b&gt;" in page.replace("<ins>", "").replace("</ins>", "")


def test_huge_bodies_are_cut_and_it_is_said(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "x" * 900_000)
    memory.remember("k", "s", "y\n" * 400_000)
    page = admin.get(address("compare", a=1, b=2))
    assert "Not everything is shown here" in text_of(page)
    assert len(page.content) < 200_000


def test_german_numbers_do_not_get_into_addresses(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key="k", body=str(n) * 1_200) for n in range(1_205)])
    with (
        translation.override("de"),
        override_settings(LANGUAGE_CODE="de", USE_THOUSAND_SEPARATOR=True),
    ):
        page = admin.get(address("timeline"))
        assert numbers(page)[0] == "1205"
        assert fields_of(page)["a"] == "1204"
        text = page.content.decode()
        assert "1.205" not in text.split("<tbody>")[1]
        assert "4.800" in text  # A size is for people.
        compared = admin.get(page.context["compare_url"], fields_of(page))
        assert fields_of(compared)["b"] == "1205"
        restore = admin.get(page.context["rows"][3]["restore_url"])
        assert restore.status_code == 200
        assert fields_of(restore)["expected_revision"] == "1205"
        posted = admin.post(page.context["rows"][3]["restore_url"], fields_of(restore))
        assert posted.status_code == 302
    assert memory.revision() == 1_206


def test_links_that_would_be_refused_are_not_offered(
    past: Memory, member: Callable[..., Client]
) -> None:
    viewer = member("view_revision")
    page = viewer.get(address("timeline"))
    assert numbers(page) == ["5", "4", "3", "1"]
    assert [row["restore_url"] for row in page.context["rows"]] == [""] * 4
    assert page.context["note_url"] == ""
    assert viewer.get(address("compare", a=1, b=3)).status_code == 200
    assert viewer.get(address("restore", revision=1)).status_code == 403
