"""Each setting has one check, and each check can fail."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connection

from django_agent_memory import checks
from django_agent_memory.conf import Settings, conf

pytestmark = pytest.mark.django_db

SETTINGS = {
    "MAX_KEY_LENGTH": ("E001", [1, 512], [0, 513, "9", None, True]),
    "MAX_SUMMARY_LENGTH": ("E002", [1, 10**9], [0, -1, 1.5]),
    "MAX_BODY_LENGTH": ("E003", [1, 10**9], [0, "a"]),
    "MAX_REQUEST_BYTES": ("E004", [1_000, 10**9], [999, None]),
    "WRITE_DEADLINE": ("E005", [0, 0.5, 60], [-0.1, "5", None, True]),
    "INDEX_CACHE_ALIAS": ("E006", ["default", None], ["missing", 5]),
    "INDEX_CACHE_SECONDS": ("E007", [1, 10**6], [0, None]),
    "REVISION_RETENTION": (
        "E008",
        [None, (1, 1), (365, 10)],
        [0, (1,), (0, 1), (1, 0), (1, "2"), [1, 2]],
    ),
    "RECORDED_CALL_DAYS": ("E009", [1, 365], [0, None, "7"]),
    "ANALYSER": (
        "E010",
        ["tests.relevance.evaluate.stemmed"],
        [None, "no.such", "re.compiled", len],
    ),
    "RANKER": ("E011", ["builtins.sorted"], [None, "", "no dots", "django.VERSION"]),
    "SESSION_HOURS": ("E013", [1, 24, 87_600], [0, 87_601, None, "24", 1.5, True]),
    "EMBEDDER": ("E012", [None, "builtins.sorted"], [0, "no.such.module"]),
    "PROMPTS": (
        "E014",
        [{}, {"a": [], "b": ["text", {"slot": "s"}], "c": {"parts": [{}], "default_slot": "s"}}],
        [None, [], {"a": 5}, {"a": [5]}, {"a": [{}]}, {"a": {"part": []}}, {"a": "missing.toml"}]
        + [{"a": [{"min_weight": "x"}]}, {"a": [{"slot": 5}]}, {"a": [{"slot": "s", "limit": 0}]}],
    ),
    "POLICY": (
        "E017",
        ["django_agent_memory.policy.Policy", "tests.test_policy.Closed"],
        [None, "no.such.Policy", "", "builtins.dict", "builtins.sorted", dict],
    ),
    "USAGE_SECONDS": ("E016", [None, 0, 60, 86_400], [-1, 86_401, "60", 1.5, True]),
    "THROTTLE": (
        "E018",
        [None, "1/s", "600/min", "5000/hour", "10/d"],
        ["", "600", "0/min", "-1/s", "1.5/s", "600/week", "600 / min", "600/min\n", 600, True],
    ),
    "RUN_SOURCES": ("E015", [(), ("docs", "git")], ["docs", ["docs"], (1,), ("",), None]),
}


def ids_found() -> list[str]:
    return [m.id or "" for m in run_checks() if (m.id or "").startswith("agent_memory")]


def test_every_setting_has_a_check() -> None:
    properties = {name for name, member in vars(Settings).items() if isinstance(member, property)}
    assert {name.lower() for name in SETTINGS} == properties


def test_the_defaults_are_fine() -> None:
    assert ids_found() == []


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_is_checked_and_read_live(settings: Any, name: str) -> None:
    number, good, bad = SETTINGS[name]
    for value in good:
        setattr(settings, f"AGENT_MEMORY_{name}", value)
        assert ids_found() == []
        assert getattr(conf, name.lower()) == value
    for value in bad:
        setattr(settings, f"AGENT_MEMORY_{name}", value)
        assert ids_found() == [f"agent_memory.{number}"]


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "sqlite", reason="about SQLite files")
def test_sqlite_outside_wal_is_a_warning_with_the_line_to_add(monkeypatch: Any) -> None:
    (warning,) = checks.check_sqlite_journal(databases=["default"])
    assert warning.id == "agent_memory.W002"
    assert "PRAGMA journal_mode=WAL" in str(warning.hint)
    assert checks.check_sqlite_journal(databases=[]) == []
    assert checks.check_sqlite_journal(databases=None) == []


@pytest.mark.parametrize(
    ("atomic_requests", "options", "warned"),
    [
        (False, {}, False),
        (True, {}, True),
        (True, {"transaction_mode": "DEFERRED"}, True),
        (True, {"transaction_mode": "IMMEDIATE"}, False),
    ],
)
def test_atomic_requests_on_sqlite(
    monkeypatch: Any, atomic_requests: bool, options: dict[str, str], warned: bool
) -> None:
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", atomic_requests)
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", options)
    found = checks.check_sqlite_transactions()
    assert bool(found) is (warned and connection.vendor == "sqlite")
    for message in found:
        assert "transaction_mode" in str(message.hint)
