"""Addresses of admin pages, with plain (never localised) ids and escaped filters."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.admin.utils import quote
from django.urls import reverse
from django.utils.http import urlencode


def to_list(site: str, model: str, **filters: str) -> str:
    """Return the address of a model's list with these filters on."""
    address = reverse(f"admin:agent_memory_{model}_changelist", current_app=site)
    return f"{address}?{urlencode(filters)}" if filters else address


def to_page(site: str, model: str, page: str, pk: int | str) -> str:
    """Return the address of one page of one row: `change`, or one of our own."""
    return reverse(f"admin:agent_memory_{model}_{page}", args=[quote(pk)], current_app=site)


def to_exact(site: str, model: str, pk: int, *, is_on: bool) -> str:
    """Return the address of a row's page with its white space marked, or without where it is."""
    address = to_page(site, model, "change", pk)
    return address if is_on else f"{address}?exact=1"


def to_add(site: str, model: str, **initial: int | str) -> str:
    """Return the address of the form for a new row with these values filled in."""
    address = reverse(f"admin:agent_memory_{model}_add", current_app=site)
    return f"{address}?{urlencode(initial)}"


def to_past(site: str, page: str, workspace: str, key: str, **more: int) -> str:
    """Return the address of a page about a key and its past, such as `timeline` or `restore`.

    The key is in the query: a forgotten one has no row, and a path could not hold every key.
    """
    address = reverse(f"admin:agent_memory_revision_{page}", current_app=site)
    named: dict[str, str | int] = {"workspace": workspace, "key": key, **more}
    return f"{address}?{urlencode(named)}"


def to_batch(
    site: str, workspace_pk: int, first: int, last: int, *, of_sessions: bool = False
) -> str:
    """Return the address of the page about what one write forgot, by its revisions.

    With `of_sessions`, about what sessions lost as they were ended.
    """
    address = to_page(site, "workspace", "batch", workspace_pk)
    asked = {"first": first, "last": last, **({"sessions": 1} if of_sessions else {})}
    return f"{address}?{urlencode(asked)}"


def to_merge(site: str, workspace_pk: int, notes: Iterable[int]) -> str:
    """Return the address of the page that merges these notes of a workspace."""
    address = to_page(site, "workspace", "merge", workspace_pk)
    return f"{address}?{urlencode({'note': list(notes)}, doseq=True)}"
