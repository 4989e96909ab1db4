"""`memory_history`, `memory_restore`, `memory_check` and `memory_prune`, from a shell."""

from __future__ import annotations

import datetime
import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from django_agent_memory import Memory, Save
from django_agent_memory.journal import Calls
from django_agent_memory.models import Note, RecordedCall, Revision, SavedRule, Workspace
from django_agent_memory.writing import expiry


def run(*arguments: str) -> str:
    """Return what the command prints."""
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def refusal(*arguments: str) -> str:
    """Return the one sentence with which the command fails."""
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def memory(db: None) -> Memory:
    memory = Memory("core", actor="scribe")
    memory.remember("user/name", "s", "Ann\n")
    memory.remember("user/name", "s", "Ann Lee", reason="she said so")
    memory.forget("user/name")
    return memory


def test_history(memory: Memory) -> None:
    lines = run("memory_history", "core", "user/name").splitlines()
    assert [line.partition(" (")[0] for line in lines] == [
        "[v1] remember 'user/name' = Ann",
        "[v2] remember 'user/name' = Ann Lee",
        "[v3] forget 'user/name'",
    ]
    assert lines[1].endswith("by scribe: she said so")
    assert run("memory_history", "core", "user/name", "--body", "1") == "Ann\n"
    assert "no body" in refusal("memory_history", "core", "user/name", "--body", "3")
    assert "no revision 9" in refusal("memory_history", "core", "user/name", "--body", "9")
    memory.restore("user/name", 1)
    assert 'Did you mean "user/name"?' in refusal("memory_history", "core", "user/nam")
    assert "no history" in refusal("memory_history", "nowhere", "user/name")
    assert "workspace path" in refusal("memory_history", "core/", "user/name")


def test_restore(memory: Memory) -> None:
    assert run("memory_restore", "core", "user/name", "2", "--reason", "needed") == (
        'Restored "user/name" as of revision 2, as revision 4.\n'
    )
    last = memory.history("user/name")[-1]
    assert (last.actor, last.reason, last.operation) == ("manage.py", "needed", "restore")
    assert "nothing changed" in run("memory_restore", "core", "user/name", "2")
    assert "at revision 4" in refusal(
        "memory_restore", "core", "user/name", "1", "--expected-revision", "2"
    )
    assert "forgotten again" in run("memory_restore", "core", "user/name", "3")
    assert "no revision" in refusal("memory_restore", "core", "other", "3")
    assert memory.revision() == 5


def test_check(memory: Memory) -> None:
    memory.remember("k", "s", "b")
    assert run("memory_check") == "No defect found.\n"
    Note.objects.filter(key="k").delete()
    out = io.StringIO()
    with pytest.raises(CommandError, match="1 found; run again with --repair"):
        call_command("memory_check", stdout=out)
    assert out.getvalue() == 'core: note missing: "k"\n'
    assert run("memory_check", "--workspace", "core", "--repair").endswith("1 repaired.\n")
    assert run("memory_check", "--workspace", "core") == "No defect found.\n"
    Revision.objects.filter(number=2).delete()
    assert "1 revisions missing" in run("memory_check", "--repair")
    assert "no workspace" in refusal("memory_check", "--workspace", "nowhere")
    Workspace.objects.create(path="bad path!")
    err = io.StringIO()
    with pytest.raises(CommandError, match="1 workspaces could not be checked"):
        call_command("memory_check", stdout=io.StringIO(), stderr=err)
    assert err.getvalue().startswith("bad path!: A workspace path is")
    assert "Would remove" in run("memory_prune", "--revisions", "--days", "9")
    assert "workspace path" in refusal("memory_check", "--workspace", "a//b")


def test_prune_counts_first(memory: Memory, settings: Any) -> None:
    past = timezone.now() - datetime.timedelta(days=40)
    Revision.objects.update(created_at=past)
    assert "kept for ever" in refusal("memory_prune", "--revisions")
    assert "Would remove 2 revisions" in run("memory_prune", "--revisions", "--days", "30")
    assert Revision.objects.count() == 3
    settings.AGENT_MEMORY_REVISION_RETENTION = (30, 2)
    assert "Removed 1 revisions" in run("memory_prune", "--revisions", "--apply")
    assert Revision.objects.count() == 2
    assert "Removed 0 revisions" in run("memory_prune", "--revisions", "--apply", "--days", "50")
    assert "At least the last" in refusal("memory_prune", "--revisions", "--keep", "0")
    assert "--days" in refusal("memory_prune", "--revisions", "--days", "-1")
    assert "Say what to prune" in refusal("memory_prune")


