"""The page of a workspace: counts, sizes, growth and activity, with constant statements."""

from __future__ import annotations

import datetime
import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory.admin import activity, overview
from django_agent_memory.memory import Memory
from django_agent_memory.models import IndexEntry, Note, NoteUsage, Revision, Workspace
from django_agent_memory.text.rendering import estimated_tokens, index_line
from django_agent_memory.writing import Drop, Save
from tests.benchmarks.plans import analyze, explain, reads_of

from .conftest import note_url, url, workspace_of

DAY = datetime.timedelta(days=1)
EVIL = '"><img src=x onerror=alert(1)>'


def page_of(browser: Client, memory: Memory) -> Any:
    return browser.get(url("workspace", "index", workspace_of(memory)))


def text_of(page: Any) -> str:
    """Return what stands on the page, on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page.content.decode())).split())


def noon(back: int) -> datetime.datetime:
    """Return noon of so many days ago."""
    return timezone.localtime().replace(hour=12) - back * DAY


def recalled(memory: Memory, key: str, at: datetime.datetime) -> None:
    note = Note.objects.get(workspace__path=memory.path, key=key)
    NoteUsage.objects.create(workspace=note.workspace, position=note.position, recalled_at=at)


def test_it_counts_what_to_look_at(memory: Memory, admin: Client) -> None:
    now = timezone.now()
    memory.apply([Save(key=key, summary="s", body="b") for key in "abcdef"])
    memory.remember("g", "s", "password=hunter2hunter2")
    Note.objects.filter(key__in="abcd").update(updated_at=now - 91 * DAY)
    recalled(memory, "a", now - 91 * DAY)  # Stale.
    recalled(memory, "b", now - 89 * DAY)
    Note.objects.filter(key__in="cf").update(expires_at=now - DAY)
    Memory("core", session="s1").remember("private", "s", "b", persist=False)
    Memory("core", session="s2").remember("private2", "s", "b", persist=False)
    Memory("core", session="s2").remember("private3", "s", "b", persist=False)
    Memory("other").remember("a", "s", "b")
    assert overview.counts_of(workspace_of(memory)) == {
        "notes": 5,
        "expired": 2,
        "flagged": 1,
        "never_recalled": 3,
        "stale": 2,
    }
    shown = text_of(page_of(admin, memory))
    assert (
        "Never recalled 3 Neither written nor recalled for 90 days 2 Flagged 1 "
        "Expired, not yet removed 2 Private notes of sessions 3 in 2 sessions Last write" in shown
    )


@pytest.mark.parametrize("title", ["Never recalled", "Neither written", "Flagged", "Expired"])
def test_what_is_counted_is_a_list_of_as_many(memory: Memory, admin: Client, title: str) -> None:
    now = timezone.now()
    memory.apply([Save(key=key, summary="s", body="b") for key in "abcdefgh"])
    memory.remember("i", "s", "password=hunter2hunter2")
    Note.objects.filter(key__in="abcd").update(updated_at=now - 91 * DAY)
    recalled(memory, "a", now - 91 * DAY)
    Note.objects.filter(key__in="cfg").update(expires_at=now - DAY)
    Memory("core", session="s1").remember("private", "s", "b", persist=False)
    Memory("other").remember("a", "s", "password=hunter2hunter2")
    row = page_of(admin, memory).content.decode().split(f"<dt>{title}")[1].split("</dd>")[0]
    address, count = re.findall(r'<a href="([^"]+)">(\d+)</a>', row)[0]
    listed = admin.get(html.unescape(address)).context["cl"].result_list
    assert len(listed) == int(count) > 0


def test_health_names_what_asks_for_a_look(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key=key, summary="s", body="b") for key in "abc"])
    assert "Health good: nothing asks for a look Never" in text_of(page_of(admin, memory))
    memory.remember("d", "s", "password=hunter2hunter2")
    assert "Health 1 flagged note Never" in text_of(page_of(admin, memory))
    Note.objects.filter(key__in="ab").delete()
    memory.configure(index_budget=len(memory.index_note()) - 1)
    cut = 4 - memory.stats().shown
    assert cut > 1
    assert (
        f"Health 2 lines without a note, {cut} lines cut by the index budget, 1 flagged note Never"
        in text_of(page_of(admin, memory))
    )


def test_recalls_that_are_not_counted(memory: Memory, admin: Client, settings: Any) -> None:
    settings.AGENT_MEMORY_USAGE_SECONDS = None
    memory.remember("k", "s", "b")
    assert "Never recalled not counted Neither" in text_of(page_of(admin, memory))


def test_the_longest_lines_come_first(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key=f"k{n:02}", summary="s" * n, body="b") for n in range(1, 12)])
    memory.remember("long", "x" * 500, "b")
    memory.remember("blank", "", "b")
    lines = overview.dearest_lines(workspace_of(memory))
    assert [line.key for line in lines] == [
        "long",
        "blank",
        *(f"k{n:02}" for n in range(11, 3, -1)),
    ]
    for found in lines:
        size = 1 + len(index_line(found.key, Note.objects.get(key=found.key).entry.summary))
        assert (found.characters, found.tokens) == (size, estimated_tokens(size))
    assert f'<a href="{note_url(memory, "long")}">' in page_of(admin, memory).content.decode()


def test_lines_are_linked_for_those_who_may_see_notes(memory: Memory, member: Any) -> None:
    memory.remember("k", "s", "b")
    address = note_url(memory)
    assert address not in page_of(member("view_workspace"), memory).content.decode()


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_no_more_of_the_text_is_shown_than_fits(
    memory: Memory, admin: Client, monkeypatch: pytest.MonkeyPatch, over: int
) -> None:
    memory.apply([Save(key=f"k{n:02}", summary="s" * 40, body="b") for n in range(12)])
    whole = memory.index_note()
    monkeypatch.setattr(overview, "MOST_SHOWN", len(whole) - over)
    page = page_of(admin, memory)
    assert page.context["is_whole"] == (over < 1)
    lines = whole.split("\n")
    expected = whole if over < 1 else "\n".join(lines[:-1])
    assert html.unescape(str(page.context["text"])) == expected
    stats = page.context["stats"]
    # Of these lines SQL knows the length to the character.
    assert (stats.notes, stats.lines, stats.shown, stats.characters) == (12, 12, 12, len(whole))
    assert stats.is_about == (over == 1)
    assert ("about 590" in text_of(page)) == (over == 1)


def test_a_large_index_is_not_built(
    memory: Memory, admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.apply([Save(key=f"k{n:03}", summary="s" * 40, body="b") for n in range(300)])
    monkeypatch.setattr(overview, "MOST_SHOWN", 500)
    read = []
    monkeypatch.setattr(
        "django_agent_memory.text.rendering.index_line",
        lambda key, summary: read.append(key) or index_line(key, summary),  # type: ignore[func-returns-value]
    )
    page = page_of(admin, memory)
    assert page.context["stats"].lines == 300
    assert len(read) < 50


def test_a_budget_of_its_own_is_what_the_agent_sees(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key=f"k{n:02}", summary="s" * 40, body="b") for n in range(12)])
    memory.configure(index_budget=300)
    page = page_of(admin, memory)
    assert html.unescape(str(page.context["text"])) == memory.index_note()
    assert page.context["is_whole"]


def test_the_budget_of_a_large_index_bounds_what_it_costs(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.apply([Save(key=f"k{n:02}", summary="s" * 40, body="b") for n in range(12)])
    memory.configure(index_budget=295)
    monkeypatch.setattr(overview, "MOST_SHOWN", 200)
    workspace = workspace_of(memory)
    size = overview.size_of(workspace, overview.shown_index(workspace), {"notes": 12})
    assert (size.lines, size.shown, size.characters, size.tokens) == (12, 6, 295, 74)


def test_the_file_is_the_text(memory: Memory, admin: Client, member: Any) -> None:
    memory.apply([Save(key=f"ключ {n}", summary=EVIL, body="b") for n in range(3)])
    address = url("workspace", "index_text", workspace_of(memory))
    assert f'href="{address}"' in page_of(admin, memory).content.decode()
    response = admin.get(address)
    assert response.content.decode() == memory.index_note()
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["Content-Disposition"] == 'attachment; filename="core-index.txt"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert admin.get(address.replace(str(workspace_of(memory).pk), "99")).status_code == 302
    assert member("view_note").get(address).status_code == 403


def test_writes_are_counted_by_day(memory: Memory, admin: Client) -> None:
    days = activity.last_days(90)
    for back, count in ((0, 2), (1, 1), (89, 3), (90, 1)):
        for n in range(count):
            memory.remember(f"k{back}", "s", str(n))
        Revision.objects.filter(key=f"k{back}").update(created_at=noon(back))
    log = Revision.objects.filter(workspace=workspace_of(memory))
    points = activity.writes_by_day(log, days)
    assert [point.value for point in points] == [3, *[0] * 87, 1, 2]
    assert "Most, on" in page_of(admin, memory).content.decode()


@pytest.mark.parametrize(
    ("zone", "moment", "day"),
    [
        ("America/Chicago", "2026-11-01T04:59:59+00:00", "2026-10-31"),
        ("America/Chicago", "2026-11-01T05:00:00+00:00", "2026-11-01"),
        ("America/Chicago", "2026-11-02T05:59:59+00:00", "2026-11-01"),  # A day of 25 hours.
        ("America/Chicago", "2026-11-02T06:00:00+00:00", "2026-11-02"),
        ("Asia/Kolkata", "2026-11-01T18:29:59+00:00", "2026-11-01"),
        ("Asia/Kolkata", "2026-11-01T18:30:00+00:00", "2026-11-02"),
        ("Asia/Kathmandu", "2026-11-01T18:14:59+00:00", "2026-11-01"),
        ("Asia/Kathmandu", "2026-11-01T18:15:00+00:00", "2026-11-02"),
        ("UTC", "2026-11-01T23:59:59+00:00", "2026-11-01"),
    ],
)
def test_a_day_begins_where_the_people_are(
    memory: Memory, zone: str, moment: str, day: str
) -> None:
    memory.remember("k", "s", "b")
    Revision.objects.update(created_at=datetime.datetime.fromisoformat(moment))
    days = [datetime.date(2026, 10, 30) + n * DAY for n in range(5)]
    with timezone.override(zone):
        points = activity.writes_by_day(Revision.objects.all(), days)
    expected = [int(each.isoformat() == day) for each in days]
    assert [point.value for point in points] == expected


def grown(memory: Memory, days: int = 5) -> list[int]:
    workspace = workspace_of(memory)
    lines = IndexEntry.objects.filter(workspace=workspace).count()
    points = activity.lines_by_day(workspace, lines, activity.last_days(days))
    return [point.value for point in points]


@pytest.fixture
def grown_memory(memory: Memory) -> Memory:
    """Four lines five days ago, then each day: one more, one changed, two forgotten, one anew."""
    memory.apply([Save(key=key, summary="s", body="b") for key in "abcd"])
    Revision.objects.update(created_at=noon(5))
    steps: list[Callable[[], Any]] = [
        lambda: memory.remember("e", "s", "b"),
        lambda: memory.remember("a", "t", "b"),
        lambda: memory.apply([Drop(key="a"), Drop(key="b")]),
        lambda: memory.remember("a", "s", "b"),
        lambda: memory.remember("without", None, "b"),
    ]
    for back, step in zip((4, 3, 2, 1, 0), steps, strict=True):
        last = memory.revision()
        step()
        Revision.objects.filter(number__gt=last).update(created_at=noon(back))
    return memory


def test_growth_is_what_stood_at_the_end_of_each_day(grown_memory: Memory) -> None:
    assert grown(grown_memory, 8) == [0, 0, 4, 5, 5, 3, 4, 4]
    assert grown(grown_memory, 1) == [4]
    session = Memory("core", session="s")
    session.remember("mine", "s", "b", persist=False)
    workspace = workspace_of(grown_memory)
    assert [p.value for p in activity.lines_by_day(workspace, 4, activity.last_days(2))] == [4, 4]


def test_growth_goes_back_as_far_as_the_past_is_known(
    grown_memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    Workspace.objects.update(history_from=5)
    assert grown(grown_memory, 8) == [5, 3, 4, 4]
    Workspace.objects.update(history_from=grown_memory.revision())
    assert grown(grown_memory, 8) == [4]
    Workspace.objects.update(history_from=0)
    monkeypatch.setattr(activity, "MOST_REVISIONS", 4)
    assert grown(grown_memory, 8) == [3, 4, 4]
    Workspace.objects.update(
        history_from=grown_memory.revision(), updated_at=timezone.now() - 99 * DAY
    )
    assert grown(grown_memory, 3) == [4, 4, 4]


def test_times_without_a_zone(memory: Memory, settings: Any) -> None:
    settings.USE_TZ = False
    memory.remember("k", "s", "b")
    Revision.objects.update(created_at=datetime.datetime(2026, 11, 1, 23, 59, 59))  # noqa: DTZ001
    days = [datetime.date(2026, 11, 1) + n * DAY for n in range(2)]
    points = activity.writes_by_day(Revision.objects.all(), days)
    assert [point.value for point in points] == [1, 0]


def test_the_page_takes_the_same_statements_for_any_number(memory: Memory, admin: Client) -> None:
    counts = []
    for n in (2, 40):
        memory.apply([Save(key=f"k{i}", summary="s", body="b") for i in range(n)])
        Note.objects.filter(key__in=["k0", f"k{n - 1}"]).delete()
        with CaptureQueriesContext(connection) as queries:
            page_of(admin, memory)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 22
    assert '"body"' not in " ".join(row["sql"] for row in queries).replace('"body" IS', "")


WHOLE_TABLE = {
    "sqlite": r"SCAN (?:agent_memory_(?:note|revision|indexentry)|U\d)\b",
    "postgresql": r"Seq Scan on agent_memory_(?:note|revision|indexentry)\b",
    "mysql": r"(?m)^(?:agent_memory_(?:note|revision|indexentry)|U\d): (?:ALL|index) ",
}


@pytest.mark.django_db(transaction=True)  # ANALYZE ends the transaction of MariaDB.
def test_no_statement_reads_what_other_workspaces_have(admin: Client) -> None:
    for n in range(40):
        Memory(f"w/{n}").apply([Save(key=f"k{i:03}", summary="s", body="b") for i in range(100)])
    analyze()
    address = url("workspace", "index", Workspace.objects.get(path="w/7"))
    for sql in reads_of(lambda: admin.get(address)):
        plan = "\n".join(explain(sql))
        assert not re.search(WHOLE_TABLE[connection.vendor], plan), f"{sql}\n{plan}"


def test_what_agents_stored_is_inert(memory: Memory, admin: Client) -> None:
    memory.remember(EVIL, EVIL, EVIL)
    memory.remember("b\u202ec", "s\u200bs", "b")
    Note.objects.filter(key=EVIL).delete()
    page = page_of(admin, memory).content.decode()
    assert "<img" not in page
    assert 'data-name="U+200B"' in page


def test_a_credential_in_the_index_is_covered(memory: Memory, admin: Client) -> None:
    memory.remember("k", "password=hunter2hunter2", "b")
    page = page_of(admin, memory).content.decode()
    assert 'class="agent-memory-covered"' in page


@pytest.mark.parametrize("language", ["de", "ar"])
def test_numbers_of_other_languages(
    memory: Memory, admin: Client, settings: Any, language: str
) -> None:
    settings.USE_THOUSAND_SEPARATOR = True
    settings.LANGUAGE_CODE = language
    Workspace.objects.create(pk=1234567, path="core")
    memory.apply([Save(key=f"k{n}", summary="s" * 120, body="b") for n in range(12)])
    Note.objects.filter(key="k1").update(id=7654321)
    page = page_of(admin, memory).content.decode()
    assert "/note/7654321/change/" in page
    assert "/1234567/index-text/" in page
    assert re.search(r'<polyline class="agent-memory-curve" points="[0-9., ]+">', page)
