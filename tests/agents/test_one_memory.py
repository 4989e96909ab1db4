"""One memory for all: what one framework writes, every other way in sees."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.tools import ToolError
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from django_agent_memory import Memory
from django_agent_memory.adapters.anthropic import MemoryTool
from django_agent_memory.adapters.pydantic_ai import NoteStore
from django_agent_memory.admin import links
from django_agent_memory.models import Note
from tests.admin.browser import fields_of
from tests.api.conftest import Agent

pytestmark = pytest.mark.django_db(transaction=True)


def test_written_by_one_edited_by_another_searched_over_http_restored_in_the_admin() -> None:
    store = NoteStore(Memory("core", actor="pydantic"))
    tool = MemoryTool(Memory("core", actor="claude"))
    browser = Client()
    browser.force_login(User.objects.create_superuser("ada", "", "pw"))

    async_to_sync(store.write)("main/MEMORY.md", "likes tea\n", expected_version=None)
    edit = {"command": "str_replace", "path": "/memories/main/MEMORY.md"}
    tool.call({**edit, "old_str": "tea", "new_str": "coffee"})

    found = Agent().call("search", pattern="coffee").json()
    assert [match["key"] for match in found["matches"]] == ["main/MEMORY.md"]
    seen = async_to_sync(store.read)("main/MEMORY.md", max_chars=99)
    assert (seen.content, seen.version) == ("likes coffee\n", "2")

    note = Note.objects.get(key="main/MEMORY.md")
    page = browser.get(reverse("admin:agent_memory_note_change", args=[note.pk]))
    assert "likes coffee" in page.content.decode()
    restore(browser, "main/MEMORY.md", 1)

    assert tool.call({"command": "view", "path": "/memories/main/MEMORY.md"}).splitlines()[1:] == [
        "     1\tlikes tea",
        "     2\t",
    ]
    with pytest.raises(ToolError, match="did not appear verbatim"):
        tool.call({**edit, "old_str": "coffee", "new_str": "x"})
    actors = [line.actor for line in Memory("core").history("main/MEMORY.md")]
    assert actors[:2] == ["pydantic", "claude"]
    assert "ada" in actors[2]


def restore(browser: Client, key: str, number: int) -> Any:
    at = links.to_past("admin", "restore", "core", key, revision=number)
    done = browser.post(at, fields_of(browser.get(at)), follow=True)
    assert done.status_code == 200
    return done
