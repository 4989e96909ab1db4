"""The pages under docs say what is so: their Python runs and shows what they show."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)")
EXECUTED = ["access.md", "durable-runs.md", "prompts.md", "sources.md"]


@pytest.mark.django_db
@pytest.mark.parametrize("page", EXECUTED)
def test_the_blocks_of_a_page_run_in_order(page: str) -> None:
    names: dict[str, Any] = {}
    runner = doctest.DocTestRunner()
    for language, text in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        if language == "python":
            exec(text, names)
            continue
        examples = doctest.DocTestParser().get_doctest(text, names, page, page, 0)
        runner.run(examples, clear_globs=False)
        names.update(examples.globs)
    assert runner.tries > 0
    assert runner.failures == 0


def test_every_page_with_python_is_executed() -> None:
    with_python = {page.name for page in DOCS.glob("*.md") if BLOCK.search(page.read_text())}
    # Those of agents.md need the frameworks: tests/agents runs them.
    assert with_python == {*EXECUTED, "agents.md"}


@pytest.mark.parametrize("page", sorted(page.name for page in DOCS.glob("*.md")))
def test_no_link_leads_nowhere(page: str) -> None:
    for target in LINK.findall((DOCS / page).read_text(encoding="utf-8")):
        assert "://" in target or (DOCS / target).exists(), target
