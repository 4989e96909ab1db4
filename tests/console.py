"""Pages with consoles: the commands they show, and a new site in which to run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from .ports import free_port, wait_for

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# Random or of the clock, in what a page shows and in what really comes.
VARYING = [
    (re.compile(r"dam_[\w-]+"), "dam_"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+"), "TIME"),
    (re.compile(r"notes/[0-9a-f]{32}"), "notes/MADE"),
]


class Step(NamedTuple):
    """A command of a page and what the page shows below it."""

    command: str
    output: str


def blocks(page: str, language: str) -> list[str]:
    """Return the page's blocks in this language, without the indentation of their list."""
    found = []
    for indent, name, text in BLOCK.findall(page):
        if name == language:
            found.append(re.sub(f"^{indent}", "", text, flags=re.MULTILINE))
    return found


def steps(page: str) -> list[Step]:
    """Return the commands of all console blocks, in order."""
    found = []
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _newline, output = part.partition("\n")
            found.append(Step(command, output))
    return found


def settled(text: str) -> str:
    """Return the text with what differs from run to run made equal."""
    for pattern, replacement in VARYING:
        text = pattern.sub(replacement, text)
    return text.rstrip("\n")


def new_site(folder: Path) -> Shell:
    """Return a shell in a new Django project, made a memory by what the README says of its files.

    Raises where a Python block of the README does not say which file it is for.
    """
    shell = Shell(folder, port=free_port())
    shell.run("python -m django startproject mysite .")
    for block in blocks(README, "python"):
        target = re.match(r"# (settings|urls)\.py\n", block)
        assert target, f"which file is this for? {block}"
        with (folder / "mysite" / f"{target[1]}.py").open("a", encoding="utf-8") as file:
            file.write(block)
    return shell


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
