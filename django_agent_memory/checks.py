"""System checks: one for each setting, and what the host's database settings make of our writes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Tags, register
from django.db import connections, router
from django.utils.module_loading import import_string

from .conf import conf
from .exceptions import Refused

_BYTES = "bytes"
_CHARACTERS = "characters"
_RATE = re.compile("[1-9][0-9]{0,8}/(s|sec|m|min|h|hour|d|day)")


@register()
def check_settings(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """Report each `AGENT_MEMORY_*` value that cannot work (E001 to E018)."""
    found = [
        _whole_number("E001", "MAX_KEY_LENGTH", conf.max_key_length, 1, 512, _CHARACTERS),
        _whole_number("E002", "MAX_SUMMARY_LENGTH", conf.max_summary_length, 1, None, _CHARACTERS),
        _whole_number("E003", "MAX_BODY_LENGTH", conf.max_body_length, 1, None, _CHARACTERS),
        _whole_number("E004", "MAX_REQUEST_BYTES", conf.max_request_bytes, 1_000, None, _BYTES),
        _write_deadline(),
        _index_cache_alias(),
        _whole_number("E007", "INDEX_CACHE_SECONDS", conf.index_cache_seconds, 1, None, "seconds"),
        _revision_retention(),
        _whole_number("E009", "RECORDED_CALL_DAYS", conf.recorded_call_days, 1, None, "days"),
        _function("E010", "ANALYSER", conf.analyser),
        _function("E011", "RANKER", conf.ranker),
        None if conf.embedder is None else _function("E012", "EMBEDDER", conf.embedder),
        _whole_number("E013", "SESSION_HOURS", conf.session_hours, 1, 87_600, "hours"),
        _prompts(),
        _run_sources(),
        None
        if conf.usage_seconds is None
        else _whole_number("E016", "USAGE_SECONDS", conf.usage_seconds, 0, 86_400, "seconds"),
        _policy(),
        _throttle(),
    ]
    return [message for message in found if message is not None]


@register()
def check_sqlite_transactions(
    app_configs: Sequence[AppConfig] | None = None, **_: Any
) -> list[CheckMessage]:
    """Warn (W001) where requests read first and write later in one SQLite transaction.

    Such a transaction cannot become a writer while another one writes: measured with 16 processes,
    20 of 320 writes succeed.
    """
    connection = connections[_alias()]
    options = connection.settings_dict["OPTIONS"]
    if (
        connection.vendor != "sqlite"
        or not connection.settings_dict["ATOMIC_REQUESTS"]
        or str(options.get("transaction_mode", "")).upper() in ("IMMEDIATE", "EXCLUSIVE")
    ):
        return []
    return [
        checks.Warning(
            "ATOMIC_REQUESTS on SQLite makes your views' memory writes fail as busy "
            "whenever another process writes.",
            hint=f'Add "OPTIONS": {{"transaction_mode": "IMMEDIATE"}} to DATABASES["{_alias()}"].',
            id="agent_memory.W001",
        )
    ]


@register(Tags.database)
def check_sqlite_journal(
    app_configs: Sequence[AppConfig] | None = None,
    databases: Iterable[str] | None = None,
    **_: Any,
) -> list[CheckMessage]:
    """Warn (W002) where a SQLite file is outside WAL mode: there every write stops all readers."""
    alias = _alias()
    if alias not in (databases or ()) or connections[alias].vendor != "sqlite":
        return []
    with connections[alias].cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        (mode,) = cursor.fetchone()
    if mode in ("wal", "memory"):
        return []
    return [
        checks.Warning(
            f"The SQLite database is in journal mode {mode!r}: every write stops all readers.",
            hint='Run "PRAGMA journal_mode=WAL" on it once; the file remembers.',
            id="agent_memory.W002",
        )
    ]


@register(Tags.database)
def check_search_index(
    app_configs: Sequence[AppConfig] | None = None,
    databases: Iterable[str] | None = None,
    **_: Any,
) -> list[CheckMessage]:
    """Say what searches run on (I001); warn (W003) where the index they could use is not there."""
    from .models import Note
    from .search.upkeep import search_engine

    alias = _alias()
    connection = connections[alias]
    if alias not in (databases or ()) or (
        Note._meta.db_table not in connection.introspection.table_names()
    ):
        return []
    state, sentence = search_engine(alias).status()
    if state in ("live", "unavailable"):
        return [checks.Info(sentence, id="agent_memory.I001")]
    hint = (
        'Run "manage.py memory_search_index build". '
        "Where the database does not allow it, silence this check."
    )
    return [checks.Warning(sentence, hint=hint, id="agent_memory.W003")]


def _alias() -> str:
    from .models import Workspace

    return router.db_for_write(Workspace)


def _whole_number(
    number: str, name: str, value: object, least: int, most: int | None, unit: str
) -> CheckMessage | None:
    in_range = type(value) is int and value >= least and (most is None or value <= most)
    if in_range:
        return None
    bounds = f"at least {least}" if most is None else f"from {least} to {most}"
    return _error(number, name, f"a whole number of {unit}, {bounds}", value)


def _write_deadline() -> CheckMessage | None:
    value: object = conf.write_deadline
    if type(value) in (int, float) and value >= 0:  # type: ignore[operator]
        return None
    return _error("E005", "WRITE_DEADLINE", "a number of seconds, at least 0", value)


def _index_cache_alias() -> CheckMessage | None:
    value = conf.index_cache_alias
    if value is None or value in settings.CACHES:
        return None
    return _error("E006", "INDEX_CACHE_ALIAS", "None or a name in CACHES", value)


def _revision_retention() -> CheckMessage | None:
    value: object = conf.revision_retention
    pair = isinstance(value, tuple) and len(value) == 2 and {type(n) for n in value} == {int}
    if value is None or (pair and min(cast("tuple[int, int]", value)) >= 1):
        return None
    return _error("E008", "REVISION_RETENTION", "None or (days, keep), both at least 1", value)


def _throttle() -> CheckMessage | None:
    value: object = conf.throttle
    if value is None or (isinstance(value, str) and _RATE.fullmatch(value)):
        return None
    return _error("E018", "THROTTLE", 'None or a rate such as "600/min" (s, min, h, day)', value)


def _function(number: str, name: str, value: object) -> CheckMessage | None:
    try:
        found = import_string(value) if isinstance(value, str) else None
    except ImportError:
        found = None
    if callable(found):
        return None
    return _error(number, name, "the dotted path of a function", value)


def _policy() -> CheckMessage | None:
    from .policy import Policy

    value: object = conf.policy
    try:
        found = import_string(value) if isinstance(value, str) else None
    except ImportError:
        found = None
    if isinstance(found, type) and issubclass(found, Policy):
        return None
    wanted = "the dotted path of a subclass of django_agent_memory.policy.Policy"
    return _error("E017", "POLICY", wanted, value)


def _prompts() -> CheckMessage | None:
    from .prompts import prompt

    value: object = conf.prompts
    if not isinstance(value, dict):
        return _error("E014", "PROMPTS", "a dict of prompts by name", value)
    for name in value:
        try:
            prompt(name)
        except Refused as refused:
            return checks.Error(
                f"AGENT_MEMORY_PROMPTS[{name!r}]: {refused}", id="agent_memory.E014"
            )
    return None


def _run_sources() -> CheckMessage | None:
    value: object = conf.run_sources
    if isinstance(value, tuple) and all(isinstance(name, str) and name for name in value):
        return None
    return _error("E015", "RUN_SOURCES", "a tuple of names of sources", value)


def _error(number: str, name: str, wanted: str, value: object) -> CheckMessage:
    return checks.Error(
        f"AGENT_MEMORY_{name} must be {wanted}; it is {value!r}.", id=f"agent_memory.{number}"
    )
