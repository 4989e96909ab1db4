"""`Memory.remember` beside the same statements written out with the ORM and with the driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from django_agent_memory.models import IndexEntry, Note, Revision, Workspace
from django_agent_memory.models.workspace import new_index_version
from django_agent_memory.text.folding import haystack

from .corpus import note, stored
from .driver import Driver
from .timing import Row, rows, take_turns

OURS, BY_HAND, DRIVER = "Memory.remember", "ORM by hand", "driver"
_NOTES = 1_000


def run(scale: float) -> Iterator[Row]:
    """Measure inserts, then overwrites."""
    rounds = max(4, int(400 * scale))
    for case, offset in (("remember, new", 10_000), ("remember, over", 0)):
        taken = take_turns(_contenders(offset), rounds)
        yield from rows(case, taken, ours=OURS, against=BY_HAND, goal="≤ 1.5")


def _contenders(offset: int) -> dict[str, Any]:
    """Each has a workspace of its own, so that all have as many rows."""
    memory = stored(_NOTES, "bench/ours")
    stored(_NOTES, "bench/hand")
    stored(_NOTES, "bench/driver")
    driver = Driver()

    def key_and_text(number: int) -> tuple[str, str, str]:
        key, summary, body = note(offset + number % _NOTES)
        return key, f"{summary} {number}", f"{body} {number}"

    return {
        OURS: lambda number: memory.remember(*key_and_text(number)),
        BY_HAND: lambda number: remember_by_hand("bench/hand", *key_and_text(number)),
        DRIVER: lambda number: remember_by_driver(driver, "bench/driver", *key_and_text(number)),
    }


def remember_by_hand(path: str, key: str, summary: str, body: str) -> int:
    """Do what a remember does, as plainly as the ORM lets one."""
    now = timezone.now()
    with transaction.atomic():
        Workspace.objects.filter(path=path).update(revision=F("revision"))
        workspace = Workspace.objects.select_for_update().get(path=path)
        number = workspace.revision + 1
        there = {"workspace": workspace, "key": key}
        entry = IndexEntry.objects.select_for_update().filter(**there).first()
        note = Note.objects.select_for_update().filter(**there).first()
        note = note or Note(**there, position=number, created_at=now)
        note.body, note.haystack = body, haystack(key, summary, body)
        note.revision, note.updated_at = number, now
        note.save()
        entry = entry or IndexEntry(**there)
        entry.summary = summary
        entry.save()
        Revision.objects.create(
            **there, number=number, operation="remember", summary=summary, body=body, created_at=now
        )
        Workspace.objects.filter(pk=workspace.pk).update(
            revision=number, index_version=new_index_version(), updated_at=now
        )
    return number


def remember_by_driver(driver: Driver, path: str, key: str, summary: str, body: str) -> int:
    """Do the same in eight statements of SQL."""
    now = timezone.now().replace(tzinfo=None).isoformat(" ")
    driver.run("BEGIN")
    driver.run("UPDATE agent_memory_workspace SET revision = revision WHERE path = %s", path)
    found = "SELECT id, revision FROM agent_memory_workspace WHERE path = %s"
    ((workspace, last),) = driver.fetch(driver.locking(found), path)
    here = 'WHERE workspace_id = %s AND "key" = %s'
    entries = driver.locking(f"SELECT id, summary FROM agent_memory_indexentry {here}")
    entry = driver.fetch(entries, workspace, key)
    notes = f"SELECT id, body, body_is_json, revision, position FROM agent_memory_note {here}"
    note = driver.fetch(driver.locking(notes), workspace, key)
    hay, number = haystack(key, summary, body), last + 1
    if note:
        driver.run(
            "UPDATE agent_memory_note SET body = %s, haystack = %s, revision = %s, updated_at = %s"
            " WHERE id = %s",
            *(body, hay, number, now, note[0][0]),
        )
    else:
        driver.run(
            'INSERT INTO agent_memory_note (workspace_id, "key", body, body_is_json, haystack,'
            " revision, position, created_at, updated_at)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
            *(workspace, key, body, False, hay, number, number, now, now),
        )
    if entry:
        update = "UPDATE agent_memory_indexentry SET summary = %s WHERE id = %s"
        driver.run(update, summary, entry[0][0])
    else:
        insert = 'INSERT INTO agent_memory_indexentry (workspace_id, "key", summary)'
        driver.run(f"{insert} VALUES (%s, %s, %s)", workspace, key, summary)
    driver.run(
        'INSERT INTO agent_memory_revision (workspace_id, number, "key", operation, summary, body,'
        " body_is_json, redacted, actor, reason, created_at)"
        " VALUES (%s, %s, %s, 'remember', %s, %s, %s, %s, '', '', %s)",
        *(workspace, number, key, summary, body, False, False, now),
    )
    driver.run(
        "UPDATE agent_memory_workspace SET revision = %s, index_version = %s, updated_at = %s"
        " WHERE id = %s",
        *(number, new_index_version(), now, workspace),
    )
    driver.run("COMMIT")
    return int(number)
