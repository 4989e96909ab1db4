"""What the demo's third workspace is filled from: a file, a folder and, in a checkout, its git."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from django_agent_memory.sources import (
    SourceMemory,
    git_history,
    memory_source,
    text_folder,
    toml_file,
)

WORKSPACE = "project"
_HERE = Path(__file__).resolve().parent


@memory_source("lessons", workspace=WORKSPACE)
def lessons(memory: SourceMemory) -> None:
    """What the people of a web shop learned, from a TOML file."""
    toml_file(memory, _HERE / "lessons.toml")


@memory_source("handbook", workspace=WORKSPACE)
def handbook(memory: SourceMemory) -> None:
    """The pages of this project's documentation."""
    text_folder(memory, settings.BASE_DIR / "docs", slot="handbook")


@memory_source("history", workspace=WORKSPACE)
def history(memory: SourceMemory) -> None:
    """The newest commits of this project, if it is a git checkout."""
    if (settings.BASE_DIR / ".git").exists():
        git_history(memory, settings.BASE_DIR, only_fixes=False, limit=100)
