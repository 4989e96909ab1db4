"""The README says what is so: its Python, its commands, its curl lines, its tables."""

from __future__ import annotations

import ast
import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from django.test import override_settings

from django_agent_memory.conf import Settings

from .ports import free_port, wait_for

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# Random or of the clock, in what the README shows and in what really comes.
VARYING = [
    (re.compile(r"dam_[\w-]+"), "dam_"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+"), "TIME"),
]


class Step(NamedTuple):
    """A command of the README and what it shows below it."""

    command: str
    output: str


def blocks(language: str) -> list[str]:
    """Return the README's blocks in this language, without the indentation of their list."""
    found = []
    for indent, name, text in BLOCK.findall(README):
        if name == language:
            found.append(re.sub(f"^{indent}", "", text, flags=re.MULTILINE))
    return found


def steps() -> list[Step]:
    """Return the commands of all console blocks, in order."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _newline, output = part.partition("\n")
            found.append(Step(command, output))
    return found


def settled(text: str) -> str:
    """Return the text with what differs from run to run made equal."""
    for pattern, replacement in VARYING:
        text = pattern.sub(replacement, text)
    return text.rstrip("\n")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Shell]:
    """A new Django project, made a memory by the README's three steps, and a shell in it."""
    folder = tmp_path_factory.mktemp("readme")
    shell = Shell(folder, port=free_port())
    shell.run("python -m django startproject mysite .")
    for block in blocks("python"):
        target = re.match(r"# (settings|urls)\.py\n", block)
        assert target, f"which file is this for? {block}"
        with (folder / "mysite" / f"{target[1]}.py").open("a", encoding="utf-8") as file:
            file.write(block)
    yield shell
    shell.close()


class Shell:
    """One bash session in a site, so that a variable set by one command is there for the next."""

    def __init__(self, folder: Path, *, port: int) -> None:
        self.folder, self.port = folder, port
        (folder / ".curlrc").write_text("silent\n")
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "error",
            "LANG": "C.UTF-8",
            "HOME": str(folder),
            "CURL_HOME": str(folder),
        }
        self.server: subprocess.Popen[bytes] | None = None
        self.bash = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )

    def run(self, command: str) -> str:
        """Return what the command prints; it must end well."""
        assert self.bash.stdin is not None
        assert self.bash.stdout is not None
        local = command.replace("127.0.0.1:8000", f"127.0.0.1:{self.port}")
        self.bash.stdin.write(f"{local}\nprintf '\\nstatus %s\\n' $?\n")
        self.bash.stdin.flush()
        output = ""
        for line in self.bash.stdout:
            if line.startswith("status "):
                break
            output += line
        assert line == "status 0\n", output
        return output

    def serve(self) -> None:
        """Serve the site, once."""
        if self.server is not None:
            return
        command = [sys.executable, "manage.py", "runserver", "--noreload", str(self.port)]
        self.server = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(self.port)

    def close(self) -> None:
        for process in (self.server, self.bash):
            if process is not None:
                process.terminate()
                process.communicate()


@pytest.mark.django_db
def test_python_prints_what_is_shown():
    text = "\n".join(blocks("pycon"))
    examples = doctest.DocTestParser().get_doctest(text, {}, "README.md", None, 0)
    assert len(examples.examples) >= 8
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(examples, out=said.append)
    assert not runner.failures, "".join(said)


def test_the_first_example_has_eight_lines():
    assert blocks("pycon")[0].count(">>> ") == 8


def test_the_first_screen_holds_the_example_and_the_two_commands():
    first_screen = README[: README.index("## ")]
    assert len(first_screen.splitlines()) <= 42
    assert "$ uv run manage.py demo" in first_screen


def test_the_commands_of_a_checkout_are_those_that_ci_runs():
    """They install and serve for ever, so that they are run elsewhere: in `.ci/run`, literally."""
    elsewhere = [s.command for s in steps() if not s.command.startswith(("curl", "python manage"))]
    assert elsewhere == [
        "python -m pip install uv",
        "uv run manage.py demo",
        "KEY=$(python manage.py agent_key create core scribe)",
        "uv run pytest",
    ]
    ci = (ROOT / ".ci/run").read_text(encoding="utf-8")
    for words in ("pip install --quiet uv", "uv run manage.py demo", "uv run --quiet pytest"):
        assert words in ci


def test_three_steps_make_a_site_a_memory_and_the_curl_lines_answer_as_shown(site):
    commands = [s for s in steps() if s.command.startswith(("curl", "python manage", "KEY="))]
    assert [s.command.split()[0] for s in commands].count("curl") >= 4
    for command, shown in commands:
        if command.startswith("curl"):
            site.serve()
        printed = site.run(command)
        if shown:
            assert settled(printed) == settled(shown), command


def test_the_settings_table_is_the_settings():
    rows = re.findall(r"^\| `AGENT_MEMORY_(\w+)` \| `(.+?)` \| (.+) \|$", README, re.MULTILINE)
    assert all(meaning.strip() for _name, _default, meaning in rows)
    shown = {name.lower(): ast.literal_eval(default) for name, default, _meaning in rows}
    assert len(shown) == len(rows)
    properties = [name for name, value in vars(Settings).items() if isinstance(value, property)]
    with override_settings():
        defaults = {name: getattr(Settings(), name) for name in properties}
    assert shown == defaults


def test_the_verbs_and_links_are_there():
    for verb in ("remember", "recall", "forget", "list_memories", "search", "index_note"):
        assert f"| `{verb}(" in README
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\((?!http)([^)#]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / link).exists(), f"{document.name}: {link}"
