"""What a process keeps from one request to the next."""

from __future__ import annotations

from django.core.cache import cache

from django_agent_memory import large_texts, usage
from django_agent_memory.search.engines import postgresql


def forget() -> None:
    """Let the process know nothing, as one that was just started."""
    cache.clear()
    large_texts._texts.clear()
    # Else what another test recalled a minute ago is written by a recall of this one.
    usage._PENDING.counts.clear()
    # What search knows of PostgreSQL for a minute: else it is read in one of two requests.
    postgresql._KNOWN.clear()
    postgresql._SIZES.clear()
