"""Staff whose rights come from grants or object permissions: their workspaces, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin import site
from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.db.models import QuerySet
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from django_agent_memory.admin import links
from django_agent_memory.memory import Memory
from django_agent_memory.models import (
    AgentKey,
    Grant,
    Note,
    RecordedCall,
    Revision,
    SavedRule,
    Workspace,
)
from django_agent_memory.policy import ERASES, OF_CREDENTIALS, READS, REDACTS, WRITES, Policy

from .browser import fields_of
from .conftest import url

HERE, THERE = "here", "there"
MODELS = ("note", "workspace", "revision", "agentkey", "grant", "recordedcall", "savedrule")


def _given(user: Any) -> tuple[str, ...]:
    """Return what the backend gives this user here."""
    given = {"object": (*READS, *WRITES), "remover": (REDACTS, ERASES)}
    return given.get(user.username, ())


class HereBackend(BaseBackend):
    """Gives object permissions on one workspace: what a grant would, or to redact and erase."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        named = perm.removeprefix("agent_memory.") in _given(user_obj)
        is_here = isinstance(obj, Workspace) and obj.path == HERE
        return named and is_here


class HerePolicy(Policy):
    """Knows which workspace the backend means."""

    def object_workspaces(self, user: Any, permission: str) -> QuerySet[Workspace]:
        named = permission in _given(user)
        return Workspace.objects.filter(path=HERE) if named else Workspace.objects.none()


class Place:
    """A workspace with one row of each kind."""

    def __init__(self, path: str) -> None:
        memory = Memory(path, actor=f"actor-{path}")
        memory.remember(f"key-{path}", f"summary-{path}", f"body-{path}", kind=f"kind-{path}")
        memory.remember(f"key-{path}", f"summary-{path}", f"later-{path}")
        Memory(path, run=f"run-{path}").recall(f"key-{path}")
        self.path = path
        self.workspace = Workspace.objects.get(path=path)
        self.note = Note.objects.get(workspace=self.workspace)
        self.revision = Revision.objects.filter(workspace=self.workspace).first()
        self.key, _ = AgentKey.objects.issue(workspace=path, name=f"agent-{path}")
        group = Group.objects.create(name=f"group-{path}")
        self.grant = Grant.objects.give(workspace=path, group=group)
        self.rule = SavedRule.objects.keep(
            workspace=self.workspace, name=f"rule-{path}", rule={"kind": f"kind-{path}"}
        )
        self.call = RecordedCall.objects.get(workspace=self.workspace)

    def past(self, page: str, **more: int) -> str:
        return links.to_past("admin", page, self.path, f"key-{self.path}", **more)

    def pages(self) -> dict[str, str]:
        """Return every page about one row of the workspace."""
        return {
            "note": url("note", "change", self.note),
            "forget": url("note", "forget", self.note),
            "finding": url("note", "finding", self.note),
            "note history": url("note", "history", self.note),
            "workspace": url("workspace", "change", self.workspace),
            "workspace history": url("workspace", "history", self.workspace),
            "agent sees": url("workspace", "index", self.workspace),
            "index as text": url("workspace", "index_text", self.workspace),
            "export": url("workspace", "export", self.workspace),
            "clear": url("workspace", "clear", self.workspace),
            "end sessions": url("workspace", "sessions", self.workspace),
            "check": url("workspace", "check", self.workspace),
            "roll back": url("workspace", "rollback", self.workspace),
            "prune": url("workspace", "prune", self.workspace),
            "duplicates": url("workspace", "duplicates", self.workspace),
            "rule": url("savedrule", "change", self.rule),
            "rule history": url("savedrule", "history", self.rule),
            "delete rule": url("savedrule", "delete", self.rule),
            "revision": url("revision", "change", self.revision),
            "revision history": url("revision", "history", self.revision),
            "timeline": self.past("timeline"),
            "compare": self.past("compare", a=1, b=2),
            "restore": self.past("restore", revision=1),
            "redact": self.past("redact"),
            "erase": self.past("erase"),
            "erase all": url("workspace", "erase", self.workspace),
            "call": url("recordedcall", "change", self.call),
            "call history": url("recordedcall", "history", self.call),
            "key": url("agentkey", "change", self.key),
            "key history": url("agentkey", "history", self.key),
            "revoke": url("agentkey", "revoke", self.key),
            "replace": url("agentkey", "rotate", self.key),
            "grant": url("grant", "change", self.grant),
            "grant history": url("grant", "history", self.grant),
            "take grant": url("grant", "delete", self.grant),
            "delete note": url("note", "delete", self.note),
        }


