"""What was: the timeline of a key, comparing, restoring, rolling back."""

from __future__ import annotations

import datetime

from django.utils import timezone
from playwright.sync_api import Page, expect

from django_agent_memory.memory import Memory
from django_agent_memory.models import Revision

from .steps import address, go, press, says


def test_revisions_are_compared_and_one_is_restored(page: Page, memory: Memory) -> None:
    for body in ("one\nline", "two\nline", "three\nline"):
        memory.remember("k", f"line {body[:3]}", body)
    page.goto(address(memory, "note", "change"))
    go(page, "History")
    expect(page.locator(".agent-memory-timeline tbody tr")).to_have_count(3)
    page.get_by_label("Compare A: revision 1").check()
    press(page, "Compare A and B")
    expect(page.locator("#content h1")).to_have_text("Revisions 1 and 3")
    expect(page.locator(".agent-memory-sides del").last).to_contain_text("one")
    page.get_by_label("A", exact=True).fill("2")
    press(page, "Compare")
    expect(page.locator("#content h1")).to_have_text("Revisions 2 and 3")
    page.go_back()
    page.go_back()
    page.get_by_label("Restore revision 1…").click()
    expect(page.locator("#content")).to_contain_text("The note will say again what it said then.")
    memory.remember("k", "line four", "four\nline")
    page.get_by_label("Reason:").fill("It was right.")
    press(page, "Restore")
    expect(page.get_by_role("alert")).to_contain_text("The key was written to after you looked")
    expect(page.get_by_label("Reason:")).to_have_value("It was right.")
    assert memory.recall("k").body == "four\nline"
    press(page, "Restore")
    says(page, "restored")
    last = list(memory.history("k"))[-1]
    assert (last.body, last.actor, last.reason) == ("one\nline", "ada", "It was right.")


def test_an_actor_is_rolled_back(page: Page, memory: Memory) -> None:
    memory.remember("k", "s", "right")
    memory.remember("other", "s", "right")
    past = timezone.now() - datetime.timedelta(days=2)
    Revision.objects.filter(workspace__path=memory.path).update(created_at=past)
    rogue = Memory(memory.path, actor="rogue")
    rogue.remember("k", "s", "wrong")
    rogue.remember("new", "s", "wrong")
    rogue.remember("other", "s", "wrong")
    memory.remember("other", "s", "mended")
    page.goto(address(memory, "workspace", "change"))
    go(page, "Roll back…")
    page.get_by_label("Actor:").fill("rogue")
    yesterday = timezone.localtime(timezone.now() - datetime.timedelta(days=1))
    page.get_by_label("Since:").fill(yesterday.strftime("%Y-%m-%dT%H:%M:%S"))
    page.get_by_label("Reason:").fill("It was confused.")
    press(page, "Show what changes")
    expect(page.locator("#content")).to_contain_text("2 keys will be rolled back")
    expect(page.locator("#content")).to_contain_text("1 key is left alone")
    press(page, "Change the choice")
    expect(page.get_by_label("Reason:")).to_have_value("It was confused.")
    press(page, "Show what changes")
    rogue.remember("k", "s", "wrong again")
    press(page, "Roll back")
    says(page, "Something was written after you looked")
    press(page, "Roll back")
    says(page, "2 notes were rolled back.")
    assert memory.recall("k").body == "right"
    assert memory.recall("new") is None
    assert memory.recall("other").body == "mended"
