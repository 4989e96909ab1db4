"""Notes that say the same: found, compared, made one, and apart again."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from django_agent_memory.memory import Memory

from .steps import address, go, press, says


def test_duplicates_are_merged_and_come_apart_again(page: Page, memory: Memory) -> None:
    first = "Returns are taken within thirty days, opened or not, at any of our shops."
    memory.remember("policy/returns", "Returns", first)
    memory.remember("policy/returns-2", "Returns again", f"{first} Ask first.")
    memory.remember("other", "s", "Nothing alike.")
    page.goto(address(memory, "workspace", "change"))
    go(page, "Duplicates")
    expect(page.locator("#content")).to_contain_text("2 notes")
    press(page, "Compare and merge…")
    page.get_by_label("policy/returns (").check()
    page.get_by_label("with the other texts below it").check()
    page.get_by_label("Reason:").fill("One is enough")
    press(page, "Show what would happen")
    expect(page.locator("#content")).to_contain_text("They become one note: policy/returns.")
    # An agent writes before it is confirmed: shown anew, with what was chosen.
    memory.remember("policy/returns-2", "Returns again", f"{first} Receipt needed.")
    press(page, "Merge them")
    assert len(memory.keys()) == 3
    if page.get_by_role("button", name="Show what would happen").count():
        expect(page.get_by_label("Reason:")).to_have_value("One is enough")
        press(page, "Show what would happen")
    press(page, "Merge them")
    says(page, "1 note was merged into another.")
    assert list(memory.keys()) == ["other", "policy/returns"]
    merged = memory.recall("policy/returns")
    assert merged is not None
    assert "Receipt needed." in str(merged.body)
    press(page, "Undo")
    says(page, "1 note was brought back. 1 note is again as it was before.")
    assert list(memory.keys()) == ["other", "policy/returns", "policy/returns-2"]
    again = memory.recall("policy/returns")
    assert again is not None
    assert again.body == first