@pytest.fixture
def places(db: None, settings: Any) -> dict[str, Place]:
    settings.AGENT_MEMORY_POLICY = f"{__name__}.HerePolicy"
    settings.AUTHENTICATION_BACKENDS = [
        "django.contrib.auth.backends.ModelBackend",
        f"{__name__}.HereBackend",
    ]
    return {path: Place(path) for path in (HERE, THERE)}


def staff(name: str, *codenames: str, access: str | None = None) -> Client:
    user = User.objects.create_user(name, "", "pw", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    if access is not None:
        Grant.objects.give(workspace=HERE, user=user, access=access)
    client = Client()
    client.force_login(user)
    return client


WHO: dict[str, Callable[[], Client]] = {
    "reader": lambda: staff("reader", access="read"),
    "writer": lambda: staff("writer", access="read-write"),
    "object": lambda: staff("object"),
    "manager": lambda: staff("manager", *OF_CREDENTIALS, access="read-write"),
    "remover": lambda: staff("remover", access="read"),
}
READING = {
    *("note", "note history", "workspace", "workspace history", "agent sees"),
    *("revision", "revision history", "timeline", "compare", "duplicates"),
    *("finding", "index as text", "export", "check"),
}
WRITING = {
    *(*READING, "forget", "roll back", "restore", "clear", "end sessions"),
    *("prune", "rule", "rule history", "delete rule"),
}
MANAGING = {
    *(*WRITING, "key", "key history", "revoke", "replace"),
    *("grant", "grant history", "take grant"),
}
OPEN = {
    "reader": READING,
    "writer": WRITING,
    "object": WRITING,
    "manager": MANAGING,
    "remover": {*READING, "redact", "erase", "erase all"},
}


def unlike(response: HttpResponse) -> Any:
    """Return what tells an answer from another: the number of the row is in none."""
    return response.status_code, response.get("Location")


@pytest.mark.parametrize("who", WHO)
def test_the_pages_of_their_own_workspace_open(places: dict[str, Place], who: str) -> None:
    browser = WHO[who]()
    opened = {
        name
        for name, address in places[HERE].pages().items()
        if browser.get(address, follow=name == "note history").status_code == 200
    }
    assert opened == OPEN[who]


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("who", WHO)
def test_the_pages_of_another_are_as_of_one_that_is_not_there(
    places: dict[str, Place], who: str, method: str
) -> None:
    browser = WHO[who]()
    before = list(Revision.objects.values()), list(AgentKey.objects.values())
    for name, address in places[THERE].pages().items():
        missing = address.replace(f"={THERE}", "=nowhere")
        if missing == address:
            number = address.rstrip("/").split("/")[-2]
            missing = address.replace(f"/{number}/", "/999999/")
        send = getattr(browser, method)
        there = send(address, {"confirmed": "yes", "post": "yes"} if method == "post" else None)
        absent = send(missing, {"confirmed": "yes", "post": "yes"} if method == "post" else None)
        assert there.status_code in (302, 403), name
        assert unlike(there) == unlike(absent), name
        shown = browser.get("/admin/").content.decode()
        assert f"-{THERE}" not in shown
    assert before == (list(Revision.objects.values()), list(AgentKey.objects.values()))
    assert Grant.objects.filter(workspace__path=THERE).exists()


@pytest.mark.parametrize("who", WHO)
def test_lists_show_nothing_of_another(places: dict[str, Place], who: str) -> None:
    browser = WHO[who]()
    seen = {"note", "workspace", "revision"}
    if who not in ("reader", "remover"):
        seen.add("savedrule")
    if who == "manager":
        seen |= {"agentkey", "grant"}
    for model in MODELS:
        response = browser.get(url(model, "changelist"))
        assert response.status_code == (200 if model in seen else 403), model
        for query in ({}, {"q": THERE}, {"workspace": THERE}, {"q": f"body-{THERE}"}):
            response = browser.get(url(model, "changelist"), query, follow=True)
            if model not in seen:
                assert response.status_code == 403
                continue
            if model == "workspace" and "workspace" in query:  # It has no such filter.
                assert response.status_code == 400
                continue
            assert {row.pk for row in response.context["cl"].result_list} <= {
                *[row.pk for row in _rows(model, HERE)]
            }
            # Names of rows, of filters and of their choices; what was asked for is repeated.
            if not query:
                assert THERE not in response.content.decode()
                assert len(response.context["cl"].result_list) >= 1


def _rows(model: str, path: str) -> Any:
    lookup = "path" if model == "workspace" else "workspace__path"
    (found,) = [kind for kind in site._registry if kind._meta.model_name == model]
    return found._default_manager.filter(**{lookup: path})


def test_autocomplete_offers_their_own(places: dict[str, Place]) -> None:
    browser = WHO["writer"]()
    field = {"app_label": "agent_memory", "model_name": "note", "field_name": "workspace"}
    answer = browser.get(reverse("admin:autocomplete"), {**field, "term": ""})
    assert [row["text"] for row in answer.json()["results"]] == [HERE]


def test_the_index_of_the_admin_lists_what_there_is(places: dict[str, Place]) -> None:
    for who, models in {
        "reader": {"note", "workspace", "revision"},
        "manager": {"note", "workspace", "revision", "savedrule", "agentkey", "grant"},
    }.items():
        page = WHO[who]().get("/admin/").content.decode()
        shown = {model for model in MODELS if f"/admin/agent_memory/{model}/" in page}
        assert shown == models
    assert "/agent_memory/" not in staff("nobody").get("/admin/").content.decode()


def test_a_member_without_rights_costs_one_statement_of_every_page(
    places: dict[str, Place],
) -> None:
    nobody = staff("nobody")
    nobody.get("/admin/")
    with CaptureQueriesContext(connection) as queries:
        nobody.get("/admin/")
    ours = [sent["sql"] for sent in queries if "agent_memory_" in sent["sql"]]
    assert len(ours) == 1


# Writing


def form(browser: Client, address: str, **typed: Any) -> Any:
    page = browser.get(address)
    assert page.status_code == 200
    return browser.post(address, {**fields_of(page), **typed})


@pytest.mark.parametrize("who", ["writer", "object", "manager"])
def test_they_write_in_their_own(places: dict[str, Place], who: str) -> None:
    browser, here = WHO[who](), places[HERE]
    changed = form(browser, url("note", "change", here.note), body="by hand")
    assert changed.status_code == 302
    note = Memory(HERE).recall(f"key-{HERE}")
    assert note is not None
    assert note.body == "by hand"
    added = form(
        browser, url("note", "add"), workspace=here.workspace.pk, key="new", summary="s", body="b"
    )
    assert added.status_code == 302
    restored = form(browser, here.past("restore", revision=1))
    assert restored.status_code == 302
    note = Memory(HERE).recall(f"key-{HERE}")
    assert note is not None
    assert note.body == f"body-{HERE}"
    gone = form(browser, url("note", "forget", here.note), confirmed="yes")
    assert gone.status_code == 302
    assert Memory(HERE).recall(f"key-{HERE}") is None


def test_a_form_takes_no_other_workspace(places: dict[str, Place]) -> None:
    browser, there = WHO["manager"](), places[THERE]
    typed = {"note": {"key": "new", "summary": "s", "body": "b"}, "agentkey": {"name": "a"}}
    typed["grant"] = {"user": str(User.objects.get(username="manager").pk), "access": "read"}
    for model, fields in typed.items():
        errors = []
        for pk in (there.workspace.pk, 999_999):
            page = form(browser, url(model, "add"), workspace=pk, **fields)
            assert page.status_code == 200
            errors.append(page.context["adminform"].form.errors["workspace"])
        assert errors[0] == errors[1]
    assert not Note.objects.filter(key="new").exists()
    assert AgentKey.objects.count() == 2
    assert Grant.objects.filter(workspace=there.workspace).count() == 1
    # Nor does that of a note move it there.
    form(browser, url("note", "change", places[HERE].note), workspace=there.workspace.pk, body="x")
    assert Note.objects.filter(workspace=there.workspace).count() == 1


def test_a_reader_writes_nothing(places: dict[str, Place]) -> None:
    browser, here = WHO["reader"](), places[HERE]
    before = list(Revision.objects.values())
    fields = {"body": "x", "expected_revision": "2", "confirmed": "yes", "reason": ""}
    for address in (
        url("note", "change", here.note),
        url("note", "forget", here.note),
        url("note", "add"),
        url("workspace", "change", here.workspace),
        url("workspace", "add"),
        url("workspace", "rollback", here.workspace),
        url("workspace", "prune", here.workspace),
        url("workspace", "batch", here.workspace),
        url("savedrule", "add"),
        here.past("restore", revision=1),
        here.past("redact"),
        here.past("erase"),
        url("workspace", "erase", here.workspace),
        url("agentkey", "add"),
        url("grant", "add"),
    ):
        assert browser.post(address, fields).status_code == 403, address
    assert list(Revision.objects.values()) == before
    page = browser.get(url("note", "change", here.note)).content.decode()
    assert "/forget/" not in page
    assert "Forget" not in page


def test_actions_take_only_rows_of_their_own(places: dict[str, Place]) -> None:
    browser = WHO["manager"]()
    for model, action, more in [
        ("note", "forget_selected", {"seen_at": "2999-01-01T00:00:00Z", "reason": "why"}),
        ("agentkey", "revoke_selected", {}),
        ("grant", "delete_selected", {"post": "yes"}),
    ]:
        rows = [*_rows(model, HERE), *_rows(model, THERE)]
        data = {
            "action": action,
            "_selected_action": [row.pk for row in rows],
            "confirmed": "yes",
            "select_across": "1",
            **more,
        }
        browser.post(url(model, "changelist"), data)
    assert [note.workspace.path for note in Note.objects.all()] == [THERE]
    assert [key.workspace.path for key in AgentKey.objects.usable()] == [THERE]
    assert [grant.workspace.path for grant in Grant.objects.all()] == [THERE]


def test_who_may_only_delete_in_a_workspace_sees_nothing_of_it_in_a_list(
    places: dict[str, Place],
) -> None:
    browser = staff("deleter", "delete_note", access="read")
    rows = browser.get(url("note", "changelist")).context["cl"].result_list
    assert [note.workspace.path for note in rows] == [HERE]
    # The page that asks names the note, as ever; the form with its text does not open.
    there = places[THERE]
    assert browser.get(url("note", "forget", there.note)).status_code == 200
    assert browser.get(url("note", "change", there.note)).status_code == 403


# Who gives


@pytest.mark.parametrize(
    ("access", "wanted", "may"),
    [("read", "read", True), ("read", "read-write", False), ("read-write", "read-write", True)],
)
def test_nobody_issues_a_key_that_may_do_more_than_they(
    places: dict[str, Place], access: str, wanted: str, may: bool
) -> None:
    browser = staff("issuer", *OF_CREDENTIALS, access=access)
    fields = {"workspace": places[HERE].workspace.pk, "name": "new", "access": wanted}
    page = form(browser, url("agentkey", "add"), **fields)
    assert AgentKey.objects.filter(name="new").exists() is may
    if not may:
        assert "You can give only what you may do there." in page.content.decode()
    old, _ = AgentKey.objects.issue(workspace=HERE, name="old", access=wanted)
    page = form(browser, url("agentkey", "rotate", old), overlap="1")
    old.refresh_from_db()
    assert (old.replaced_by is not None) is may
    if not may:
        assert "You can give only what you may do there." in page.content.decode()


def test_nobody_issues_a_key_of_another_user(places: dict[str, Place]) -> None:
    browser = WHO["manager"]()
    me, other = User.objects.get(username="manager"), User.objects.create_user("other")
    fields = {"workspace": places[HERE].workspace.pk, "access": "read"}
    page = form(browser, url("agentkey", "add"), name="theirs", user=other.pk, **fields)
    assert "takes the permission to change users" in page.content.decode()
    form(browser, url("agentkey", "add"), name="mine", user=me.pk, **fields)
    theirs, _ = AgentKey.objects.issue(workspace=HERE, name="given", user=other)
    form(browser, url("agentkey", "rotate", theirs), overlap="1")
    assert not AgentKey.objects.filter(name="theirs").exists()
    assert AgentKey.objects.get(name="mine").user == me
    assert AgentKey.objects.filter(name="given").count() == 1
    me.user_permissions.add(Permission.objects.get(codename="change_user"))
    form(browser, url("agentkey", "add"), name="theirs", user=other.pk, **fields)
    assert AgentKey.objects.get(name="theirs").user == other


class Nowhere(Policy):
    """Lets nobody do anything, whatever Django says of them."""

    def user_may(self, user: Any, permission: str, path: str) -> bool:
        return False

    def user_workspaces(self, user: Any, permission: str) -> QuerySet[Workspace]:
        return Workspace.objects.none()


def test_a_policy_of_the_sites_own_decides_of_the_pages_too(
    places: dict[str, Place], settings: Any
) -> None:
    settings.AGENT_MEMORY_POLICY = f"{__name__}.Nowhere"
    root = User.objects.create_superuser("root", "", "pw")
    browser = Client()
    browser.force_login(root)
    for name, address in places[HERE].pages().items():
        assert browser.get(address).status_code in (302, 403), name
    for model in MODELS:
        response = browser.get(url(model, "changelist"))
        if response.status_code == 200:
            assert not response.context["cl"].result_list
    made = browser.post(url("workspace", "add"), {"path": "new", "title": "", "description": ""})
    assert "You may not make this workspace." in made.content.decode()
    assert not Workspace.objects.filter(path="new").exists()


def test_every_registered_page_is_among_these() -> None:
    ours = [kind for kind in site._registry if kind._meta.app_label == "agent_memory"]
    assert {kind._meta.model_name for kind in ours} == set(MODELS)
