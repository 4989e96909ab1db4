"""What goes for good: redacted and erased by those who may, once it was typed."""

from __future__ import annotations

from pathlib import Path

from django.contrib.auth.models import Permission, User
from playwright.sync_api import Page, expect

from django_agent_memory.memory import Memory
from django_agent_memory.models import Revision
from django_agent_memory.transfer import export_jsonl

from .conftest import Visit
from .steps import address, go, press, says


def test_a_past_is_redacted_and_a_key_erased(page: Page, memory: Memory) -> None:
    memory.remember("k", "s", "the old secret")
    memory.remember("k", "s", "nothing to hide")
    page.goto(address(memory, "note", "change"))
    go(page, "History")
    go(page, "Redact…")
    page.get_by_label("Key:").fill("K")
    page.get_by_label("Reason:").fill("A secret was in it")
    press(page, "Redact for good")
    assert Revision.objects.filter(body="the old secret").exists()
    page.get_by_label("Key:").fill("k")
    press(page, "Redact for good")
    says(page, "Redacted. Revisions: 1.")
    assert not Revision.objects.filter(body="the old secret").exists()
    assert memory.recall("k") is not None
    page.goto(address(memory, "note", "change"))
    go(page, "Erase…")
    page.get_by_label("Key:").fill("k")
    page.get_by_label("Reason:").fill("Asked for by its owner")
    press(page, "Erase for good")
    says(page, "Erased.")
    assert memory.recall("k") is None
    assert memory.history("k") == ()


def test_who_may_do_anything_else_erases_nothing(visit: Visit, memory: Memory) -> None:
    memory.remember("k", "s", "b")
    user = User.objects.create_user(f"bob-{memory.path}", "", "pw", is_staff=True)
    rights = Permission.objects.filter(content_type__app_label="agent_memory")
    user.user_permissions.set(rights.exclude(codename__in=("erase_workspace", "redact_workspace")))
    page = visit(user)
    page.goto(address(memory, "note", "change"))
    expect(page.locator("#content").get_by_role("link", name="History", exact=True)).to_be_visible()
    for name in ("Erase…", "Redact…"):
        expect(page.locator("#content").get_by_role("link", name=name)).to_have_count(0)


def test_a_workspace_is_exported(page: Page, memory: Memory, tmp_path: Path) -> None:
    memory.remember("k", "s", "béta\u2028")
    page.goto(address(memory, "workspace", "index"))
    with page.expect_download() as download:
        go(page, "Export")
    file = tmp_path / "export"
    download.value.save_as(file)
    assert file.read_bytes() == b"".join(export_jsonl(memory.path, using="default"))
