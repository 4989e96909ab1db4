"""What other parts of a site may hear of: receivers keep copies of what is gone in step."""

from __future__ import annotations

from django.dispatch import Signal

erased = Signal()
"""Sent once an erase is committed: `workspace` is its path, `keys` a frozenset of those that were
erased, `whole` whether all of the workspace was. What a receiver raises is logged: the erasure
stands."""
