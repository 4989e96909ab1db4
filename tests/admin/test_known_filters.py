"""The list of notes by what is known of them: exact, bounded, light."""

from __future__ import annotations

import datetime

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory.memory import Memory
from django_agent_memory.models import Note, NoteUsage, Revision
from django_agent_memory.writing import Save

from .test_note_list import LIST, keys


def choices(admin: Client, title: str, **query: str) -> list[str]:
    """Return the names that a filter offers."""
    changelist = admin.get(LIST, query).context["cl"]
    specs = [spec for spec in changelist.filter_specs if spec.title == title]
    return [str(choice["display"]) for spec in specs for choice in spec.choices(changelist)]


@pytest.fixture
def notes(memory: Memory) -> Memory:
    memory.remember("user/tea", "s", "b", kind="fact", slot="persona")
    memory.remember("user/coffee", "s", "b", kind="Fact", context=["team/a", "team/b"])
    memory.remember("plain", "s", "b")
    Memory("other").remember("else", "s", "b", kind="rule", context="team/a")
    Memory("core", session="s1").remember("mine", "s", "b", persist=False, kind="secret")
    return memory


def test_by_kind_and_slot(notes: Memory, admin: Client) -> None:
    assert choices(admin, "kind") == ["All", "Fact", "fact", "rule", "(none)"]
    assert choices(admin, "kind", workspace="core") == ["All", "Fact", "fact", "(none)"]
    assert choices(admin, "slot") == ["All", "persona", "(none)"]
    assert choices(admin, "slot", workspace="other") == []
    assert choices(admin, "kind", workspace="\x00", kind="x") == ["All", "x", "(none)"]
    assert keys(admin, kind="fact") == ["user/tea"]
    assert keys(admin, kind="Fact") == ["user/coffee"]
    assert keys(admin, kind="", workspace="core") == ["plain"]
    assert keys(admin, slot="persona") == ["user/tea"]
    assert keys(admin, kind="secret") == []
    assert keys(admin, kind="\x00") == []


def test_names_with_what_is_not_seen_are_told_apart(memory: Memory, admin: Client) -> None:
    memory.remember("a", "s", "b", kind="fact")
    memory.remember("b", "s", "b", kind="fa\u200bct")
    _all, plain, named, _none = choices(admin, "kind")
    assert plain == "fact"
    assert 'data-name="U+200B"' in named
    page = admin.get(LIST).content.decode()
    assert named in page
    assert keys(admin, kind="fa\u200bct") == ["b"]


def test_names_that_only_few_notes_have_are_not_all_listed(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key=f"k{n:04}", body="b", kind=f"kind {n:04}") for n in range(2_100)])
    offered = choices(admin, "kind", workspace="core")
    assert (len(offered), offered[1]) == (52, "kind 0100")
    # The chosen one is among them, read or not.
    assert choices(admin, "kind", workspace="core", kind="kind 0007")[1] == "kind 0007"
    assert keys(admin, kind="kind 0007") == ["k0007"]


def test_by_context(notes: Memory, admin: Client) -> None:
    assert keys(admin, context="team/a") == ["user/coffee", "else"]
    assert keys(admin, context="team/a", workspace="core") == ["user/coffee"]
    # Without contexts of its own, a note is tied to the path its key lies under.
    assert keys(admin, context="user") == ["user/tea"]
    assert keys(admin, context="team") == []
    assert keys(admin, context="TEAM/A") == []
    assert keys(admin, context="\x00") == []
    assert len(keys(admin, context="")) == 4


def test_the_field_for_a_context_keeps_the_other_filters(notes: Memory, admin: Client) -> None:
    page = admin.get(LIST, {"workspace": "core", "q": '"<b>', "p": "1", "context": "a&b"})
    filters = page.content.decode().split('class="agent-memory-typed"')
    (shown,) = [part.split("</details>")[0] for part in filters if 'text" name="context"' in part]
    assert '<input type="hidden" name="workspace" value="core">' in shown
    assert '<input type="hidden" name="q" value="&quot;&lt;b&gt;">' in shown
    assert 'name="p"' not in shown
    assert 'name="context" value="a&amp;b"' in shown
    assert "context=" not in shown.split('<a href="')[1].split('"')[0]


