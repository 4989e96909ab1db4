"""The crew of processes, and what every test of concurrency is marked with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .crew import Crew

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep these tests in one worker: two at a time would only measure each other."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("concurrency"))
            item.add_marker(pytest.mark.django_db(transaction=True))


@pytest.fixture(scope="session")
def crew(django_db_setup: None) -> Iterator[Crew]:
    """Sixteen processes; they end before the test database does."""
    sixteen = Crew(16)
    yield sixteen
    sixteen.dismiss()
