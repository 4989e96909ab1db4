"""Sixteen processes write one new memory at once: everything acknowledged is kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from django.db import connection

from django_agent_memory import Memory
from django_agent_memory.models import Note, Revision, Workspace

from .crew import Crew
from .tasks import remember_many

PATH = "team/new"
EACH = 40


class Host(NamedTuple):
    """How a site may be set up; `vendor` is the only database the set-up exists on, "" is any."""

    vendor: str
    options: dict[str, Any]
    inside_outer: bool


HOSTS = {
    "defaults": Host("", {}, False),
    "sqlite-immediate-outer": Host(
        "sqlite", {"transaction_mode": "IMMEDIATE", "timeout": 120}, True
    ),
    "postgresql-outer": Host("postgresql", {}, True),
    "mariadb-read-committed-outer": Host("mysql", {"isolation_level": "read committed"}, True),
    "mariadb-repeatable-read": Host("mysql", {"isolation_level": "repeatable read"}, False),
    "mariadb-repeatable-read-outer": Host("mysql", {"isolation_level": "repeatable read"}, True),
}


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS.keys())
def test_everything_acknowledged_is_kept(crew: Crew, host: Host) -> None:
    if host.vendor not in ("", connection.vendor):
        pytest.skip(f"a set-up of {host.vendor}, not of {connection.vendor}")
    answers = crew.run(remember_many, PATH, EACH, host.inside_outer, options=host.options)
    assert [error for _, errors in answers for error in errors] == []
    acknowledged = {key: number for kept, _ in answers for key, number in kept.items()}
    assert len(acknowledged) == crew.size * EACH
    assert_holds_exactly(acknowledged)


def assert_holds_exactly(acknowledged: dict[str, int]) -> None:
    """Assert that notes, index lines, revisions and counter tell of these writes and no others."""
    total = len(acknowledged)
    workspace = Workspace.objects.get(path=PATH)
    notes = Note.objects.filter(workspace=workspace)
    assert dict(notes.values_list("key", "revision")) == acknowledged
    assert dict(notes.values_list("key", "body")) == {k: f"Body of {k}" for k in acknowledged}
    lines = [f"- {key}: Summary of {key}" for key in sorted(acknowledged)]
    assert Memory(PATH).index_note().splitlines() == ["[memory index]", *lines]
    revisions = Revision.objects.filter(workspace=workspace).order_by("number")
    assert list(revisions.values_list("number", flat=True)) == list(range(1, total + 1))
    assert dict(revisions.values_list("key", "number")) == acknowledged
    assert workspace.revision == total
