"""What a session has to itself is in no list and on no page of the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from django_agent_memory import Memory
from django_agent_memory.models import Note, Revision

pytestmark = pytest.mark.django_db


def test_lists_and_pages_show_what_all_share(admin_client: Any) -> None:
    Memory("core").remember("shared/fact", "All know it", "x")
    Memory("core", session="s1").remember("private/plan", "Only mine", "secret", persist=False)
    for name in ("note", "revision"):
        page = admin_client.get(reverse(f"admin:agent_memory_{name}_changelist"))
        assert b"shared/fact" in page.content
        assert b"private/plan" not in page.content
    for name, rows in (("note", Note.objects.private()), ("revision", Revision.objects.all())):
        pk = rows.get(key="private/plan").pk
        page = admin_client.get(reverse(f"admin:agent_memory_{name}_change", args=[pk]))
        assert page.status_code == 302
