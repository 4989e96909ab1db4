"""What the channel does for knowledge: find the note that a store repeats, keep context rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_agent_memory.models import Note, NoteContext

from .changes import Checked
from .locking import locked
from .state import State

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


def store_contexts(
    transcript: Transcript,
    after: dict[str, State],
    before: dict[str, State],
    pks: dict[str, int],
    *,
    anew: bool = False,
) -> None:
    """Make the context rows of the touched notes what `after` says; of all of them if `anew`.

    No statement for notes without contexts, one to remove and one to add for any number of others.
    """
    changed = [
        key
        for key, state in after.items()
        if anew or state.details.contexts != before[key].details.contexts
    ]
    had = [
        pk for key in changed if (pk := before[key].pk) and (anew or before[key].details.contexts)
    ]
    if had:
        transcript.rows(NoteContext).filter(note__in=had).delete()
    has = [
        NoteContext(workspace=transcript.workspace, note_id=pks[key], context=context)
        for key in changed
        for context in after[key].details.contexts
    ]
    if has:
        transcript.rows(NoteContext).bulk_create(has)
