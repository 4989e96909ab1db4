"""The agent's turn in a site that has every setting against it; in a process of its own.

REST framework reads its settings when it is imported, so no override in this process would tell.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(*arguments: str) -> None:
    """Run Python in the hostile site, with warnings as errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.hostile.settings"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]


def test_an_agents_turn() -> None:
    run("-m", "tests.hostile.turn")


def test_no_migration_is_missing() -> None:
    """Neither the site's auto field nor its user model may show in our migrations."""
    run("-m", "django", "makemigrations", "--check", "--dry-run", "agent_memory")


def test_the_system_checks_pass() -> None:
    run("-m", "django", "check", "--fail-level", "ERROR")
