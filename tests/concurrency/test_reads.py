"""Reads need no right to write."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, connection

from django_agent_memory import Memory

from .crew import reconnected

PATH = "team/reads"


def read_only_settings() -> dict[str, Any]:
    """Return what makes a connection to the test database unable to write."""
    if connection.vendor == "sqlite":
        return {"NAME": f"file:{connection.settings_dict['NAME']}?mode=ro", "options": {}}
    if connection.vendor == "postgresql":
        return {"options": {"options": "-c default_transaction_read_only=on"}}
    return {"options": {"init_command": "SET SESSION TRANSACTION READ ONLY"}}


def test_every_read_works_on_a_read_only_database() -> None:
    memory = Memory(PATH)
    memory.remember("fact", "A line", "A body")
    with reconnected(**read_only_settings()):
        found = memory.recall("fact")
        assert found is not None
        assert found.text == "A body"
        assert memory.recall("fac") is None
        assert memory.near_keys("fac") == ("fact",)
        assert memory.index_note() == "[memory index]\n- fact: A line"
        assert [line.key for line in memory.list_memories()] == ["fact"]
        assert memory.search("BODY").total == 1
        assert memory.keys("f") == ("fact",)
        assert [revised.number for revised in memory.history("fact")] == [1]
        assert memory.revision() == 1
        with pytest.raises(DatabaseError):
            memory.remember("fact", "A line", "Another body")
    assert memory.revision() == 1
