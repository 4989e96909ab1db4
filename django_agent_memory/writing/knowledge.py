"""What a store without a key repeats goes to the note that says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_agent_memory.models import Note

from .changes import Checked
from .locking import locked

if TYPE_CHECKING:
    from .channel import Transcript


def with_known_keys(transcript: Transcript, batch: list[Checked]) -> list[Checked]:
    """Return the batch with the keys of the notes that its stores without a key repeat.

    Of several such notes it is the one stored first.
    """
    wanted = {change.fingerprint for change in batch if change.fingerprint}
    if not wanted:
        return batch
    same = transcript.rows(Note).filter(
        workspace=transcript.workspace, fingerprint__in=sorted(wanted)
    )
    newest_first = locked(same.order_by("-position"), transcript.using)
    known: dict[str, str] = dict(newest_first.values_list("fingerprint", "key"))
    return [
        change._replace(key=known.setdefault(change.fingerprint, change.key))
        if change.fingerprint
        else change
        for change in batch
    ]
