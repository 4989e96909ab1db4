"""A run that crashes at every statement in turn ends, started again, in one and the same memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from django_agent_memory import Memory
from django_agent_memory.models import RecordedCall, Revision

from .test_writing import assert_consistent

CRASHED = 9


def state_of(path: str) -> tuple[Any, ...]:
    """Return all that a run leaves: notes, index, history, recorded calls."""
    memory = Memory(path)
    history = Revision.objects.filter(workspace__path=path).order_by("number")
    return (
        [(key, memory.recall(key).body) for key in memory.keys()],  # type: ignore[union-attr]  # noqa: SIM118
        memory.index_note(),
        list(history.values_list("number", "key", "operation", "body", "actor")),
        list(
            RecordedCall.objects.filter(workspace__path=path).order_by("name").values_list("name")
        ),
    )


@pytest.mark.django_db(transaction=True)
def test_each_effect_happens_exactly_once_wherever_it_crashes() -> None:
    database = {"NAME": str(connection.settings_dict["NAME"])}
    done = subprocess.run(
        [sys.executable, "-m", "tests.durable_run", json.dumps(database)],
        cwd=Path(__file__).parent.parent,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    (undisturbed, endings), *crashed = runs
    assert endings == [0, 0]
    expected = state_of(undisturbed)
    assert len(expected[3]) == 6
    for path, (first, second) in crashed:
        assert first in (CRASHED, 0)
        assert second == 0
        assert state_of(path) == expected
        assert_consistent(path)
    # The counts of statements differ by database; most ways to crash must have been real ones.
    assert sum(first == CRASHED for _, (first, _) in crashed) >= 50
