"""A git history: this project's own, and one whose every commit is known."""

from __future__ import annotations

import datetime
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from django_agent_memory import Memory
from django_agent_memory.exceptions import Refused
from django_agent_memory.models import Note, Revision
from django_agent_memory.sources import SourceMemory, git, git_history
from django_agent_memory.sources.git import commits, contexts_of, is_fix

from .conftest import Repository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

ROOT = Path(__file__).resolve().parents[2]
Into = Callable[..., SourceMemory]


def filled(into: Into, repository: Path, **options: Any) -> SourceMemory:
    memory = into()
    git_history(memory, repository, **options)
    memory.flush()
    return memory


def stored() -> dict[str, tuple[str, ...]]:
    """The contexts of each commit, by its first line."""
    rows = Note.objects.values_list("body", "contexts")
    return {body.partition("\n")[0]: tuple(json.loads(c or "[]")) for body, c in rows}


def test_this_projects_own_history(into: Into) -> None:
    if not (ROOT / ".git").exists() or git._shallow(ROOT):
        pytest.skip("needs a whole clone")
    first = filled(into, ROOT, only_fixes=False, merges=True, limit=60)
    assert 1 <= first.counts["created"] <= 60
    revisions = Revision.objects.count()
    again = filled(into, ROOT, only_fixes=False, merges=True, limit=60)
    assert again.counts == {"unchanged": first.counts["created"]}
    assert Revision.objects.count() == revisions
    assert first.skipped == again.skipped == []
    note = Note.objects.order_by("position")[0]
    assert note.subject
    assert note.happened_at is not None
    if note.contexts:
        about = json.loads(note.contexts)[0]
        assert note.key in [found.key for found in Memory("core").find(context=about, limit=None)]


def test_fixes_with_their_files(into: Into, repository: Repository) -> None:
    repository.commit("Add the shop", shop__cart__py="1", readme="1")
    fix = repository.commit("Fix the total\n\nIt was added twice.", shop__cart__py="2")
    repository.commit("Prefix the names", readme="2")
    memory = filled(into, repository.path)
    assert memory.counts == {"created": 1}
    note = Memory("core").recall(f"git/{fix}")
    assert note is not None
    assert (note.body, note.summary) == ("Fix the total\n\nIt was added twice.", None)
    assert (note.contexts, note.subject, note.source) == (("shop/cart/py",), "Ann", "s")
    assert note.happened_at == datetime.datetime(2026, 3, 4, 0, tzinfo=datetime.UTC)
    assert filled(into, repository.path, only_fixes=False).counts == {"created": 2, "unchanged": 1}
    assert stored()["Add the shop"] == ("readme", "shop/cart/py")


def test_run_twice_and_a_rewritten_history(into: Into, repository: Repository) -> None:
    repository.commit("fix a", a="1")
    repository.commit("fix b", b="1")
    filled(into, repository.path, kind="fix", weight=2)
    revisions = Revision.objects.count()
    assert filled(into, repository.path, kind="fix", weight=2).counts == {"unchanged": 2}
    assert Revision.objects.count() == revisions
    repository.commit("fix b, really", "--amend")
    memory = filled(into, repository.path, kind="fix", weight=2)
    memory.forget_missing()
    assert memory.counts == {"created": 1, "unchanged": 1, "removed": 1}
    assert stored() == {"fix a": ("a",), "fix b, really": ("b",)}


def test_renames_awkward_names_and_no_files(into: Into, repository: Repository) -> None:
    awkward = ["a b", 'quo"te', "ünï", "tab\tin", "new\nline", "\nfirst", " -n", "R100"]
    repository.commit("add", **{"old name": "text\n" * 9, **dict.fromkeys(awkward, "x")})
    repository.git("mv", "old name", "new name")
    repository.commit("rename")
    repository.commit("nothing", "--allow-empty")
    repository.git("rm", "R100")
    repository.commit("remove")
    filled(into, repository.path, only_fixes=False)
    clean = [name.replace("\n", "\ufffd").replace("\t", "\ufffd") for name in awkward]
    assert stored() == {
        "add": tuple(sorted([*clean, "old name"])),
        "rename": ("new name", "old name"),
        "nothing": (),
        "remove": ("R100",),
    }


def test_what_is_not_utf8(into: Into, repository: Repository) -> None:
    repository.git("config", "i18n.commitEncoding", "latin1")
    repository.git("config", "user.name", b"J\xf6rg")
    repository.commit(b"fix na\xefve", a="1")
    repository.git("config", "i18n.commitEncoding", "utf-8")
    with open(os.fsencode(repository.path) + b"/\xff", "w") as file:
        file.write("x")
    repository.commit("fix name")
    tree = repository.git("rev-parse", "HEAD^{tree}").encode()
    parent = repository.git("rev-parse", "HEAD").encode()
    signed = b"J\xf6rg <j> 1772600000 +0100"
    lines = [b"tree " + tree, b"parent " + parent, b"author " + signed, b"committer " + signed]
    raw = repository.path.parent / "raw"
    raw.write_bytes(b"\n".join([*lines, b"", b"fix \xff"]))
    made = repository.git("hash-object", "-t", "commit", "-w", str(raw))
    filled(into, repository.path, revision=made)
    assert stored() == {"fix naïve": ("a",), "fix name": ("\ufffd",), "fix \ufffd": ()}
    assert list(Note.objects.order_by("position").values_list("subject", flat=True)) == [
        "J\ufffdrg",
        "Jörg",
        "Jörg",
    ]


