"""What agents store stays text on every page; pages run under a strict content policy."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client

from django_agent_memory.admin import links
from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey, Note, RecordedCall, Revision, Workspace

from .browser import fields_of
from .conftest import note_url, url, workspace_of

ATTACKS = [
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "</textarea></pre><svg onload=alert(1)>",
    "javascript:alert(1)",
    "<<{{ 7|add:7 }}>>{% now %}",
]
_EVIL = {"img"}


class _Tags(HTMLParser):
    """Collects what a page would run, load or style by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.found += [f"{tag} {name}" for name in given if name.startswith("on")]
        if "style" in given or tag == "style":
            self.found.append(f"{tag} style")
        if tag == "script" and not given.get("src") and given.get("type") != "application/json":
            self.found.append("inline script")
        if tag in _EVIL and "static" not in (given.get("src") or ""):
            self.found.append(tag)
        for name in ("src", "href", "action"):
            target = (given.get(name) or "").strip().lower()
            if target.startswith(("javascript:", "//", "http:", "https:")):
                self.found.append(f"{tag} {name}={target[:60]}")


def dangers(page: Any, *, ignore: tuple[str, ...] = ()) -> list[str]:
    tags = _Tags()
    tags.feed(page.content.decode())
    return [found for found in tags.found if not found.startswith(ignore)]


def every_page(admin: Client, memory: Memory) -> dict[str, Any]:
    """Open every page there is about this memory, the confirmations and the clash among them."""
    note = Note.objects.get(workspace__path=memory.path)
    opened = admin.get(url("note", "change", note))
    form = fields_of(opened)
    known: Any = dict.fromkeys(("kind", "slot", "subject", "context", "source"), note.key + "!")
    memory.remember(note.key, note.key + "!", note.body + "!", reason=note.key, **known)
    listed = {"_selected_action": note.pk, "index": "0"}
    key = AgentKey.objects.get()
    pages = {
        name: admin.get(url(name, "changelist"))
        for name in (
            *("note", "workspace", "revision", "agentkey", "grant", "recordedcall", "savedrule"),
        )
    }
    pages |= {
        f"add {name}": admin.get(url(name, "add"))
        for name in ("note", "workspace", "agentkey", "grant", "savedrule")
    }
    pages |= {
        "note page": admin.get(url("note", "change", note)),
        "forget": admin.get(url("note", "forget", note)),
        "forget many": admin.post(
            url("note", "changelist"), {**listed, "action": "forget_selected"}
        ),
        "clash": admin.post(url("note", "change", note), {**form, "body": note.key}),
        "refused": admin.post(url("note", "change", note), {**form, "expected_revision": "x"}),
        "workspace page": admin.get(url("workspace", "change", workspace_of(memory))),
        "agent sees": admin.get(url("workspace", "index", workspace_of(memory))),
        **{
            name: admin.get(url("workspace", name, workspace_of(memory)))
            for name in ("clear", "sessions", "check", "erase")
        },
        "revision page": admin.get(url("revision", "change", Revision.objects.first())),
        "next revision page": admin.get(
            url("revision", "change", Revision.objects.order_by("pk")[1])
        ),
        "key page": admin.get(url("agentkey", "change", key)),
        "revoke": admin.get(url("agentkey", "revoke", key)),
        "replace": admin.get(url("agentkey", "rotate", key)),
        "filtered": admin.get(
            url("revision", "changelist"), {"key": note.key, "workspace": note.key, "actor": "x"}
        ),
        "filtered notes": admin.get(
            url("note", "changelist"),
            dict.fromkeys(("q", "kind", "slot", "context", "workspace"), note.key),
        ),
        "searched": admin.get(url("note", "changelist"), {"q": note.key}),
        "issued": admin.post(
            url("agentkey", "add"),
            {"workspace": note.workspace_id, "name": note.key, "access": "read"},
        ),
        "call": admin.get(url("recordedcall", "change", RecordedCall.objects.get())),
        "home": admin.get("/admin/"),
        "app": admin.get("/admin/agent_memory/"),
        **pages_of_duplicates(admin, memory, note),
        **pages_of_the_past(admin, memory, note.key),
    }
    now = fields_of(admin.get(url("note", "change", note)))
    pages["saved"] = admin.post(
        url("note", "change", note), {**now, "body": note.key, "reason": note.key}, follow=True
    )
    pages["forgotten"] = admin.post(
        url("note", "forget", note),
        {**fields_of(admin.get(url("note", "forget", note))), "reason": note.key},
        follow=True,
    )
    pages["home again"] = admin.get("/admin/")
    return pages


def pages_of_duplicates(admin: Client, memory: Memory, note: Note) -> dict[str, Any]:
    """Open the pages about notes that say the same, and merge them."""
    note.refresh_from_db()
    known: Any = {"slot": note.slot, "source": note.source, "context": note.known.contexts}
    memory.remember(note.key + "1", note.key, note.body, **known)
    memory.remember(note.key + "2", note.key, f"{note.body} 2", **known)
    twins = Note.objects.filter(workspace=note.workspace).order_by("key")
    address = links.to_merge("admin", note.workspace_id, [twin.pk for twin in twins])
    pages = {
        "duplicates": admin.get(url("workspace", "duplicates", note.workspace)),
        "side by side": admin.get(address),
    }
    typed = {"survivor": note.pk, "reason": note.key, "text": "join"}
    sent = {**fields_of(pages["side by side"]), **typed}
    pages["merge refused"] = admin.post(address, {**sent, "text": note.key})
    pages["merge out of date"] = admin.post(address, {**sent, "seen": note.key})
    pages["merge preview"] = admin.post(address, sent)
    pages["merged"] = admin.post(address, fields_of(pages["merge preview"]), follow=True)
    return pages


