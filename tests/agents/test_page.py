"""docs/agents.md says what is so of LangGraph; of the others see `test_agents_page`."""

from __future__ import annotations

import asyncio
import doctest
import re
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from tests.test_docs import BLOCK, DOCS

from . import langmem_tools  # noqa: F401  (so that its warnings are not those of the page)

SECTION = re.compile(r"^## (.+)$", re.MULTILINE)


def sections() -> dict[str, str]:
    """Return the text of each section by its heading."""
    _, *parts = SECTION.split((DOCS / "agents.md").read_text(encoding="utf-8"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("heading", ["LangGraph"])
def test_the_blocks_of_a_section_run_in_order(
    heading: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asyncio, "run", closing(asyncio.run))
    names: dict[str, Any] = {}
    runner = doctest.DocTestRunner()
    for language, block in BLOCK.findall(sections()[heading]):
        if language == "python":
            exec(block, names)
            continue
        examples = doctest.DocTestParser().get_doctest(block, names, heading, heading, 0)
        runner.run(examples, clear_globs=False)
        names.update(examples.globs)
    assert runner.tries > 0
    assert runner.failures == 0


def closing(run: Any) -> Any:
    """Return `asyncio.run`, closing the connections of the thread that its statements ran in."""

    async def whole(work: Any) -> Any:
        try:
            return await work
        finally:
            await sync_to_async(connections.close_all)()

    return lambda work: run(whole(work))
