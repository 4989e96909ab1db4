"""The history of a git repository: a note a commit, tied to the files that it touched."""

from __future__ import annotations

import datetime
import os
import re
import secrets
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, Unpack

from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Refused
from django_agent_memory.text.rendering import one_line
from django_agent_memory.writing.details import (
    MAX_CONTEXT_LENGTH,
    MAX_CONTEXTS,
    MAX_SUBJECT_LENGTH,
)

from .gathering import Common, SourceMemory

MAX_COMMITS = 10_000
_MAX_RECORD = 2_000_000  # bytes of a commit with its files; what is beyond is not read
_BLOCK = 1 << 16

_FIX = re.compile(r"\b(?:bug|hot)?fix(?:e[sd]|ing)?\b|\bbugs?\b|\bregressions?\b", re.IGNORECASE)
_CLOSES = re.compile(r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?):?\s+#\d+", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# The host's configuration must not change what is read, nor a repository run anything.
_CONFIG = {
    "core.fsmonitor": "false",
    "diff.relative": "false",
    "diff.renameLimit": "1000",
    "log.follow": "false",
    "log.showRoot": "true",
    "log.showSignature": "false",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit as git tells it; `files` are those it touched, a renamed one by both names."""

    name: str
    author: str
    authored_at: datetime.datetime | None
    message: str
    files: tuple[str, ...]


def git_history(
    memory: SourceMemory,
    repository: str | PathLike[str] = ".",
    *,
    revision: str = "HEAD",
    only_fixes: bool = True,
    merges: bool = False,
    limit: int = MAX_COMMITS,
    prefix: str = "git/",
    **common: Unpack[Common],
) -> None:
    """Store the message of each commit that `revision` reaches, newest first, at most `limit` read.

    Its key is `prefix` and its hash, its contexts the files it touched (of more than 100, their
    folders), its subject the author, its date the author's. `only_fixes` leaves out what does not
    say that it fixes something; merges are left out unless asked for, then with what they brought
    in. An empty repository has nothing. Where a shallow clone ends, git has nothing to compare a
    commit with: it is skipped. Raises `Refused` for what is no repository or no revision.
    """
    if type(limit) is not int or limit < 1:
        raise Refused("The limit must be a whole number of at least 1.")
    ends = _shallow(repository)
    history = commits(repository, revision=revision, merges=merges, limit=limit)
    with closing(history):
        for commit in history:
            key = prefix + commit.name
            if not commit.message or (only_fixes and not is_fix(commit.message)):
                continue
            if commit.name in ends and _has_parents(repository, commit.name):
                memory.skip(f"{key}: what it touched is not in this shallow clone.", key=key)
            else:
                _store(memory, commit, key, common)


def _store(memory: SourceMemory, commit: Commit, key: str, common: Common) -> None:
    if len(commit.message) > conf.max_body_length:
        memory.skip(f"{key}: its message is longer than {conf.max_body_length}.", key=key)
        return
    known: Common = {"subject": commit.author[:MAX_SUBJECT_LENGTH], **common}
    memory.store(
        commit.message,
        key=key,
        context=contexts_of(commit.files),
        happened_at=commit.authored_at,
        **known,
    )


def is_fix(message: str) -> bool:
    """Whether a commit says that it fixes something: in its first line, or by closing an issue."""
    return bool(_FIX.search(message.partition("\n")[0]) or _CLOSES.search(message))


def contexts_of(files: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a commit is tied to: its files, or where they are too many, their folders."""
    names = dict.fromkeys(_CONTROL.sub("\ufffd", name) for name in files)
    usable = [name for name in names if len(name) <= MAX_CONTEXT_LENGTH]
    if len(usable) > MAX_CONTEXTS:
        folders = {name.rpartition("/")[0] for name in usable} - {""}
        # The broadest, if even these are too many.
        usable = sorted(folders, key=lambda name: (name.count("/"), name))[:MAX_CONTEXTS]
    return tuple(usable)


def commits(
    repository: str | PathLike[str], *, revision: str, merges: bool, limit: int
) -> Generator[Commit]:
    """Yield the commits that `revision` reaches, newest first."""
    if not _has(repository, revision):
        return
    mark = secrets.token_hex(16)
    arguments = (
        "log",
        "-z",
        "--no-color",
        "--no-ext-diff",
        "--encoding=UTF-8",
        "--name-status",
        "--find-renames",
        "--diff-merges=first-parent" if merges else "--no-merges",
        f"--max-count={limit}",
        f"--format=tformat:%x00{mark}%x00%H%x00%aI%x00%an%x00%B%x00",
        "--end-of-options",
        revision,
        "--",
    )
    for record in _read(repository, arguments, b"\x00" + mark.encode() + b"\x00"):
        yield _commit(record)


def _commit(record: bytes) -> Commit:
    fields = record.decode(errors="replace").split("\x00")
    # One whose message is beyond all measure was cut in it.
    name, date, author, message, *rest = fields + [""] * (4 - len(fields))
    return Commit(
        name=name,
        author=author,
        authored_at=_moment(date),
        message=message.strip(),
        files=tuple(_files(rest)),
    )


def _files(fields: list[str]) -> Iterator[str]:
    """Yield the names from git's `status NUL name [NUL name]`."""
    said = iter(fields)
    for field in said:
        status = field.lstrip("\n")
        names = 2 if status[:1] in ("R", "C") else 1 if status else 0
        for _ in range(names):
            name = next(said, "")
            if name:
                yield name


def _moment(text: str) -> datetime.datetime | None:
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:  # a commit may claim any date, and none
        return None
    return moment if moment.tzinfo is not None else None


def _has(repository: str | PathLike[str], revision: str) -> bool:
    """Whether there is that revision; no HEAD is as good as none only where there is no branch."""
    _ask(repository, "rev-parse", "--git-dir")
    try:
        _ask(repository, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    except Refused:
        if revision == "HEAD" and not _ask(repository, "for-each-ref", "--count=1"):
            return False
        raise Refused(f'{repository} has no revision "{revision}".') from None
    return True


def _shallow(repository: str | PathLike[str]) -> frozenset[str]:
    """Return the commits at which a shallow clone ends; git takes them for the first ones."""
    said = os.fsdecode(_ask(repository, "rev-parse", "--git-path", "shallow"))
    try:
        return frozenset(Path(repository, said.removesuffix("\n")).read_text("ascii").split())
    except FileNotFoundError:
        return frozenset()
    except (OSError, ValueError) as error:
        raise Refused(f"{repository} cannot be read: {one_line(str(error))}.") from None


def _has_parents(repository: str | PathLike[str], name: str) -> bool:
    """Whether the commit itself names parents, be they here or not."""
    head = _ask(repository, "cat-file", "commit", name).partition(b"\n\n")[0]
    return b"\nparent " in head


def _ask(repository: str | PathLike[str], *arguments: str) -> bytes:
    return b"".join(_read(repository, arguments, b"\x00"))


def _read(
    repository: str | PathLike[str], arguments: tuple[str, ...], mark: bytes
) -> Iterator[bytes]:
    """Run git and yield what it prints after each `mark`; raise `Refused` where it fails."""
    config = [word for name, value in _CONFIG.items() for word in ("-c", f"{name}={value}")]
    command = ["git", "-C", os.fspath(repository), *config, *arguments]
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(  # noqa: S603  (a list of arguments, no shell)
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=_env()
            )
        except (OSError, ValueError) as error:
            raise Refused(f"git cannot be run: {one_line(str(error))}.") from None
        with process:
            try:
                yield from _after(mark, process.stdout)
            except BaseException:  # whoever reads has stopped
                process.kill()
                raise
        if process.returncode:
            raise Refused(f"{repository} cannot be read by git: {_said(errors)}")


def _after(mark: bytes, stream: IO[bytes] | None) -> Iterator[bytes]:
    """Yield what follows each mark, at most `_MAX_RECORD` bytes of it, holding one at a time."""
    buffer = b""
    while stream is not None and (block := stream.read(_BLOCK)):
        *ended, buffer = (buffer + block).split(mark)
        yield from (record[:_MAX_RECORD] for record in ended if record)
        if len(buffer) > _MAX_RECORD + len(mark):
            # The end stays: a mark may have begun in it.
            buffer = buffer[:_MAX_RECORD] + buffer[-len(mark) :]
    if buffer:
        yield buffer[:_MAX_RECORD]


def _said(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read(10_000).decode(errors="replace").strip().splitlines()
    return one_line((lines or ["it said nothing"])[0]).removeprefix("fatal: ").rstrip(".") + "."


def _env() -> dict[str, str]:
    """Return the environment without what would lead git to another repository."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "LC_ALL": "C", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}