def pages_of_the_past(admin: Client, memory: Memory, key: str) -> dict[str, Any]:
    """Open the pages about what was, with a conflict and a roll-back carried out."""
    at = {
        "timeline": links.to_past("admin", "timeline", memory.path, key),
        "compare": links.to_past("admin", "compare", memory.path, key, a=1, b=2),
        "restore": links.to_past("admin", "restore", memory.path, key, revision=1),
        "redact": links.to_past("admin", "redact", memory.path, key),
        "redact revision": links.to_past("admin", "redact", memory.path, key, revision=1),
        "erase": links.to_past("admin", "erase", memory.path, key),
        "roll back": url("workspace", "rollback", workspace_of(memory)),
    }
    pages = {name: admin.get(address) for name, address in at.items()}
    stale = {**fields_of(pages["restore"]), "reason": key, "expected_revision": "99"}
    pages["restore conflict"] = admin.post(at["restore"], stale)
    pages["restored"] = admin.post(
        at["restore"], {**fields_of(pages["restore"]), "reason": key}, follow=True
    )
    memory.remember(key, key, [key], reason=key)
    memory.remember(key + "2", key, key)
    for page, revision in (("redact", "x"), ("redact", "1"), ("erase", "x")):
        sent = {"typed": key, "reason": key, "expected_revision": revision}
        pages[f"{page} {revision} refused"] = admin.post(at[page], sent)
    asked = {"actor": memory.actor, "since": "2020-01-01T00:00:00", "reason": key}
    pages["preview"] = admin.post(at["roll back"], asked)
    confirmed = {"confirmed": pages["preview"].context["confirmed"]}
    pages["rolled back"] = admin.post(at["roll back"], {**asked, **confirmed}, follow=True)
    memory.remember(key, key + "!", key)
    return pages


@pytest.mark.parametrize("attack", ATTACKS)
def test_stored_text_is_inert_on_every_page(admin: Client, attack: str) -> None:
    memory = Memory("core", actor=attack)
    memory.configure(title=attack, description=attack)
    known: Any = dict.fromkeys(("kind", "slot", "subject", "context", "source"), attack)
    memory.remember(attack, attack, attack, reason=attack, **known)
    AgentKey.objects.issue(workspace="core", name=attack)
    Memory("core", actor=attack, run=attack).recall(attack)
    for name, page in every_page(admin, memory).items():
        assert page.status_code == 200, name
        assert dangers(page, ignore=("a href=http://testserver", "a href=https://")) == [], name
        assert "&lt;&lt;14" not in page.content.decode(), name


def test_damage_breaks_no_page(admin: Client) -> None:
    memory = Memory("core", actor="scribe")
    memory.remember("k", "s", [1])
    memory.remember("lost", "s", "b")
    AgentKey.objects.issue(workspace="core", name="scribe")
    memory.remember("k", None, {"a": 1})
    Note.objects.filter(key="lost").delete()
    Revision.objects.update(body="{", details="{")
    Note.objects.update(body="[1,", revision=99, contexts="[1,", weight=-1)
    Memory("core", run="r").recall("k")
    RecordedCall.objects.update(answer="{")
    Revision.objects.filter(number=1).update(operation="?")
    for name in ("note", "workspace", "revision", "agentkey", "grant", "recordedcall"):
        assert admin.get(url(name, "changelist")).status_code == 200
    for page in ("index", "index_text", "clear", "sessions", "check", "erase", "duplicates"):
        assert admin.get(url("workspace", page, workspace_of(memory))).status_code == 200
    for page in ("change", "forget"):
        assert admin.get(note_url(memory, "k", page)).status_code == 200
    past: dict[str, dict[str, int]] = {"timeline": {}, "redact": {}, "erase": {}}
    past |= {"compare": {"a": 1, "b": 3}, "restore": {"revision": 1}}
    for page, more in past.items():
        address = links.to_past("admin", page, "core", "k", **more)
        assert admin.get(address).status_code == 200, page
    assert admin.get(url("recordedcall", "change", RecordedCall.objects.get())).status_code == 200
    assert Workspace.objects.count() == 1


def test_our_style_sheet_is_on_our_pages_and_names_no_colour(admin: Client) -> None:
    from pathlib import Path

    import django_agent_memory

    styles = Path(django_agent_memory.__file__).parent / "static/agent_memory"
    page = admin.get(url("note", "changelist")).content.decode()
    for style in styles.glob("*.css"):
        assert not re.search(r"#[0-9a-f]{3,8}\b|rgb\(|url\(", style.read_text(encoding="utf-8"))
        assert f"agent_memory/{style.name}" in page
