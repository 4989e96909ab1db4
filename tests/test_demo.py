"""`manage.py demo` in a process of its own, on a database of its own, as the README says it."""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import socket
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .ports import free_port, wait_for

ROOT = Path(__file__).resolve().parent.parent


def environment(database: Path) -> dict[str, str]:
    """Return an environment without this suite's settings."""
    kept = {"PATH": os.environ["PATH"], "HOME": str(database.parent)}
    return {**kept, "DEMO_DATABASE": str(database), "PYTHONWARNINGS": "error", "LANG": "C.UTF-8"}


def manage(database: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment(database) | extra,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def rows(database: Path) -> dict[str, int]:
    """Return how many rows of each kind the memory holds."""
    code = (
        "import json; from django.apps import apps; "
        "models = apps.get_app_config('agent_memory').get_models(); "
        "print(json.dumps({m.__name__: m.objects.count() for m in models}))"
    )
    done = manage(database, "shell", "--no-imports", "-c", code)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def served(database: Path, port: int) -> Iterator[str]:
    """Run the demo and yield what it prints before it serves; end it afterwards."""
    with subprocess.Popen(
        [sys.executable, "manage.py", "demo", "--port", str(port)],
        cwd=ROOT,
        env=environment(database),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            printed = []
            for line in server.stdout:
                printed.append(line)
                if line.startswith("Every run"):  # the last line, said before it serves
                    break
            wait_for(port)
            yield "".join(printed)
        finally:
            server.terminate()


def test_twice_makes_nothing_new_and_prints_a_login_and_a_key_that_work(tmp_path):
    database = tmp_path / "db.sqlite3"
    first = manage(database, "demo", "--no-serve")
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("Workspaces filled: core, support/desk.\n")
    before = rows(database)
    assert before["Workspace"] == 3
    assert before["Note"] >= 12
    assert before["Revision"] > before["Note"]
    assert_asked(first.stdout)
    second = manage(database, "demo", "--no-serve")
    assert second.returncode == 0, second.stderr
    assert second.stdout.startswith("Workspaces filled: none, they were there.\n")
    assert rows(database) == before | {"AgentKey": before["AgentKey"] + 1}
    assert "lessons in project: 0 added, 0 updated, 8 unchanged, 0 removed\n" in second.stdout
    keys = manage(database, "agent_key", "list").stdout.splitlines()
    assert "usable" in keys[1]
    assert "revoked" in keys[2]
    assert "user admin, password " in second.stdout


def assert_asked(printed: str) -> None:
    """See the sources' counts, and an answer whose score is the sum of its parts."""
    assert "lessons in project: 8 added, 0 updated, 0 unchanged, 0 removed\n" in printed
    pages = len([*(ROOT / "docs").rglob("*.md")])
    assert f"handbook in project: {pages} added, 0 updated, 0 unchanged, 0 removed\n" in printed
    commits = r"[1-9]\d*" if (ROOT / ".git").exists() else "0"
    assert re.search(rf"^history in project: {commits} added, 0 updated", printed, re.MULTILINE)
    lines = printed[printed.index("find(") :].splitlines()
    assert lines[1].startswith("  1. Joon: the payment provider sends each webhook twice;")
    for line in (lines[2], lines[4]):
        score, _, parts = line.strip().partition(" = ")
        values = [float(part.split()[0]) for part in parts.split(" + ")]
        assert len(values) >= 4
        assert abs(float(score) - sum(values)) < 0.03


def test_a_taken_port_is_one_sentence_and_nothing_is_written(tmp_path):
    database = tmp_path / "db.sqlite3"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        done = manage(database, "demo", "--port", str(port))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        f"CommandError: Port {port} is taken; stop what uses it or take another, as --port 8000.\n"
    )
    assert not database.exists()


def test_a_port_that_cannot_be_is_one_sentence(tmp_path):
    done = manage(tmp_path / "db.sqlite3", "demo", "--port", "65536")
    assert done.stderr == "CommandError: --port must be 1 to 65535, not 65536.\n"


def test_the_demo_refuses_to_run_as_a_deployment(tmp_path):
    done = manage(
        tmp_path / "db.sqlite3",
        "demo",
        DEMO_PRODUCTION="1",
        DEMO_SECRET_KEY="x" * 64,
        DEMO_HOSTS="memory.example.org",
    )
    assert done.returncode == 1
    assert done.stderr.endswith("unset DEMO_PRODUCTION.\n")


def test_production_settings_pass_the_deployment_checks(tmp_path):
    done = manage(
        tmp_path / "db.sqlite3",
        "check",
        "--deploy",
        "--fail-level",
        "INFO",
        DEMO_PRODUCTION="1",
        DEMO_SECRET_KEY="0123456789abcdefghijklmnopqrstuvwxyz-and-some-more-characters",
        DEMO_HOSTS="memory.example.org",
    )
    assert done.returncode == 0, done.stderr


def test_the_settings_stay_short():
    assert len((ROOT / "demo_project/settings.py").read_text().splitlines()) <= 60


def test_served_the_printed_curl_lines_and_the_login_work(tmp_path):
    port = free_port()
    with served(tmp_path / "db.sqlite3", port) as printed:
        answers = [shell(line) for line in printed.splitlines() if line.startswith("curl ")]
        index, recalled, found, saved = answers
        assert index.startswith("[memory index]\n- decisions/2026-05-bank: Decided on 2026-05-06:")
        assert "no calls before 10:00 Lisbon time" in index
        assert "trips/porto" not in index
        assert json.loads(recalled)["body"].startswith("- Short answers first")
        assert json.loads(found)["total"] == 2
        assert json.loads(saved)["text"] == 'saved "user/tea".'
        index_line = next(line for line in printed.splitlines() if line.startswith("curl "))
        assert "- user/tea: Drinks green tea, never coffee" in shell(index_line)
        username, password = re.findall(r"user (\w+), password (\w+)", printed)[0]
        assert_admin_opens(f"http://127.0.0.1:{port}", username, password)


def shell(line: str) -> str:
    """Paste the line into a shell and return what it prints."""
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=30, check=True
    )
    return done.stdout


def assert_admin_opens(site: str, username: str, password: str) -> None:
    """Log in from the site's first page, see the memory's models and a static file."""
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    login = browser.open(site)
    assert login.geturl().startswith(f"{site}/admin/login/")
    token = next(cookie.value for cookie in jar if cookie.name == "csrftoken")
    form = {"username": username, "password": password, "csrfmiddlewaretoken": token or ""}
    home = browser.open(login.geturl(), urllib.parse.urlencode(form).encode())
    assert home.geturl() == f"{site}/admin/"
    page = home.read().decode()
    assert "/admin/agent_memory/workspace/" in page
    assert "/admin/agent_memory/note/" in page
    assert browser.open(f"{site}/static/admin/css/base.css").status == 200
