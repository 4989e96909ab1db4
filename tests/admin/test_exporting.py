"""The file of a workspace, from its page in the admin."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.admin.models import LogEntry
from django.test import AsyncClient, Client

from django_agent_memory.admin import exporting
from django_agent_memory.memory import Memory
from django_agent_memory.transfer import export_jsonl
from django_agent_memory.writing import Save

from .conftest import url, workspace_of

NEEDED = ("view_note", "view_revision")


def file_of(browser: Client, memory: Memory) -> Any:
    return browser.get(url("workspace", "export", workspace_of(memory)))


@pytest.mark.parametrize("chunk", [1, 300, 1_000_000])
def test_it_is_that_of_the_command_without_private_notes(
    memory: Memory, admin: Client, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(exporting, "_CHUNK", chunk)
    memory.apply([Save(key=f"k{n}", body="é" * 50, summary="s") for n in range(9)])
    Memory("core", session="s1").remember("mine", "s", "secret", persist=False)
    response = file_of(admin, memory)
    assert response["Content-Type"] == "application/jsonl; charset=utf-8"
    assert response["Content-Disposition"] == 'attachment; filename="core.jsonl"'
    content = b"".join(response.streaming_content)
    assert content == b"".join(export_jsonl("core", using="default"))
    assert b"secret" not in content
    assert LogEntry.objects.get().get_change_message() == "Exported."


@pytest.mark.parametrize("missing", NEEDED)
def test_it_takes_the_rights_to_see_notes_and_their_past(
    memory: Memory, member: Any, missing: str
) -> None:
    memory.remember("k", "s", "b")
    browser = member("view_workspace", *[name for name in NEEDED if name != missing])
    assert file_of(browser, memory).status_code == 403
    page = browser.get(url("workspace", "index", workspace_of(memory))).content.decode()
    assert url("workspace", "export", workspace_of(memory)) not in page


def test_the_page_of_the_workspace_leads_to_it(memory: Memory, member: Any) -> None:
    memory.remember("k", "s", "b")
    browser = member("view_workspace", *NEEDED)
    page = browser.get(url("workspace", "index", workspace_of(memory))).content.decode()
    assert f'<a href="{url("workspace", "export", workspace_of(memory))}">Export</a>' in page
    assert file_of(browser, memory).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_it_is_sent_as_it_is_made_by_asgi_too(memory: Memory, operator: Any) -> None:
    memory.remember("k", "s", "b")
    browser = AsyncClient()
    browser.force_login(operator)
    address = url("workspace", "export", workspace_of(memory))

    async def fetch() -> bytes:
        response: Any = await browser.get(address)
        assert response.is_async
        return b"".join([chunk async for chunk in response.streaming_content])

    assert async_to_sync(fetch)() == b"".join(export_jsonl("core", using="default"))