def test_merges(into: Into, repository: Repository) -> None:
    repository.commit("start", a="1")
    repository.git("checkout", "--quiet", "-b", "side")
    repository.commit("fix on the side", b="1")
    repository.git("checkout", "--quiet", "main")
    repository.commit("go on", c="1")
    repository.git("merge", "--quiet", "--no-ff", "-m", "fix: merge side", "side")
    filled(into, repository.path)
    assert stored() == {"fix on the side": ("b",)}
    filled(into, repository.path, merges=True)
    assert stored() == {"fix on the side": ("b",), "fix: merge side": ("b",)}
    assert filled(into, repository.path, revision="side").counts == {"unchanged": 1}


def test_the_limit_is_of_commits_read(into: Into, repository: Repository) -> None:
    for name in "abc":
        repository.commit(f"fix {name}", **{name: "1"})
    assert filled(into, repository.path, limit=2).counts == {"created": 2}
    assert stored() == {"fix b": ("b",), "fix c": ("c",)}
    for limit in (3, 4):
        filled(into, repository.path, limit=limit)
        assert len(stored()) == 3
    for bad in (0, True, "1", 1.5):
        with pytest.raises(Refused, match="The limit must be a whole number of at least 1."):
            filled(into, repository.path, limit=bad)


def test_an_empty_repository(into: Into, repository: Repository) -> None:
    assert filled(into, repository.path).counts == {}
    with pytest.raises(Refused, match='has no revision "main".'):
        filled(into, repository.path, revision="main")


def test_a_head_that_is_lost_is_not_taken_for_empty(into: Into, repository: Repository) -> None:
    repository.commit("fix", a="1")
    repository.git("symbolic-ref", "HEAD", "refs/heads/elsewhere")
    with pytest.raises(Refused, match='has no revision "HEAD".'):
        filled(into, repository.path)


@pytest.mark.parametrize("revision", ["nowhere", "--all", "-n1", "HEAD:a", ""])
def test_no_such_revision(into: Into, repository: Repository, revision: str) -> None:
    repository.commit("fix", a="1")
    with pytest.raises(Refused) as refused:
        filled(into, repository.path, revision=revision)
    assert str(refused.value) == f'{repository.path} has no revision "{revision}".'


