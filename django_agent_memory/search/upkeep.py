"""Keeping the search index there: after each migration, and by hand with `memory_search_index`."""

from __future__ import annotations

import sys
from typing import Any

from django.db import DatabaseError, connections, router

from django_agent_memory.exceptions import Busy
from django_agent_memory.models import Note

from .engines import Engine, engine_for
from .engines.base import NOTE_TABLE, State


def search_engine(using: str | None = None) -> Engine:
    """Return the engine of an alias; by default of the one that notes are written to."""
    return engine_for(using or router.db_for_write(Note))


def ensure_search_index(using: str, *, verbosity: int = 1) -> None:
    """Make the search index where it is missing or damaged and can be made.

    A database that refuses it (no right to install an extension, to make a trigger) is left without
    one, and the refusal is said: searching needs none.
    """
    engine = engine_for(using)
    if NOTE_TABLE not in connections[using].introspection.table_names():
        engine.drop()
        return
    if engine.status().state not in (State.ABSENT, State.DAMAGED):
        return
    if verbosity >= 1 and Note.objects.using(using).exists():
        sys.stdout.write("Building the search index of agent memory…\n")
    try:
        engine.build()
    except (DatabaseError, Busy) as error:
        if verbosity >= 1:
            sys.stdout.write(f"No search index for agent memory: {refusal(error)}\n")


def compact(using: str) -> None:
    """Have the search index let go of what it remembers of notes that are gone."""
    engine_for(using).compact()


def after_migrate(*, using: str, verbosity: int = 1, **_: Any) -> None:
    """Receive `post_migrate`: a remade table has lost its triggers, a new one never had any."""
    if router.allow_migrate_model(using, Note):
        ensure_search_index(using, verbosity=verbosity)


def refusal(error: Exception) -> str:
    """Return what a database said, without the number and the lines that some put around it."""
    said = str(error.args[-1] if error.args else error).strip()
    return said.splitlines()[0] if said else type(error).__name__