def test_by_expiry(memory: Memory, admin: Client) -> None:
    now = timezone.now()
    memory.remember("never", "s", "b")
    memory.remember("later", "s", "b", expires_at=now + datetime.timedelta(days=1))
    memory.remember("over", "s", "b", expires_at=now + datetime.timedelta(days=1))
    Note.objects.filter(key="over").update(expires_at=now - datetime.timedelta(seconds=1))
    assert keys(admin, expiry="never") == ["never"]
    assert keys(admin, expiry="expires") == ["later"]
    assert keys(admin, expiry="expired") == ["over"]
    assert keys(admin, expiry="live") == ["later", "never"]
    assert len(keys(admin, expiry="rubbish")) == 3


def test_by_source_subject_and_writer(memory: Memory, admin: Client) -> None:
    memory.remember("a", "s", "b", source="docs/a.md", subject="Ann")
    memory.remember("b", "s", "b", source="docs/A.md", subject="ann")
    memory.remember("c", "s", "b")
    Memory("core", actor="critic").remember("c", "s", "b2")
    Memory("core", actor="critic").remember("a", "s", "b2")
    memory.remember("a", "s", "b3")
    assert choices(admin, "source") == ["All", "docs/A.md", "docs/a.md", "(none)"]
    assert keys(admin, source="docs/a.md") == ["a"]
    assert keys(admin, source="") == ["c"]
    assert keys(admin, subject="Ann") == ["a"]
    assert keys(admin, subject="\x00") == []
    assert keys(admin, writer="critic") == ["c"]
    assert keys(admin, writer=memory.actor) == ["a", "b"]
    assert keys(admin, writer="CRITIC") == keys(admin, writer="\x00") == []
    assert len(keys(admin, subject="", writer="")) == 3
    # What retention or erasure took has no writer.
    Revision.objects.filter(key="c").delete()
    assert keys(admin, writer="critic") == []


def test_by_recall(memory: Memory, admin: Client) -> None:
    now = timezone.now()
    days = {"d1": 1, "d8": 8, "d31": 31, "d91": 91, "never": None}
    for key, age in days.items():
        memory.remember(key, "s", "b")
        note = Note.objects.get(key=key)
        if age is not None:
            NoteUsage.objects.create(
                workspace=note.workspace,
                position=note.position,
                recalled_at=now - datetime.timedelta(days=age),
            )
    Memory("other").remember("elsewhere", "s", "b")
    assert keys(admin, recalled="never") == ["never", "elsewhere"]
    assert keys(admin, recalled="7") == ["d1"]
    assert keys(admin, recalled="30") == ["d1", "d8"]
    assert keys(admin, recalled="older") == ["d31", "d91"]
    assert keys(admin, recalled="stale") == []
    Note.objects.exclude(key="d91").update(updated_at=now - datetime.timedelta(days=91))
    assert keys(admin, recalled="stale") == ["never", "elsewhere"]
    Note.objects.update(updated_at=now - datetime.timedelta(days=91))
    assert keys(admin, recalled="stale") == ["d91", "never", "elsewhere"]
    assert len(keys(admin, recalled="rubbish")) == 6


def test_by_length(memory: Memory, admin: Client) -> None:
    lengths = (0, 1, 200, 201, 2_000, 2_001, 20_000, 20_001)
    memory.apply([Save(key=f"{length:05}", body="é" * length) for length in lengths])
    assert keys(admin, characters="short") == ["00000", "00001", "00200"]
    assert keys(admin, characters="middle") == ["00201", "02000"]
    assert keys(admin, characters="long") == ["02001", "20000"]
    assert keys(admin, characters="longest") == ["20001"]
    assert len(keys(admin, characters="rubbish")) == 8
    offered = choices(admin, "characters")
    assert offered == ["All", "up to 200", "201 to 2000", "2001 to 20000", "more than 20000"]


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"workspace": "core"},
        {
            "subject": "x",
            "source": "y",
            "writer": "scribe",
            "recalled": "never",
            "characters": "short",
        },
        {"workspace": "core", "kind": "k1", "slot": "s1", "context": "c1", "expiry": "never"},
    ],
)
def test_all_filters_cost_one_statement_more(
    memory: Memory, admin: Client, query: dict[str, str]
) -> None:
    memory.apply(
        [
            Save(
                key=f"k{n}",
                body="b",
                kind=f"k{n % 3}",
                slot=f"s{n % 3}",
                context=f"c{n % 3}",
                subject="x",
                source="y",
            )
            for n in range(300)
        ]
    )
    admin.get(LIST, query)
    with CaptureQueriesContext(connection) as queries:
        assert admin.get(LIST, query).status_code == 200
    # Session, user, two filters (paths; kinds, slots and sources), count, page and its summaries.
    assert len(queries) == 7