def test_no_repository(into: Into, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "plain").mkdir()
    with pytest.raises(Refused) as refused:
        filled(into, tmp_path / "plain")
    assert "cannot be read by git: not a git repository" in str(refused.value)
    with pytest.raises(Refused, match="cannot be read by git: .*No such file or directory"):
        filled(into, tmp_path / "nowhere")
    with pytest.raises(Refused, match="git cannot be run: embedded null byte."):
        filled(into, Path("a\x00b"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refused, match="git cannot be run: .*No such file"):
        filled(into, tmp_path)


def test_the_environment_leads_nowhere_else(
    into: Into, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("fix", a="1")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    assert filled(into, repository.path).counts == {"created": 1}


def clone(repository: Repository, path: Path, *options: str) -> Path:
    repository.git("clone", "--quiet", *options, f"file://{repository.path}", str(path))
    return path


def test_a_bare_repository(into: Into, repository: Repository, tmp_path: Path) -> None:
    repository.commit("fix a", a="1")
    repository.commit("fix b", b="1")
    assert filled(into, clone(repository, tmp_path / "bare", "--bare")).counts == {"created": 2}


@pytest.mark.parametrize("options", [(), ("--bare",)], ids=["", "bare"])
def test_where_a_shallow_clone_ends_nothing_is_known(
    into: Into, repository: Repository, tmp_path: Path, options: tuple[str, ...]
) -> None:
    repository.commit("start", a="1", b="1")
    cut = repository.commit("fix b", b="2")
    memory = filled(into, clone(repository, tmp_path / "one", "--depth=1", *options))
    assert memory.counts == {}
    assert memory.skipped == [f"git/{cut}: what it touched is not in this shallow clone."]
    repository.commit("fix c", c="1")
    memory = filled(into, clone(repository, tmp_path / "two", "--depth=2", *options))
    assert (memory.counts, len(memory.skipped)) == ({"created": 1}, 1)
    assert stored() == {"fix c": ("c",)}
    assert filled(into, repository.path).counts == {"created": 1, "unchanged": 1}
    memory = filled(into, clone(repository, tmp_path / "again", "--depth=1", *options))
    memory.forget_missing()
    assert memory.counts == {"removed": 1}
    assert stored() == {"fix c": ("c",)}


def test_a_shallow_clone_that_reaches_the_first_commit(
    into: Into, repository: Repository, tmp_path: Path
) -> None:
    repository.commit("fix first\n\nparent of all", a="1", b="1")
    shallow = clone(repository, tmp_path / "all", "--depth=1")
    assert (shallow / ".git" / "shallow").exists()
    memory = filled(into, shallow)
    assert (memory.counts, memory.skipped) == ({"created": 1}, [])
    assert stored() == {"fix first": ("a", "b")}


def test_a_merge_at_the_end_of_a_shallow_clone(
    into: Into, repository: Repository, tmp_path: Path
) -> None:
    repository.commit("start", a="1")
    repository.git("checkout", "--quiet", "-b", "side")
    repository.commit("fix on the side", b="1")
    repository.git("checkout", "--quiet", "main")
    repository.commit("go on", c="1")
    repository.git("merge", "--quiet", "--no-ff", "-m", "fix: merge side", "side")
    shallow = clone(repository, tmp_path / "one", "--depth=1")
    for merges in (False, True):
        memory = filled(into, shallow, merges=merges)
        assert (memory.counts, len(memory.skipped)) == ({}, 1)


@pytest.mark.parametrize("count", [99, 100, 101])
def test_many_files_are_their_folders(count: int) -> None:
    files = tuple(f"src/app{n % 3}/f{n}.py" for n in range(count))
    expected = files if count <= 100 else ("src/app0", "src/app1", "src/app2")
    assert contexts_of(files) == expected


def test_contexts_are_storable() -> None:
    assert contexts_of(("a" * 512, "b" * 513, "c\x1b", "c\x07")) == ("a" * 512, "c\ufffd")
    assert len(contexts_of(tuple(f"d{n}/f" for n in range(500)))) == 100
    assert contexts_of(tuple(f"f{n}" for n in range(101))) == ()


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Fix the total", True),
        ("fixes a crash", True),
        ("hotfix: stop", True),
        ("fix(cart): sum", True),
        ("A regression in sums", True),
        ("Bugs are gone", True),
        ("Totals\n\nCloses #12", True),
        ("Totals\n\nFixes: #3", True),
        ("Add a prefix", False),
        ("Fixtures for carts", False),
        ("Totals\n\nThis may fix it.", False),
        ("debug", False),
        ("", False),
    ],
)
def test_what_is_a_fix(message: str, *, expected: bool) -> None:
    assert is_fix(message) is expected


def test_a_message_too_long_is_skipped(into: Into, repository: Repository, settings: Any) -> None:
    settings.AGENT_MEMORY_MAX_BODY_LENGTH = 10
    repository.commit("fix 567890", a="1")
    long = repository.commit("fix 5678901", a="2")
    memory = filled(into, repository.path)
    assert memory.counts == {"created": 1}
    assert memory.skipped == [f"git/{long}: its message is longer than 10."]


def test_dates_beyond_the_calendar(into: Into, repository: Repository) -> None:
    repository.commit("fix a", a="1")
    tree = repository.git("rev-parse", "HEAD^{tree}")
    far = repository.git(
        "commit-tree", tree, "-m", "fix far", GIT_AUTHOR_DATE="@253402300800 +0000"
    )
    assert filled(into, repository.path, revision=far).counts == {"created": 1}


@pytest.mark.parametrize("block", [1, 7, 64])
def test_records_are_read_in_any_blocks(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    repository.commit("fix a", a="1", b="1")
    repository.commit("fix b", c="1")
    known = list(commits(repository.path, revision="HEAD", merges=False, limit=9))
    monkeypatch.setattr(git, "_BLOCK", block)
    assert list(commits(repository.path, revision="HEAD", merges=False, limit=9)) == known
    assert [commit.files for commit in known] == [("c",), ("a", "b")]


@pytest.mark.parametrize("block", [7, 64, 1 << 16])
def test_a_commit_is_read_within_bounds(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    repository.commit("first", **{f"file{n:03}": "1" for n in range(200)})
    repository.commit("x" * 3_000, "--allow-empty")
    repository.commit("last", "--allow-empty")
    monkeypatch.setattr(git, "_BLOCK", block)
    monkeypatch.setattr(git, "_MAX_RECORD", 1_000)
    found = list(commits(repository.path, revision="HEAD", merges=False, limit=9))
    assert [commit.message[:5] for commit in found] == ["last", "xxxxx", "first"]
    assert 800 < len(found[1].message) < 1_000
    assert 80 < len(found[2].files) < 100


def test_git_is_stopped_when_nobody_reads(repository: Repository) -> None:
    repository.commit("fix a", a="1")
    history = commits(repository.path, revision="HEAD", merges=False, limit=9)
    next(history)
    history.close()
