"""A registry of one's own, and a repository whose every commit is known."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from django_agent_memory.sources import SourceMemory, registry


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, registry.Source]:
    """The sources that a test registers."""
    mine: dict[str, registry.Source] = {}
    monkeypatch.setattr(registry, "_sources", mine)
    return mine


@pytest.fixture
def shop(settings: Any) -> list[str]:
    """An installed app with a `memory_sources.py`; what its rules are."""
    sys.modules.pop("tests.sources.shop.memory_sources", None)
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "tests.sources.shop"]
    registry.sources()
    rules: list[str] = sys.modules["tests.sources.shop.memory_sources"].RULES
    return rules


@pytest.fixture
def into(db: None) -> Callable[..., SourceMemory]:
    """What a source called `s` of the workspace `core` is given."""
    return lambda **options: SourceMemory("core", "s", **options)


class Repository:
    """A repository with a clock of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hour = 0
        path.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.email", "ann@example.org")
        self.git("config", "user.name", "Ann")

    def git(self, *arguments: str | bytes, **environment: str) -> str:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        done = subprocess.run(
            ["git", "-c", "commit.gpgSign=false", *arguments],
            cwd=self.path,
            env={**kept, "GIT_CONFIG_GLOBAL": os.devnull, **environment},
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    def commit(self, message: str | bytes, *options: str, **files: str) -> str:
        """Commit all there is and return its hash; in the names of `files`, `__` is `/`."""
        for name, text in files.items():
            file = self.path / name.replace("__", "/")
            file.parent.mkdir(exist_ok=True, parents=True)
            file.write_text(text, encoding="utf-8")
        self.hour += 1
        date = f"2026-03-04T{self.hour:02}:00:00+02:00"
        self.git("add", "--all")
        self.git(
            "commit",
            "--quiet",
            *options,
            "-m",
            message,
            GIT_AUTHOR_DATE=date,
            GIT_COMMITTER_DATE=date,
        )
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository without a commit."""
    return Repository(tmp_path / "repo")
