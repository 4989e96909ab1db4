"""The pages under docs say what is so: their Python runs and shows what they show."""

from __future__ import annotations

import re

import pytest

from .pages import DOCS, executed, has_python, page

LINK = re.compile(r"\]\(([^)#]+)")
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
EXECUTED = ["access.md", "durable-runs.md", "prompts.md", "sources.md"]
WITH_FRAMEWORKS = {"agents.md"}  # executed by tests/agents, which has an environment of its own


@pytest.mark.django_db
@pytest.mark.parametrize("name", EXECUTED)
def test_the_blocks_of_a_page_run_in_order(name: str) -> None:
    executed(page(name), least_shown=1)


def test_every_page_with_python_is_executed() -> None:
    with_python = {name for name in PAGES if has_python(page(name))}
    assert with_python == {*EXECUTED, *WITH_FRAMEWORKS}


@pytest.mark.parametrize("name", PAGES)
def test_no_link_leads_nowhere(name: str) -> None:
    for target in LINK.findall(page(name)):
        assert "://" in target or (DOCS / target).exists(), target
