"""A site whose router keeps the memory in a database of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from django_agent_memory.models import Note

from .crew import Crew
from .routed import use_every_verb


@pytest.fixture
def process() -> Iterator[Crew]:
    """One process that may be set up differently from this one."""
    one = Crew(1)
    yield one
    one.dismiss()


def test_everything_goes_where_the_router_says(process: Crew) -> None:
    (answers,) = process.run(use_every_verb)
    assert answers == {
        "outcomes": ["created", "replaced", "unchanged", "forgot", "was_absent"],
        "index": "[memory index]\n- fact: A line",
        "body": "The body",
        "async body": "The body",
        "found": ["fact"],
        "history": [1, 2],
        "title": "Title",
        "statements on default": [],
    }
    assert Note.objects.get().key == "fact"
