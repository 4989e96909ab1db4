"""Notes, as an operator writes, finds and forgets them."""

from __future__ import annotations

from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from django_agent_memory.admin import links
from django_agent_memory.memory import Memory
from django_agent_memory.writing import Save

from .conftest import Visit
from .steps import address, choose_workspace, go, press, says, tab_to

BODY = "First line\n  second line, €\n\n<b>third</b>"


def test_somebody_logs_in_and_adds_a_note(visit: Visit, memory: Memory) -> None:
    memory.configure(title="A place")
    page = visit()
    page.context.clear_cookies()
    page.goto("/admin/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("pw")
    press(page, "Log in")
    page.locator("#content").get_by_role("link", name="Notes", exact=True).click()
    page.get_by_role("link", name="Add note").click()
    choose_workspace(page, memory.path)
    page.get_by_label("Key:").fill("user/name")
    page.get_by_label("Summary:").fill("Who it is")
    page.get_by_label("Body:").fill(BODY)
    page.get_by_label("Reason:").fill("She told me.")
    page.get_by_text("What is known of it").click()
    page.get_by_label("Kind:").fill("fact")
    press(page, "Save")
    says(page, "was added successfully")
    expect(page.locator("#result_list")).to_contain_text("user/name")
    note = memory.recall("user/name")
    assert (note.body, note.summary, note.kind) == (BODY, "Who it is", "fact")
    assert [(one.actor, one.reason) for one in memory.history("user/name")] == [
        ("ada", "She told me.")
    ]


def test_an_agent_writes_while_somebody_edits(page: Page, memory: Memory) -> None:
    memory.remember("k", "s", "one\ntwo")
    page.goto(address(memory, "note", "change"))
    memory.remember("k", "s of the agent", "one\nof the agent")
    page.get_by_label("Body:").fill(BODY)
    page.get_by_label("Summary:").fill("mine")
    page.get_by_label("Reason:").fill("because")
    press(page, "Save")
    expect(page.locator("#content")).to_contain_text("This note was changed after you opened it.")
    expect(page.locator("#content del").first).to_contain_text("s of the agent")
    expect(page.get_by_label("Body:")).to_have_value(BODY)
    expect(page.get_by_label("Summary:")).to_have_value("mine")
    expect(page.get_by_label("Reason:")).to_have_value("because")
    assert memory.recall("k").body == "one\nof the agent"
    press(page, "Replace what is stored")
    says(page, "was changed successfully")
    assert memory.recall("k").body == BODY
    assert [one.actor for one in memory.history("k")] == ["scribe", "scribe", "ada"]


def test_two_people_and_an_agent_edit_at_once(visit: Visit, memory: Memory) -> None:
    memory.remember("k", "s", "one")
    bob = User.objects.create_superuser("bob", "", "pw")
    theirs, hers = visit(bob), visit()
    for page, text in ((theirs, "of bob"), (hers, "of ada")):
        page.goto(address(memory, "note", "change"))
        page.get_by_label("Body:").fill(text)
    press(theirs, "Save")
    says(theirs, "was changed successfully")
    press(hers, "Save")
    expect(hers.locator("#content del")).to_contain_text("of bob")
    memory.remember("k", "s", "of the agent")
    press(hers, "Replace what is stored")
    expect(hers.locator("#content del")).to_contain_text("of the agent")
    expect(hers.get_by_label("Body:")).to_have_value("of ada")
    press(hers, "Replace what is stored")
    says(hers, "was changed successfully")
    said = [(one.actor, one.body) for one in memory.history("k")]
    assert said[1:] == [("bob", "of bob"), ("scribe", "of the agent"), ("ada", "of ada")]
    theirs.goto(address(memory, "note", "change"))
    theirs.get_by_label("Body:").fill("of bob again")
    memory.forget("k")
    press(theirs, "Save")
    expect(theirs.locator("#content")).to_contain_text("This note was forgotten in the meantime.")
    press(theirs, "Store it again")
    assert memory.recall("k").body == "of bob again"


def test_notes_are_forgotten_and_brought_back(page: Page, memory: Memory) -> None:
    memory.apply([Save(key=f"k{n}", summary=f"line {n}", body="b") for n in range(5)])
    page.goto(address(memory, "note", "change", "k0"))
    go(page, "Forget…")
    page.get_by_label("Reason:").fill("not so")
    press(page, "Forget it")
    says(page, "1 note was forgotten.")
    assert list(memory.keys()) == ["k1", "k2", "k3", "k4"]
    page.goto(links.to_list("admin", "note", workspace=memory.path))
    page.check("#action-toggle")
    page.locator("tr", has_text="line 2").get_by_role("checkbox").uncheck()
    page.get_by_label("Action:").select_option("Forget selected notes")
    press(page, "Run")
    expect(page.locator("#content")).to_contain_text("3 notes will be forgotten.")
    press(page, "Forget them")  # The browser itself asks for the reason.
    assert len(memory.keys()) == 4
    page.get_by_label("Reason:").fill("all of them wrong")
    press(page, "Forget them")
    says(page, "3 notes were forgotten.")
    assert list(memory.keys()) == ["k2"]
    page.locator(".messagelist").get_by_role("link", name="Undo…").click()
    expect(page.locator("#content")).to_contain_text("all of them wrong")
    press(page, "Undo")
    says(page, "3 notes")
    assert list(memory.keys()) == ["k1", "k2", "k3", "k4"]
    assert memory.recall("k3").summary == "line 3"


def test_notes_are_searched_filtered_sorted_and_paged(page: Page, memory: Memory) -> None:
    memory.apply(
        [
            Save(key=f"k{n:03}", summary=f"s{n}", body="x" * n + "100%", kind="odd" * (n % 2))
            for n in range(1, 31)
        ]
    )
    rows = page.locator("#result_list tbody tr")
    keys = page.locator("#result_list .field-shown_key")
    page.goto(links.to_list("admin", "note"))
    page.locator("#changelist-filter").get_by_role("link", name=memory.path, exact=True).click()
    expect(rows).to_have_count(30)
    page.locator("#changelist-filter").get_by_role("link", name="25", exact=True).click()
    expect(rows).to_have_count(25)
    page.locator(".paginator").get_by_role("button", name="2").click()
    expect(rows).to_have_count(5)
    page.locator("#changelist-filter").get_by_role("link", name="odd", exact=True).click()
    expect(rows).to_have_count(15)
    page.locator("#searchbar").fill("XX100%")
    press(page, "Search")
    expect(rows).to_have_count(14)
    for first in ("k029", "k003"):
        page.locator("th.column-shown_key .text a").click()
        expect(keys.first).to_have_text(first)
    page.locator("#searchbar").fill("100% more")
    press(page, "Search")
    expect(rows).to_have_count(0)


def test_the_keyboard_is_enough(page: Page, memory: Memory) -> None:
    memory.configure(title="A place")
    page.goto(links.to_list("admin", "note"))
    tab_to(page, page.get_by_role("link", name="Add note"))
    page.keyboard.press("Enter")
    tab_to(page, page.locator(".select2-selection"))
    page.keyboard.press("Enter")
    page.keyboard.type(memory.path)
    expect(page.locator(".select2-results__option--highlighted")).to_have_text(memory.path)
    page.keyboard.press("Enter")
    for label, text in (("Key:", "typed"), ("Summary:", "By hand"), ("Body:", "a\nb")):
        tab_to(page, page.get_by_label(label))
        page.keyboard.type(text)
    tab_to(page, page.get_by_role("button", name="Save and continue editing"))
    page.keyboard.press("Enter")
    says(page, "was added successfully")
    assert memory.recall("typed").body == "a\nb"
    tab_to(page, page.get_by_role("link", name="Forget…"))
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_label("Reason:"))
    page.keyboard.type("Enough.")
    page.keyboard.press("Enter")
    says(page, "1 note was forgotten.")
    tab_to(page, page.get_by_role("link", name="Undo…"))
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_role("button", name="Undo"))
    page.keyboard.press("Space")
    says(page, "1 note")
    assert memory.recall("typed").summary == "By hand"
