"""What every test may ask for."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from django_agent_memory.memory import Memory

from . import process

# What these need is in an environment of its own.
collect_ignore = [] if find_spec("schemathesis") else ["contract"]


@pytest.fixture(autouse=True)
def _nothing_left_in_the_process() -> None:
    process.forget()


@pytest.fixture
def memory(db: None) -> Memory:
    """A memory that nothing has been written to."""
    return Memory("core", actor="scribe")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name awkward strings by their escapes, so that ids are printable and the same everywhere."""
    return ascii(val)[:60] if isinstance(val, str) and not val.isalnum() else None
