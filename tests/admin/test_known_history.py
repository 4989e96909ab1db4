"""What is known of a note, in its history: then, before, and what of it changed."""

from __future__ import annotations

import datetime

from django.test import Client
from django.utils import timezone

from django_agent_memory.memory import Memory
from django_agent_memory.models import Note, Revision

from .conftest import url

PAST = "/admin/agent_memory/revision/"


def page_of(admin: Client, number: int) -> str:
    page = admin.get(url("revision", "change", Revision.objects.get(number=number)))
    assert page.status_code == 200
    return page.content.decode()


def test_a_revision_shows_what_was_known_and_what_of_it_changed(
    memory: Memory, admin: Client
) -> None:
    memory.remember("k", "s", "b")
    memory.remember("k", "s", "b", kind="fact", weight=2.0)
    memory.remember("other", "s", "b", kind="other's")
    memory.remember("k", "s", "b", kind="<i>rule", context=["x", "y"])
    memory.forget("k")
    memory.remember("k", "s", "b", slot="persona")
    assert "What was known of it" not in page_of(admin, 1)
    second = page_of(admin, 2)
    assert "field-known_kind" in second
    assert "in revision 1:" in second
    assert "field-known_slot" not in second
    fourth = page_of(admin, 4)
    assert "&lt;i&gt;rule" in fourth
    kind = fourth.split("field-known_kind")[1].split("field-known_weight")[0]
    assert "in revision 2:" in kind
    assert ">fact<" in kind
    weight = fourth.split("field-known_weight")[1].split("field-known_contexts")[0]
    assert "changed" not in weight
    assert "What was known of it" not in page_of(admin, 5)
    # After a forget all of it is new, and nothing changed.
    assert "in revision" not in page_of(admin, 6)
    assert "persona" in page_of(admin, 6)


def test_a_detail_that_was_taken_away_is_shown(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "b", source="mail")
    memory.remember("k", "s", "b", source="")
    shown = page_of(admin, 2).split("field-known_source")[1]
    assert "none" in shown
    assert ">mail<" in shown


def test_what_was_redacted_is_compared_with_nothing(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "b", source="mail")
    memory.remember("k", "s", "b", source="post")
    Revision.objects.filter(number=1).update(redacted=True, body="", summary=None, details="")
    assert "in revision 1:" not in page_of(admin, 2)
    assert "What was known of it" not in page_of(admin, 1)


def test_two_revisions_beside_each_other(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "b", kind="fact", weight=2.0)
    memory.remember("k", "s", "b", kind="rule")
    memory.forget("k")
    memory.remember("plain", "s", "b")
    memory.remember("plain", "s", "c")
    query = {"workspace": "core", "key": "k", "a": "1", "b": "2"}
    response = admin.get(PAST + "compare/", query)
    assert [(str(f.heading), f.differs) for f in response.context["known"]] == [
        ("Kind", True),
        ("Weight", False),
    ]
    page = response.content.decode()
    assert '<del><bdi class="agent-memory-key">fact</bdi></del>' in page
    assert '<ins><bdi class="agent-memory-key">rule</bdi></ins>' in page
    gone = admin.get(PAST + "compare/", {**query, "b": "3"}).context["known"]
    assert [(fact.right, fact.differs) for fact in gone] == [("", True), ("", True)]
    query = {"workspace": "core", "key": "plain", "a": "4", "b": "5"}
    assert "What is known of it" not in admin.get(PAST + "compare/", query).content.decode()


def test_restoring_shows_and_brings_back_what_was_known(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "b", kind="fact")
    memory.remember("k", "s", "b", kind="rule")
    address = f"{PAST}restore/?workspace=core&key=k&revision=1"
    response = admin.get(address)
    assert response.context["changes"]
    assert [str(fact.heading) for fact in response.context["known"]] == ["Kind"]
    assert admin.post(address, {"expected_revision": "2", "reason": ""}).status_code == 302
    assert memory.recall("k").kind == "fact"


def test_an_expiry_that_is_past_does_not_come_back(memory: Memory, admin: Client) -> None:
    soon = timezone.now() + datetime.timedelta(days=1)
    memory.remember("k", "s", "b", expires_at=soon)
    memory.remember("k", "s", "b", expires_at=None)
    Revision.objects.filter(number=1).update(expires_at=soon - datetime.timedelta(days=2))
    address = f"{PAST}restore/?workspace=core&key=k&revision=1"
    assert not admin.get(address).context["changes"]
    # A note that has expired is restored without its end.
    Note.objects.update(expires_at=soon - datetime.timedelta(days=2))
    response = admin.get(address)
    assert [str(fact.heading) for fact in response.context["known"]] == ["Expires"]
    admin.post(address, {"expected_revision": "2", "reason": ""})
    assert memory.recall("k").expires_at is None


def test_damaged_details_break_no_page(memory: Memory, admin: Client) -> None:
    memory.remember("k", "s", "b", kind="fact")
    memory.remember("k", "s", "c", kind="rule")
    Revision.objects.update(details='{"kind": 1, "contexts": [')
    assert "What was known of it" not in page_of(admin, 2)
    query = {"workspace": "core", "key": "k", "a": "1", "b": "2"}
    assert admin.get(PAST + "compare/", query).context["known"] == []
