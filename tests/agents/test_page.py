"""docs/agents.md says what is so of LangGraph; of the others see `test_agents_page`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from tests.pages import executed, section

from . import langmem_tools  # noqa: F401  (so that its warnings are not those of the page)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("heading", ["LangGraph"])
def test_the_blocks_of_a_section_run_in_order(
    heading: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asyncio, "run", closing(asyncio.run))
    executed(section("agents.md", heading), least_shown=1)


def closing(run: Any) -> Any:
    """Return `asyncio.run`, closing the connections of the thread that its statements ran in."""

    async def whole(work: Any) -> Any:
        try:
            return await work
        finally:
            await sync_to_async(connections.close_all)()

    return lambda work: run(whole(work))