def test_expired_notes_get_their_tombstones(memory: Memory) -> None:
    past = timezone.now() - datetime.timedelta(seconds=1)
    memory.apply([Save(key=f"old{n:03}", summary="s", body="b") for n in range(501)])
    Note.objects.filter(key__startswith="old").update(expires_at=past)
    memory.remember("young", "s", "b", expires_at=past + datetime.timedelta(days=1))
    assert "Would remove 501 expired notes" in run("memory_prune", "--expired")
    assert Note.objects.filter(key__startswith="old").count() == 501
    version = memory.index().version
    out = run("memory_prune", "--expired", "--apply")
    assert out.startswith("core: 501 expired notes\nRemoved 501 expired notes")
    assert memory.index().version != version
    assert not Note.objects.filter(key__startswith="old").exists()
    assert memory.recall("young") is not None
    last = memory.history("old000")[-1]
    assert (last.operation, last.actor, last.reason) == (
        "forget",
        "manage.py",
        "memory_prune --expired",
    )
    assert "Removed 0 expired notes" in run("memory_prune", "--expired", "--apply")
    assert memory.restore("old000", last.number - 1).exists


def test_saved_rules_are_run_by_name(memory: Memory) -> None:
    for path in ("core", "other", "third"):
        Memory(path).apply([Save(key=key, body=key, kind=key) for key in ("log", "chat", "fact")])
    here = Workspace.objects.get(path="core")
    keep = SavedRule.objects.keep
    assert run("memory_prune", "--rules").startswith("Would remove 0 notes by saved rules")
    keep(workspace=None, name="b logs", rule={"kind": "log"})
    keep(workspace=here, name="a\nchats", rule={"kind": "chat"})
    assert run("memory_prune", "--rules").splitlines() == [
        "core: 1 notes by the rule “a chats”",
        "core: 1 notes by the rule “b logs”",
        "other: 1 notes by the rule “b logs”",
        "third: 1 notes by the rule “b logs”",
        "Would remove 4 notes by saved rules, which keep their history; add --apply to do it.",
    ]
    assert Note.objects.count() == 9
    out = run("memory_prune", "--rules", "--apply", "--workspace", "core")
    assert out.endswith("Removed 2 notes by saved rules, which keep their history.\n")
    assert memory.keys() == ("fact",)
    last = memory.history("log")[-1]
    assert (last.operation, last.actor) == ("forget", "manage.py")
    assert last.reason == "memory_prune --rules: b logs"
    run("memory_prune", "--rules", "--apply")
    assert Note.objects.filter(kind="log").count() == 0
    assert Note.objects.filter(kind="chat").count() == 2


def test_a_damaged_rule_hinders_no_other(memory: Memory) -> None:
    memory.remember("k", "s", "b", kind="log")
    for name, rule in (("a", {"kind": "log", "colour": "red"}), ("b", {"kind": "log"})):
        SavedRule.objects.keep(workspace=None, name=name, rule=rule)
    SavedRule.objects.create(name="a again", rule=[])
    out, err = io.StringIO(), io.StringIO()
    call_command("memory_prune", "--rules", "--apply", stdout=out, stderr=err)
    assert err.getvalue().splitlines() == [
        "core: The rule “a” cannot be run: A rule has no condition 'colour'.",
        "core: The rule “a again” cannot be run: A rule is an object of conditions.",
    ]
    assert "Removed 1 notes" in out.getvalue()


def test_what_is_written_to_meanwhile_is_left(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    past = timezone.now() - datetime.timedelta(seconds=1)
    for key in ("a", "b"):
        memory.remember(key, "s", "b", expires_at=past)
    read = expiry._batch

    def racing(*args: Any) -> Any:
        rows = read(*args)
        if rows:
            memory.remember("a", "s", "again")
        return rows

    monkeypatch.setattr(expiry, "_batch", racing)
    assert "Removed 1 expired notes" in run("memory_prune", "--expired", "--apply")
    assert memory.recall("a") is not None
    assert not Note.objects.filter(key="b").exists()


def test_recorded_calls_go_after_seven_days(memory: Memory) -> None:
    for n, days in enumerate([8, 6]):
        Memory("core", calls=Calls("c", name=f"n{n}")).recall("k")
        age = timezone.now() - datetime.timedelta(days=days)
        RecordedCall.objects.filter(name=f"n{n}").update(created_at=age)
    assert "Would remove 1 recorded calls" in run("memory_prune", "--recorded-calls")
    assert "Removed 1 recorded calls" in run("memory_prune", "--recorded-calls", "--apply")
    assert RecordedCall.objects.get().name == "n1"
    assert "Removed 1" in run("memory_prune", "--recorded-calls", "--apply", "--days", "5")
