"""The crew of processes that tests of concurrency have too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.concurrency.crew import Crew


@pytest.fixture(scope="session")
def crew(django_db_setup: None) -> Iterator[Crew]:
    """Sixteen processes; they end before the test database does."""
    sixteen = Crew(16)
    yield sixteen
    sixteen.dismiss()
