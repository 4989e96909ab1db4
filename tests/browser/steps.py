"""What operators do again and again."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

from django_agent_memory.admin import links
from django_agent_memory.memory import Memory
from django_agent_memory.models import Note, Workspace


def address(memory: Memory, model: str, page: str, key: str = "k") -> str:
    """Return the address of a page of the workspace, or of a note in it."""
    return links.to_page("admin", model, page, row(memory, model, key).pk)


def row(memory: Memory, model: str, key: str = "k") -> Any:
    """Return the workspace, or a note in it."""
    if model == "workspace":
        return Workspace.objects.get(path=memory.path)
    return Note.objects.get(workspace__path=memory.path, key=key)


def choose_workspace(page: Page, path: str) -> None:
    """Type the path into the field that completes it, and take what it offers."""
    page.locator(".select2-selection").click()
    page.locator(".select2-search__field").fill(path)
    page.locator(".select2-results__option", has_text=path).first.click()


def press(page: Page, name: str) -> None:
    """Click the button of this name."""
    page.get_by_role("button", name=name, exact=True).click()


def go(page: Page, name: str) -> None:
    """Follow the link of this name in the page itself."""
    page.locator("#content").get_by_role("link", name=name, exact=True).click()


def says(page: Page, text: str) -> None:
    """Check that a message says so."""
    expect(page.locator(".messagelist")).to_contain_text(text)


def tab_to(page: Page, wanted: Locator) -> None:
    """Move the focus there by the keyboard."""
    for _ in range(100):
        page.keyboard.press("Tab")
        if wanted.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError(f"{wanted} cannot be reached")
