"""Which stored keys a caller may have meant: read from indexes, bounded in any workspace."""

from __future__ import annotations

from django_agent_memory.conf import conf
from django_agent_memory.models import Note, Workspace
from django_agent_memory.text.nearness import MOST_SUGGESTIONS, nearest, undecorated

_NEIGHBOURS = 500


def near_keys(path: str, key: str, *, using: str, session: str = "") -> tuple[str, ...]:
    """Return up to 3 keys of the workspace near `key`: its plain forms, then the similar ones.

    Similar ones are looked for among the 500 keys before and the 500 after it in key order, which
    is all of them in most workspaces. Three statements.
    """
    # Not a join: through one PostgreSQL sorts all keys of the workspace to return the first 500.
    workspace = Workspace.objects.using(using).filter(path=path).values("pk")[:1]
    notes = Note.objects.using(using).filter(workspace=workspace).live(session=session)
    keys = notes.values_list("key", flat=True)
    forms = [form for form in undecorated(key) if len(form) <= conf.max_key_length]
    stored = set(keys.filter(key__in=forms))
    before = keys.filter(key__lt=key).order_by("-key")[:_NEIGHBOURS]
    after = keys.filter(key__gt=key).order_by("key")[:_NEIGHBOURS]
    plain = [form for form in forms if form in stored]
    return tuple(dict.fromkeys([*plain, *nearest(key, [*before, *after])]))[:MOST_SUGGESTIONS]
