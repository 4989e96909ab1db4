"""Agent keys and grants, made and taken back."""

from __future__ import annotations

from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from django_agent_memory.admin import links
from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey

from .conftest import Visit
from .steps import choose_workspace, go, press, says


def test_a_key_is_made_shown_once_replaced_and_revoked(page: Page, memory: Memory) -> None:
    memory.remember("k", "The line", "b")

    def index(secret: str) -> int:
        headers = {"Authorization": f"Bearer {secret}"}
        return page.context.request.get("/memory/index/", headers=headers).status

    page.goto(links.to_add("admin", "agentkey"))
    choose_workspace(page, memory.path)
    page.get_by_label("Name:").fill("assistant")
    page.get_by_label("Access:").select_option("read")
    press(page, "Save")
    first = page.locator(".agent-memory-secret").inner_text()
    assert index(first) == 200
    page.reload()  # The form is sent again.
    says(page, "This key was already issued")
    assert first not in page.content()
    made = AgentKey.objects.get(workspace__path=memory.path)
    page.goto(links.to_page("admin", "agentkey", "change", made.pk))
    go(page, "Replace…")
    page.get_by_label("Hours").fill("1")
    press(page, "Replace the key")
    second = page.locator(".agent-memory-secret").inner_text()
    assert (index(first), index(second)) == (200, 200)
    page.get_by_role("link", name="I have copied it").click()
    page.goto(links.to_page("admin", "agentkey", "change", made.pk))
    go(page, "Revoke…")
    press(page, "Revoke")
    says(page, "1 key was revoked.")
    assert (index(first), index(second)) == (401, 200)
    page.goto(links.to_list("admin", "agentkey", workspace=memory.path))
    page.check("#action-toggle")
    page.get_by_label("Action:").select_option("Revoke selected agent keys")
    press(page, "Run")
    press(page, "Revoke")
    says(page, "1 key was revoked.")
    assert index(second) == 401


def test_a_grant_opens_one_workspace_to_somebody(visit: Visit, memory: Memory) -> None:
    memory.remember("k", "The line", "b")
    carol = User.objects.create_user("carol", "", "pw", is_staff=True)
    page, theirs = visit(), visit(carol)
    theirs.goto("/admin/")
    expect(theirs.locator("#content")).to_contain_text("You don’t have permission")
    page.goto(links.to_add("admin", "grant"))
    choose_workspace(page, memory.path)
    with page.expect_popup() as popup:
        page.locator("#lookup_id_user").click()
    popup.value.get_by_role("link", name="carol", exact=True).click()
    expect(page.locator("#id_user")).to_have_value(str(carol.pk))
    press(page, "Save")
    says(page, "was added successfully")
    theirs.goto(links.to_list("admin", "note"))
    expect(theirs.locator("#result_list tbody tr")).to_have_count(1)
    theirs.get_by_role("link", name="k", exact=True).click()
    expect(theirs.locator("#content")).to_contain_text("The line")
    expect(theirs.get_by_role("button", name="Save")).to_have_count(0)
    page.goto(links.to_list("admin", "grant", workspace=memory.path))
    page.get_by_role("link", name="carol").click()
    press(page, "Delete")
    press(page, "Yes, I’m sure")
    theirs.goto("/admin/")
    expect(theirs.locator("#content")).to_contain_text("You don’t have permission")
