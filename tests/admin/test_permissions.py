"""Who may do what."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from django_agent_memory.admin import links
from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey, Grant, Note, RecordedCall, Revision, SavedRule

from .browser import fields_of
from .conftest import note_of, note_url, url, workspace_of

Member = Callable[..., Client]


@pytest.fixture
def pages(memory: Memory) -> dict[str, str]:
    memory.remember("k", "s", "the body")
    memory.remember("k", "s", "the new body")
    memory.remember("gone", "s", "b")
    memory.forget("gone")
    memory.remember("twin", "s", "the new body")
    Memory("core", run="r").recall("k")
    rule = SavedRule.objects.keep(
        workspace=workspace_of(memory), name="old", rule={"older_than_days": 9}
    )
    key, _ = AgentKey.objects.issue(workspace="core", name="scribe")
    grant = Grant.objects.give(workspace="core", group=Group.objects.create(name="desk"))
    return {
        "notes": url("note", "changelist"),
        "note": note_url(memory),
        "add note": url("note", "add"),
        "forget": note_url(memory, page="forget"),
        "note history": note_url(memory, page="history"),
        "workspaces": url("workspace", "changelist"),
        "workspace": url("workspace", "change", workspace_of(memory)),
        "add workspace": url("workspace", "add"),
        "agent sees": url("workspace", "index", workspace_of(memory)),
        "revisions": url("revision", "changelist"),
        "revision": url("revision", "change", Revision.objects.first()),
        "timeline": links.to_past("admin", "timeline", "core", "k"),
        "compare": links.to_past("admin", "compare", "core", "k", a=1, b=2),
        "restore": links.to_past("admin", "restore", "core", "k", revision=1),
        "redact": links.to_past("admin", "redact", "core", "k"),
        "redact revision": links.to_past("admin", "redact", "core", "k", revision=1),
        "erase": links.to_past("admin", "erase", "core", "k"),
        "erase all": url("workspace", "erase", workspace_of(memory)),
        "index as text": url("workspace", "index_text", workspace_of(memory)),
        "roll back": url("workspace", "rollback", workspace_of(memory)),
        "prune": url("workspace", "prune", workspace_of(memory)),
        "batch": url("workspace", "batch", workspace_of(memory)) + "?first=4&last=4",
        "rules": url("savedrule", "changelist"),
        "rule": url("savedrule", "change", rule),
        "add rule": url("savedrule", "add"),
        "delete rule": url("savedrule", "delete", rule),
        "clear": url("workspace", "clear", workspace_of(memory)),
        "sessions": url("workspace", "sessions", workspace_of(memory)),
        "check": url("workspace", "check", workspace_of(memory)),
        "duplicates": url("workspace", "duplicates", workspace_of(memory)),
        "merge": links.to_merge(
            "admin", workspace_of(memory).pk, [note_of(memory, key).pk for key in ("k", "twin")]
        ),
        "calls": url("recordedcall", "changelist"),
        "call": url("recordedcall", "change", RecordedCall.objects.get()),
        "add call": url("recordedcall", "add"),
        "delete call": url("recordedcall", "delete", RecordedCall.objects.get()),
        "keys": url("agentkey", "changelist"),
        "key": url("agentkey", "change", key),
        "add key": url("agentkey", "add"),
        "revoke": url("agentkey", "revoke", key),
        "replace": url("agentkey", "rotate", key),
        "grants": url("grant", "changelist"),
        "grant": url("grant", "change", grant),
        "add grant": url("grant", "add"),
        "take grant": url("grant", "delete", grant),
    }


PRUNING = ("prune", "batch", "rules", "rule", "add rule", "delete rule")
OF_WORKSPACES = ("workspaces", "workspace", "agent sees", "index as text")
ALLOWED = {
    (): set(),
    ("view_note",): {"notes", "note", "check", "duplicates", "merge"},
    ("change_note",): {"notes", "note"},
    ("add_note",): {"add note"},
    ("delete_note",): {"forget", "clear", "sessions", *PRUNING},
    ("view_workspace",): {*OF_WORKSPACES},
    ("change_workspace",): {*OF_WORKSPACES},
    ("add_workspace",): {"add workspace"},
    ("delete_workspace",): set(),
    ("view_revision",): {"revisions", "revision", "timeline", "compare"},
    ("change_revision", "add_revision", "delete_revision"): {
        *("revisions", "revision", "timeline", "compare"),
    },
    ("view_revision", "change_note"): {
        *("revisions", "revision", "timeline", "compare", "restore", "notes", "note"),
    },
    ("add_note", "change_note"): {"add note", "notes", "note"},
    ("add_note", "change_note", "delete_note"): {
        *("add note", "notes", "note", "forget", "roll back", "clear", "sessions", *PRUNING),
    },
    ("redact_workspace",): {"redact", "redact revision"},
    ("erase_workspace",): {"erase", "erase all"},
    ("write_notes",): {
        *("notes", "note", "add note", "forget", "roll back", "clear", "sessions", "check"),
        *(*OF_WORKSPACES, *PRUNING, "duplicates", "merge"),
        *("revisions", "revision", "timeline", "compare", "restore"),
    },
    ("view_recordedcall",): {"calls", "call"},
    ("change_recordedcall", "add_recordedcall", "delete_recordedcall"): {"calls", "call"},
    # Of keys and grants they say what, and where is wherever one may view the workspace.
    ("view_agentkey", "add_agentkey", "change_agentkey", "delete_agentkey"): set(),
    ("view_grant", "add_grant", "change_grant", "delete_grant"): set(),
    ("view_workspace", "view_agentkey"): {*OF_WORKSPACES, "keys", "key"},
    ("view_workspace", "change_agentkey"): {*OF_WORKSPACES, "keys", "key", "revoke"},
    ("view_workspace", "add_agentkey"): {*OF_WORKSPACES, "add key"},
    ("view_workspace", "add_agentkey", "change_agentkey"): {
        *(*OF_WORKSPACES, "keys", "key", "add key", "revoke", "replace"),
    },
    ("view_workspace", "delete_agentkey"): {*OF_WORKSPACES},
    ("view_workspace", "view_grant"): {*OF_WORKSPACES, "grants", "grant"},
    ("view_workspace", "change_grant"): {*OF_WORKSPACES, "grants", "grant"},
    ("view_workspace", "add_grant"): {*OF_WORKSPACES, "add grant"},
    ("view_workspace", "delete_grant"): {*OF_WORKSPACES, "take grant"},
}


@pytest.mark.parametrize("permissions", ALLOWED, ids=lambda names: " ".join(names) or "none")
def test_each_permission_opens_its_pages_and_no_others(
    member: Member, pages: dict[str, str], permissions: tuple[str, ...]
) -> None:
    browser = member(*permissions)
    opened = {name for name, address in pages.items() if browser.get(address).status_code == 200}
    assert opened - {"note history"} == ALLOWED[permissions]


def test_nobody_gets_in_without_logging_in(pages: dict[str, str]) -> None:
    for address in pages.values():
        response = Client().get(address)
        assert response.status_code == 302
        assert "/login/" in response["Location"]


def test_a_viewer_sees_and_cannot_write(member: Member, memory: Memory) -> None:
    memory.remember("k", "s", "the body")
    viewer = member("view_note")
    page = viewer.get(note_url(memory)).content.decode()
    assert "the body" in page
    assert "<textarea" not in page
    assert "Forget" not in page
    assert "forget_selected" not in viewer.get(url("note", "changelist")).content.decode()
    answers = [
        viewer.post(note_url(memory), {"body": "x", "expected_revision": "1"}),
        viewer.post(note_url(memory, page="forget"), {"confirmed": "yes"}),
        viewer.post(url("note", "add"), {"key": "x", "body": "x"}),
    ]
    assert [answer.status_code for answer in answers] == [403, 403, 403]
    action = {"action": "forget_selected", "_selected_action": note_of(memory).pk}
    viewer.post(url("note", "changelist"), {**action, "confirmed": "yes"})
    assert memory.revision() == 1


def test_an_editor_may_write_and_not_forget(member: Member, memory: Memory) -> None:
    memory.remember("k", "s", "b")
    editor = member("change_note")
    form = fields_of(editor.get(note_url(memory)))
    assert editor.post(note_url(memory), {**form, "body": "c"}).status_code == 302
    assert memory.recall("k").body == "c"
    assert editor.get(note_url(memory, page="forget")).status_code == 403


def test_who_may_only_add_notes_is_not_shown_the_one_in_their_way(
    member: Member, memory: Memory
) -> None:
    memory.remember("k", "the summary", "the body")
    adder, address = member("add_note"), url("note", "add")
    typed = {"workspace": workspace_of(memory).pk, "key": "k", "summary": "s", "body": "mine"}
    page = adder.post(address, {**fields_of(adder.get(address)), **typed}).content.decode()
    assert "A note is already stored under this key." in page
    assert "the body" not in page
    assert "the summary" not in page


def test_who_may_only_change_notes_cannot_store_a_forgotten_one_again(
    member: Member, memory: Memory
) -> None:
    memory.remember("k", "s", "b")
    editor, address = member("change_note"), note_url(memory)
    form = fields_of(editor.get(address))
    memory.forget("k")
    response = editor.post(address, {**form, "body": "c", "_overwrite": "0"})
    assert response.status_code == 302
    assert not Note.objects.exists()


def test_links_that_would_be_refused_are_not_offered(member: Member, memory: Memory) -> None:
    memory.remember("k", "s", "b")
    page = member("view_workspace").get(url("workspace", "index", workspace_of(memory)))
    assert "/agent_memory/note/" not in page.content.decode()


def test_forgery_is_refused(operator: object, memory: Memory) -> None:
    memory.remember("k", "s", "b")
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(operator)
    form = fields_of(browser.get(note_url(memory)))
    form.pop("csrfmiddlewaretoken")
    assert browser.post(note_url(memory), {**form, "body": "c"}).status_code == 403
    assert browser.post(note_url(memory, page="forget"), {"confirmed": "y"}).status_code == 403
    assert memory.revision() == 1
