"""The terms of notes in their order, made anew from their texts."""

from __future__ import annotations

from collections.abc import Collection

from django_agent_memory.analysing import analyse_note
from django_agent_memory.models import Note
from django_agent_memory.models.details import decode_contexts


def terms_of(workspace: int, using: str, positions: Collection[int]) -> dict[int, list[str]]:
    """Return the terms of the notes at these positions."""
    notes = Note.objects.using(using).filter(workspace=workspace, position__in=positions)
    rows = notes.values_list(
        "position", "key", "entry__summary", "body", "subject", "contexts", "happened_at"
    )
    return {
        position: analyse_note(
            key=key,
            summary=summary or "",
            body=body,
            subject=subject,
            contexts=decode_contexts(contexts),
            happened_at=happened_at,
        ).terms
        for position, key, summary, body, subject, contexts, happened_at in rows
    }
