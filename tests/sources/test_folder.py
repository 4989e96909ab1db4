"""A folder of text: this project's own pages, and one with everything that can be wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from django_agent_memory import Memory
from django_agent_memory.exceptions import Refused
from django_agent_memory.models import Note, Revision
from django_agent_memory.sources import SourceMemory, text_folder
from django_agent_memory.sources.folder import summary_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
Into = Callable[..., SourceMemory]


def filled(into: Into, folder: Path, **options: Any) -> SourceMemory:
    memory = into()
    text_folder(memory, folder, **options)
    memory.flush()
    return memory


def test_this_projects_own_pages(into: Into) -> None:
    pages = sorted(DOCS.rglob("*.md"))
    assert filled(into, DOCS).counts == {"created": len(pages)}
    revisions = Revision.objects.count()
    again = filled(into, DOCS)
    assert (again.counts, again.skipped) == ({"unchanged": len(pages)}, [])
    assert Revision.objects.count() == revisions
    page = Memory("core").recall("docs/durable-runs.md")
    assert page is not None
    assert page.body == (DOCS / "durable-runs.md").read_text(encoding="utf-8")
    assert page.summary == "A run that may crash anywhere"
    assert page.contexts == ("docs", "docs/durable-runs.md")
    (found,) = Memory("core").find(context="docs/durable-runs.md")
    assert found.key == "docs/durable-runs.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    (tmp_path / "notes" / "a.md").write_text("# A\n\ntext")
    (tmp_path / "notes" / "deep" / "b.txt").write_text("\n\nfirst line\nsecond\n")
    return tmp_path / "notes"


def test_keys_contexts_and_what_is_said_of_all(into: Into, folder: Path) -> None:
    filled(into, folder, prefix="", slot="docs", weight=0.5)
    rows = Note.objects.order_by("key").values_list("key", "contexts", "slot", "weight")
    assert list(rows) == [
        ("a.md", '["a.md"]', "docs", 0.5),
        ("deep/b.txt", '["deep","deep/b.txt"]', "docs", 0.5),
    ]


def test_what_is_gone_and_what_changed(into: Into, folder: Path) -> None:
    filled(into, folder)
    (folder / "a.md").write_text("# B")
    (folder / "deep" / "b.txt").unlink()
    memory = filled(into, folder)
    memory.forget_missing()
    assert memory.counts == {"replaced": 1, "removed": 1}
    assert [line.line for line in Memory("core").list_memories()] == ["- notes/a.md: B"]


def test_patterns(into: Into, folder: Path) -> None:
    (folder / "c.py").write_text("print()")
    (folder / "D.MD").write_text("other case")
    assert filled(into, folder).counts == {"created": 2}
    assert filled(into, folder, patterns=["*.py"]).counts == {"created": 1}
    assert filled(into, folder, patterns=["*"]).counts == {"created": 1, "unchanged": 3}


def test_what_is_skipped_is_reported_and_kept(into: Into, folder: Path) -> None:
    filled(into, folder)
    (folder / "a.md").write_bytes(b"J\xf6rg")
    (folder / "binary.txt").write_bytes(b"a\x00b")
    (folder / "empty.txt").write_text(" \n")
    (folder / "large.txt").write_text("x" * 101)
    (folder / "large enough.txt").write_text("x" * 100)
    (folder / "new\x1bline.txt").write_text("x")
    (folder / ".hidden.txt").write_text("x")
    (folder / ".git").mkdir()
    (folder / ".git" / "description.txt").write_text("x")
    (folder / "a folder.txt").mkdir()
    memory = filled(into, folder, max_bytes=100)
    memory.forget_missing()
    assert memory.counts == {"created": 1, "unchanged": 1}
    assert memory.skipped == [
        "notes/a.md: it is not UTF-8 text.",
        "notes/binary.txt: it is binary.",
        "notes/empty.txt: it is empty.",
        "notes/large.txt: it is larger than 100 bytes.",
        "notes/new\x1bline.txt: The key contains the control character U+001B; "
        "only tab and newline are allowed in a key.",
    ]
    assert Memory("core").recall("notes/a.md") is not None


def test_a_name_that_is_no_text(into: Into, folder: Path) -> None:
    with open(os.fsencode(folder) + b"/J\xf6rg.txt", "w") as file:
        file.write("x")
    memory = filled(into, folder)
    assert memory.skipped[0].startswith("notes/J\\udcf6rg.txt: The key contains the lone surrogate")
    assert memory.counts == {"created": 2}


def test_limits_of_the_site(into: Into, folder: Path, settings: Any) -> None:
    settings.AGENT_MEMORY_MAX_BODY_LENGTH = 9
    settings.AGENT_MEMORY_MAX_KEY_LENGTH = 12
    memory = filled(into, folder)
    assert memory.counts == {"created": 1}
    assert memory.skipped[0].startswith("notes/deep/b.txt: The key is too long: 16 characters")
    settings.AGENT_MEMORY_MAX_KEY_LENGTH = 512
    assert filled(into, folder).skipped == ["notes/deep/b.txt: it is longer than 9 characters."]


def test_links(into: Into, folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "linked").symlink_to(outside, target_is_directory=True)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "inside.md").symlink_to(folder / "a.md")
    (folder / "lost.md").symlink_to(folder / "nowhere.md")
    (folder / "round.md").symlink_to(folder / "round.md")
    os.mkfifo(folder / "pipe.md")
    memory = filled(into, folder)
    assert [line.partition(" (")[0] for line in memory.skipped] == [
        "notes/link.md: it is a link that leads outside.",
        "notes/lost.md: it cannot be read",
        "notes/pipe.md: it is no file.",
        "notes/round.md: it cannot be read",
    ]
    assert Memory("core").keys() == ("notes/a.md", "notes/deep/b.txt", "notes/inside.md")


def test_the_folder_may_itself_be_a_link(into: Into, folder: Path) -> None:
    (folder.parent / "other").symlink_to(folder, target_is_directory=True)
    assert filled(into, folder.parent / "other", prefix="n/").counts == {"created": 2}


def test_no_such_folder(into: Into, folder: Path) -> None:
    for path in (folder / "nowhere", folder / "a.md"):
        with pytest.raises(Refused, match="There is no folder"):
            text_folder(into(), path)


def test_a_folder_that_cannot_be_read(
    into: Into, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = os.scandir

    def guarded(path: Any) -> Any:
        if str(path).endswith("deep"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", guarded)
    with pytest.raises(Refused, match="deep cannot be read: Permission denied."):
        text_folder(into(), folder)


def test_the_number_of_files(into: Into, folder: Path) -> None:
    assert filled(into, folder, max_files=2).counts == {"created": 2}
    assert filled(into, folder, max_files=3).counts == {"unchanged": 2}
    with pytest.raises(Refused, match="has more than 1 files; narrow it or its patterns."):
        text_folder(into(), folder, max_files=1)


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("# Title\n", "Title"),
        ("intro\n\n## Title ##\n", "Title"),
        ("```\n# a comment\n```\n# Title", "Title"),
        ("Title\n=====\n\ntext", "Title"),
        ("=====\nTitle\n=====\n", "Title"),
        ("---\ntitle: x\n---\ntext", "title: x"),
        ("#hashtag\nmore", "#hashtag"),
        ("  a \t line  \r\nb", "a line"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 199 + "…"),
        ("***", ""),
    ],
)
def test_the_summary(text: str, summary: str) -> None:
    assert summary_of(text) == summary


def test_a_byte_order_mark_is_no_text(into: Into, folder: Path) -> None:
    (folder / "a.md").write_bytes(b"\xef\xbb\xbf# A")
    filled(into, folder)
    note = Memory("core").recall("notes/a.md")
    assert note is not None
    assert (note.body, note.summary) == ("# A", "A")
