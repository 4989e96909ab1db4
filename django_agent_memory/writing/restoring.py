"""What a restore brings back: the state that a revision kept, if it may be seen and is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

from django_agent_memory.exceptions import Pruned, Refused
from django_agent_memory.models import Revision
from django_agent_memory.models.details import decode
from django_agent_memory.text import gate

from .changes import Checked

if TYPE_CHECKING:
    from .channel import Transcript


def resolved(transcript: Transcript, batch: list[Checked]) -> list[Checked]:
    """Return the batch with what the restores in it bring back."""
    numbers = [change.restores for change in batch if change.restores]
    if not numbers:
        return batch
    rows = _seen_revisions(transcript).filter(number__in=numbers)
    exact = {(row.key, row.number): row for row in rows}
    return [
        _brings_back(transcript, change, exact) if change.restores else change for change in batch
    ]


def _brings_back(
    transcript: Transcript, change: Checked, exact: dict[tuple[str, int], Revision]
) -> Checked:
    row = exact.get((change.key, change.restores))
    if row is None:
        of_key = _seen_revisions(transcript).filter(key=change.key)
        row = of_key.filter(number__lte=change.restores).order_by("-number").first()
    if row is None and change.restores < transcript.workspace.history_from:
        raise Pruned(f'What "{change.key}" said then is gone: it was removed or lost.')
    if row is None:
        raise Refused(f'"{change.key}" has no revision up to {change.restores}.')
    if row.redacted:
        raise Refused(f'Revision {row.number} of "{change.key}" was redacted; its text is gone.')
    # What is brought back is to be seen: an expiry that is past does not come with it.
    expires_at = row.expires_at if row.expires_at and row.expires_at > transcript.now else None
    return change._replace(
        text=row.body,
        is_json=row.body_is_json and gate.is_sound_json(row.body or ""),
        summary=row.summary,
        restores=row.number,
        details=decode(row.details, expires_at),
    )


def _seen_revisions(transcript: Transcript) -> models.QuerySet[Revision]:
    rows: Any = transcript.rows(Revision).filter(workspace=transcript.workspace)
    seen: models.QuerySet[Revision] = (
        rows if transcript.session is None else rows.seen_in(transcript.session)
    )
    return seen
