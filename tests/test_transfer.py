"""A workspace as JSON Lines: complete, in one order, made while it is read."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory import transfer
from django_agent_memory.exceptions import Refused
from django_agent_memory.memory import Memory
from django_agent_memory.models import IndexEntry, Note, NoteUsage
from django_agent_memory.transfer import export_jsonl
from django_agent_memory.writing import Save

from .pages import page

MOMENT = "2026-11-30T09:00:00+00:00"
AWKWARD = ["a/b", "..", "a\nb", "🔑", " ", "%", "\\", '"', "CON", "é", "e\u0301"]

ENDS = "\r\n\t\x85\u2028\u2029"


def lines_of(path: str = "core", *, private: bool = False) -> list[bytes]:
    return list(export_jsonl(path, using="default", private=private))


def parsed(lines: list[bytes]) -> list[Any]:
    return [json.loads(line) for line in lines]


def of_kind(kind: str, lines: list[bytes]) -> list[Any]:
    return [line[kind] for line in parsed(lines)[1:-1] if kind in line]


def console(text: str) -> list[str]:
    """Return the lines of the page's console block."""
    return text.split("```console\n")[1].split("```")[0].splitlines()


@pytest.mark.django_db
def test_the_page_shows_what_is_written(tmp_path: Path, capsys: Any) -> None:
    memory = Memory("core", actor="scribe")
    memory.remember("user/tea", "Green tea", "No sugar.")
    memory.remember("team/rota", "Who is on call", {"mon": "Ada"}, context="team")
    file = tmp_path / "core.jsonl"
    call_command("memory_export", str(file), workspace="core")
    said = capsys.readouterr().out.replace(str(file), "core.jsonl").splitlines()
    written = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", MOMENT, file.read_text(encoding="utf-8"))
    shown = [line for line in console(page("transfer.md")) if not line.startswith("$")]
    assert [*said, *written.splitlines()] == shown


@pytest.mark.django_db
def test_every_field_is_on_the_page(memory: Memory) -> None:
    soon = timezone.now() + datetime.timedelta(days=1)
    known = {"kind": "k", "slot": "s", "subject": "x", "weight": 2.0, "source": "y"}
    memory.remember("k", "s", [1], context="c", happened_at=soon, expires_at=soon, **known)
    memory.remember("k", "s", [2], reason="better")
    memory.redact("k", 1)
    Memory("core", session="s1").remember("p", None, "b", persist=False)
    memory.remember("gone", "s", "b")
    Note.objects.filter(key="gone").delete()
    note = Note.objects.get(key="k")
    NoteUsage.objects.create(
        workspace=note.workspace, position=note.position, recall_count=3, recalled_at=soon
    )
    lines = lines_of(private=True)
    seen = {"first": set(parsed(lines)[0])}
    for line in parsed(lines)[1:]:
        for kind, fields in line.items():
            seen[kind] = seen.get(kind, set()) | set(fields)
    for kind, fields in seen.items():
        named = fields_of_page(kind)
        if kind == "revision":
            named |= fields_of_page("note") - {"position", "updated_at"}
        assert fields <= named, kind
        if kind != "revision":
            assert named <= fields, kind


def fields_of_page(kind: str) -> set[str]:
    """Return the fields that the page has for a kind of line."""
    row = re.findall(rf"^\| `?{kind}`? \|.*$", page("transfer.md"), re.MULTILINE)[-1]
    return set(re.findall(r"`(\w+)`", row.split("|", 2)[2]))


@pytest.mark.django_db
def test_it_is_complete_in_one_order_and_the_same_again(memory: Memory) -> None:
    for key in AWKWARD:
        memory.remember(key, f"about {key}", f"{key}{ENDS}")
    memory.forget("%")
    Memory("other").remember("elsewhere", "s", "b")
    lines = lines_of()
    assert lines == lines_of()
    assert all(line.endswith(b"\n") and len(line.decode().splitlines()) == 1 for line in lines)
    notes = of_kind("note", lines)
    kept = sorted({*AWKWARD} - {"%"})
    assert [note["key"] for note in notes] == kept
    assert all(note["body"] == f"{note['key']}{ENDS}" for note in notes)
    revisions = of_kind("revision", lines)
    assert [revision["number"] for revision in revisions] == list(range(1, len(AWKWARD) + 2))
    assert (revisions[-1]["operation"], revisions[-1]["body"]) == ("forget", None)
    last = len(AWKWARD) + 1
    assert parsed(lines)[-1] == {
        "end": {"notes": last - 2, "lines": 0, "revisions": last, "revision": last}
    }


