"""The settings, each a property that reads the host's `AGENT_MEMORY_*` value when it is asked for.

None has to be set. `checks.py` has one check for each, the README one row.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

from django.conf import settings

_Value = TypeVar("_Value")


class Settings:
    """Live view of the host's settings; nothing is remembered between two reads."""

    @property
    def max_key_length(self) -> int:
        """Longest key in code points, 1 to 512, as the columns and their indexes hold."""
        return self._read("MAX_KEY_LENGTH", 512)

    @property
    def max_summary_length(self) -> int:
        """Longest stored summary in code points (what the index shows of it is 120)."""
        return self._read("MAX_SUMMARY_LENGTH", 10_000)

    @property
    def max_body_length(self) -> int:
        """Longest body in code points, measured on its rendered form when it is JSON."""
        return self._read("MAX_BODY_LENGTH", 1_000_000)

    @property
    def max_request_bytes(self) -> int:
        """Longest HTTP request body in bytes; the default holds a full body, all of it escaped."""
        return self._read("MAX_REQUEST_BYTES", 16_000_000)

    @property
    def write_deadline(self) -> float:
        """Seconds a write tries to get through locks and deadlocks, before `Busy`.

        On SQLite an attempt waits for the `timeout` of the database's OPTIONS (5 s), at least once.
        """
        return self._read("WRITE_DEADLINE", 10.0)

    @property
    def index_cache_alias(self) -> str | None:
        """The entry of `CACHES` for rendered index texts; None keeps them out of any cache."""
        return self._read("INDEX_CACHE_ALIAS", cast("str | None", "default"))

    @property
    def index_cache_seconds(self) -> int:
        """How long an index text that nobody asks for may stay in the cache."""
        return self._read("INDEX_CACHE_SECONDS", 86_400)

    @property
    def revision_retention(self) -> tuple[int, int] | None:
        """`(days, keep)`: what `memory_prune --revisions` removes; None keeps all for ever."""
        return self._read("REVISION_RETENTION", cast("tuple[int, int] | None", None))

    @property
    def recorded_call_days(self) -> int:
        """Days after which `memory_prune --recorded-calls` removes a recorded call."""
        return self._read("RECORDED_CALL_DAYS", 7)

    @property
    def session_hours(self) -> int:
        """Hours after which a note that a session has to itself expires, if not before."""
        return self._read("SESSION_HOURS", 24)

    @property
    def analyser(self) -> str:
        """Dotted path of the function text → list of terms that `find` counts.

        After a change, `memory_check --repair` counts the notes anew.
        """
        return self._read("ANALYSER", "django_agent_memory.text.analysis.terms")

    @property
    def ranker(self) -> str:
        """Dotted path of the function that orders what `find` finds; see `relevance.rank`."""
        return self._read("RANKER", "django_agent_memory.relevance.rank")

    @property
    def embedder(self) -> str | None:
        """Dotted path of a function texts → vectors, by which find orders its best hits as well.

        None orders by words alone; see `relevance.meaning`.
        """
        return self._read("EMBEDDER", cast("str | None", None))

    @property
    def policy(self) -> str:
        """Dotted path of the class that says who may do what; see `policy.Policy`."""
        return self._read("POLICY", "django_agent_memory.policy.Policy")

    @property
    def usage_seconds(self) -> int | None:
        """Seconds for which recalls are kept in memory before they are written; None: never."""
        return self._read("USAGE_SECONDS", cast("int | None", 60))

    @property
    def throttle(self) -> str | None:
        """Most HTTP requests of each agent key and each user, such as "600/min"; None: no limit.

        They are counted in Django's default cache, which all processes should share.
        """
        return self._read("THROTTLE", cast("str | None", None))

    @property
    def prompts(self) -> dict[str, Any]:
        """Declared prompts by name: what `prompts.declared` takes, or the path of a TOML file."""
        return self._read("PROMPTS", cast("dict[str, Any]", {}))

    @property
    def run_sources(self) -> tuple[str, ...]:
        """Names of the sources that are run after each `migrate`; see `sources.starting`."""
        return self._read("RUN_SOURCES", cast("tuple[str, ...]", ()))

    @staticmethod
    def _read(name: str, default: _Value) -> _Value:
        return cast("_Value", getattr(settings, f"AGENT_MEMORY_{name}", default))


conf = Settings()
