"""The README says what is so: its Python, its commands, its curl lines, its tables."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator

import pytest
from django.test import override_settings

from django_agent_memory.conf import Settings

from .console import README, ROOT, Shell, blocks, new_site, settled, steps


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Shell]:
    """A new Django project, made a memory by the README's three steps, and a shell in it."""
    shell = new_site(tmp_path_factory.mktemp("readme"))
    yield shell
    shell.close()


@pytest.mark.django_db
def test_python_prints_what_is_shown():
    text = "\n".join(blocks(README, "pycon"))
    examples = doctest.DocTestParser().get_doctest(text, {}, "README.md", None, 0)
    assert len(examples.examples) >= 8
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(examples, out=said.append)
    assert not runner.failures, "".join(said)


def test_the_first_example_has_eight_lines():
    assert blocks(README, "pycon")[0].count(">>> ") == 8


def test_the_first_screen_holds_the_example_and_the_two_commands():
    first_screen = README[: README.index("## ")]
    assert len(first_screen.splitlines()) <= 42
    assert "$ uv run manage.py demo" in first_screen


def test_the_commands_of_a_checkout_are_those_that_ci_runs():
    """They install and serve for ever, so that they are run elsewhere: in `.ci/run`, literally."""
    elsewhere = [
        s.command for s in steps(README) if not s.command.startswith(("curl", "python manage"))
    ]
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
    commands = [s for s in steps(README) if s.command.startswith(("curl", "python manage", "KEY="))]
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