@pytest.mark.django_db
def test_private_notes_are_only_in_it_when_asked_for(memory: Memory) -> None:
    memory.remember("shared", "s", "b")
    Memory("core", session="s1").remember("mine", "s", "secret", persist=False)
    assert b"secret" not in b"".join(lines_of())
    assert [note["key"] for note in of_kind("note", lines_of())] == ["shared"]
    private = lines_of(private=True)
    assert [note.get("session") for note in of_kind("note", private)] == ["s1", None]
    assert len(of_kind("revision", private)) == 2


@pytest.mark.django_db
def test_a_line_without_a_note_is_in_it(memory: Memory) -> None:
    memory.remember("a", "s", "b")
    memory.remember("b", "t", "b")
    Note.objects.filter(key="b").delete()
    IndexEntry.objects.filter(key="a").delete()
    assert of_kind("line", lines_of()) == [{"key": "b", "summary": "t"}]
    assert [note["summary"] for note in of_kind("note", lines_of())] == [None]


@pytest.mark.django_db
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_it_reads_a_batch_at_a_time(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, over: int
) -> None:
    monkeypatch.setattr(transfer, "_BATCH", 10)
    memory.apply([Save(key=f"k{n:03}", body="b", summary="s") for n in range(20 + over)])
    with CaptureQueriesContext(connection) as queries:
        lines = lines_of()
    assert len(of_kind("note", lines)) == len(of_kind("revision", lines)) == 20 + over
    # A full batch may be the last: only the next statement tells.
    batches = 2 if over < 0 else 3
    usage = 3 if over > 0 else 2
    # The workspace, notes and their usage, lines, revisions, and the workspace again.
    assert len(queries) == 1 + batches + usage + 1 + batches + 1
    assert not any("DECLARE" in row["sql"] for row in queries)


@pytest.mark.django_db
def test_an_unknown_workspace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match='There is no workspace "nope".'):
        export_jsonl("nope", using="default")
    file = tmp_path / "f"
    with pytest.raises(CommandError, match='There is no workspace "nope".'):
        call_command("memory_export", str(file), workspace="nope")
    assert not file.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["", "\x00", "a\x00b", "\ud800", "a//b", "x" * 5_000])
def test_what_can_be_no_path_is_refused_in_a_sentence(tmp_path: Path, path: str) -> None:
    with pytest.raises(Refused):
        export_jsonl(path, using="default")
    file = tmp_path / "f"
    with pytest.raises(CommandError) as error:
        call_command("memory_export", str(file), workspace=path)
    assert len(str(error.value).splitlines()) == 1
    assert not file.exists()


@pytest.mark.django_db
def test_a_place_that_cannot_be_written_is_said(memory: Memory, tmp_path: Path) -> None:
    memory.remember("k", "s", "b")
    with pytest.raises(CommandError, match="is a folder. Name a file in it"):
        call_command("memory_export", str(tmp_path), workspace="core")
    with pytest.raises(CommandError, match="cannot be written: No such file or directory"):
        call_command("memory_export", str(tmp_path / "no" / "f"), workspace="core")


@pytest.mark.django_db
def test_what_was_there_stays_when_the_export_fails(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("k", "s", "b")
    file = tmp_path / "f"
    file.write_text("before")

    def broken(*args: Any, **options: Any) -> Any:
        yield b"{}\n"
        raise RuntimeError

    command = "django_agent_memory.management.commands.memory_export.export_jsonl"
    monkeypatch.setattr(command, broken)
    with pytest.raises(RuntimeError):
        call_command("memory_export", str(file), workspace="core")
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]
