"""`memory_sources` from a shell, and the sources that a migration runs."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.core.management.sql import emit_post_migrate_signal

from django_agent_memory import Memory
from django_agent_memory.models import Note
from django_agent_memory.sources import SourceMemory, memory_source
from django_agent_memory.sources.starting import after_migrate

pytestmark = pytest.mark.django_db


class Terminal(io.StringIO):
    """What says that it is one."""

    def isatty(self) -> bool:
        return True


def command(*arguments: str) -> tuple[str, str, str]:
    """Return what is printed, what is complained of and how it failed, "" for well."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("memory_sources", *arguments, stdout=out, stderr=err)
    except CommandError as error:
        return out.getvalue(), err.getvalue(), str(error)
    return out.getvalue(), err.getvalue(), ""


def test_list(shop: list[str]) -> None:
    assert command("list")[0] == (
        "anywhere fills the workspace that is named\nrules fills shop/rules: The shop's rules.\n"
    )


def test_without_sources() -> None:
    assert command("list")[0] == command("run")[0] == "No app registers a source.\n"


def test_run_one(shop: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    dry = "rules in shop/rules: 2 added, 0 updated, 0 unchanged, 0 removed"
    assert command("run", "rules", "--dry-run") == (
        f"{dry} (dry run: nothing was written)\n",
        "",
        "",
    )
    assert not Note.objects.exists()
    assert command("run", "rules") == (f"{dry}\n", "", "")
    again = "rules in shop/rules: 0 added, 0 updated, 2 unchanged, 0 removed\n"
    assert command("run", "rules")[0] == again
    shop.pop()
    assert "1 unchanged, 1 removed" in command("run", "rules", "--forget-missing")[0]
    (found,) = Memory("shop/rules").find(slot="system")
    assert found.body == "Ask before a refund."


def test_run_into_another_workspace(shop: list[str]) -> None:
    assert command("run", "anywhere", "--workspace", "core")[2] == ""
    assert Memory("core").recall("written") is not None
    assert command("run", "rules", "--workspace", "a//b")[2].startswith("A workspace path is")
    assert command("run", "--workspace", "core")[2] == (
        "--workspace is for one source: name it before the option."
    )
    assert command("run", "rule")[2] == ('There is no source "rule"; registered: anywhere, rules.')


def test_a_source_that_fails_does_not_stop_the_others(
    shop: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    @memory_source("broken", workspace="core")
    def broken(memory: SourceMemory) -> None:
        raise RuntimeError("the disk\nis full")

    printed, complaints, failure = command("run")
    assert printed.startswith("rules in shop/rules: 2 added")
    assert complaints == (
        'anywhere: The source "anywhere" belongs to no workspace; name one for it.\n'
        "broken: RuntimeError: the disk is full\n"
    )
    assert failure == "2 of 3 failed: anywhere, broken."
    assert [record.getMessage() for record in caplog.records] == ['The source "broken" failed.']


def test_progress_is_for_a_terminal(shop: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Terminal())
    assert command("run", "rules")[1] == "\rrules: 2\n"


# After a migration


def migrated(**options: Any) -> None:
    emit_post_migrate_signal(1, False, "default", **{"apps": apps, "plan": [], **options})


def test_nothing_runs_by_itself(shop: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    migrated()
    assert not Note.objects.exists()
    assert "rules" not in capsys.readouterr().out


def test_a_migration_runs_what_the_setting_names(
    shop: list[str], settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.AGENT_MEMORY_RUN_SOURCES = ("nothing", "anywhere", "rules")
    migrated()
    assert [line for line in capsys.readouterr().out.splitlines() if "Building" not in line] == [
        'There is no source "nothing"; registered: anywhere, rules.',
        'anywhere: The source "anywhere" belongs to no workspace; name one for it.',
        "rules in shop/rules: 2 added, 0 updated, 0 unchanged, 0 removed",
    ]
    assert Note.objects.count() == 2


def test_not_after_a_flush(shop: list[str], settings: Any) -> None:
    settings.AGENT_MEMORY_RUN_SOURCES = ("rules",)
    migrated(plan=None)
    assert not Note.objects.exists()


@pytest.mark.parametrize(
    ("using", "plan"), [("default", [(None, False), (None, True)]), ("replica", [])]
)
def test_not_after_a_migration_back_or_elsewhere(
    shop: list[str], settings: Any, using: str, plan: Any
) -> None:
    settings.AGENT_MEMORY_RUN_SOURCES = ("rules",)
    after_migrate(using=using, plan=plan)
    assert not Note.objects.exists()


def test_not_without_tables(
    shop: list[str], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AGENT_MEMORY_RUN_SOURCES = ("rules",)
    with monkeypatch.context() as patched:
        patched.setattr(Note._meta, "db_table", "not_there")
        after_migrate(using="default", plan=[])
    assert not Note.objects.exists()
