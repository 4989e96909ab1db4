"""`python -m tests.hostile.turn`: an agent's turn in the hostile site; exits with 0 if it works."""

from __future__ import annotations

import datetime
import json
from typing import Any

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.contrib.auth.models import Permission  # noqa: E402
from django.core.cache import cache  # noqa: E402
from django.db import connections  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import (  # noqa: E402
    setup_databases,
    setup_test_environment,
    teardown_databases,
)
from django.urls import reverse  # noqa: E402

from django_agent_memory.models import AgentKey, Note, Revision  # noqa: E402

JSON = "application/json"
MOUNTS = ("/plain/", "/de/memory/", "/en/memory/")


def main() -> None:
    """Run every part against databases made for it."""
    setup_test_environment()
    databases = setup_databases(verbosity=0, interactive=False)
    try:
        cache.clear()
        tables_are_apart()
        for mount in MOUNTS:
            agents_turn(mount)
        refusals()
        times_have_the_sites_offset()
        keys_and_users_live_apart()
        a_session_works()
        the_admin_works()
    finally:
        teardown_databases(databases, verbosity=0)


def tables_are_apart() -> None:
    """Nothing of ours in `default`, nothing of the site's in `memory` but Django's own record."""
    ours = connections["default"].introspection.table_names()
    assert not [table for table in ours if table.startswith("agent_memory")], ours
    assert "accounts_account" in ours
    theirs = connections["memory"].introspection.table_names()
    assert {table for table in theirs if not table.startswith("agent_memory")} == {
        "django_migrations"
    }, theirs


def client_of(secret: str) -> Client:
    """Return a client that carries the key, and asks for a page in Russian."""
    return Client(
        raise_request_exception=False,
        enforce_csrf_checks=True,
        headers={
            "Authorization": f"Bearer {secret}",
            "Accept": "text/html",
            "Accept-Language": "ru",
        },
    )


def agents_turn(mount: str) -> None:
    """Remember, read, index with its tag, search, forget."""
    workspace = f"agents{mount.replace('/', '-')}".strip("-")
    _key, secret = AgentKey.objects.issue(workspace=workspace, name="scribe")
    http = client_of(secret)

    def call(tool: str, **arguments: Any) -> Any:
        for slash in ("", "/"):
            response = http.post(f"{mount}tools/{tool}{slash}", arguments, content_type=JSON)
            assert response.status_code == 200, response.content
            assert response["Content-Type"] == JSON
        return json.loads(response.content)

    body = "  Ключ\n" * 100
    saved = call("remember", key="user/name", summary="Имя", body=body)
    assert saved["outcome"] == "unchanged"
    assert saved["workspace_revision"] == 1
    assert call("recall", key="user/name")["body"] == body
    assert call("list_memories")["text"] == "- user/name: Имя"
    assert call("search", pattern="КЛЮЧ")["total"] == 1
    for n in range(3):
        call("remember", key=f"k{n}", summary="s", body={"n": n})

    index = http.get(f"{mount}index/")
    assert index.content.decode().startswith("[memory index]\n- k0: s"), index.content
    tag = {"If-None-Match": index["ETag"]}
    assert http.get(f"{mount}index/", headers=tag).status_code == 304
    call("forget", key="k0")
    changed = http.get(f"{mount}index/", headers=tag)
    assert changed.status_code == 200
    assert b"k0" not in changed.content

    rows = http.get(f"{mount}notes/?key_prefix=k&ordering=-key").json()["results"]
    assert [row["key"] for row in rows] == ["k2", "k1"]
    page = http.get(f"{mount}notes/?page_size=2").json()
    assert http.get(page["next"]).json()["results"][0]["key"] == "user/name"
    patched = http.patch(f"{mount}notes/{rows[0]['id']}/", {"body": "x"}, content_type=JSON)
    assert patched.json()["body"] == "x"
    assert http.delete(f"{mount}notes/{rows[0]['id']}").json()["outcome"] == "forgot"
    assert len(http.get(f"{mount}tools").json()["tools"]) == 5

    changes = [{"op": "save", "key": "k9", "body": {"n": 9}}, {"op": "drop", "key": "k9"}]
    applied = http.post(f"{mount}apply/", {"changes": changes}, content_type=JSON).json()
    assert [outcome["outcome"] for outcome in applied["outcomes"]] == ["created", "forgot"]
    composed = http.post(f"{mount}compose/", {"prompt": "Имя?"}, content_type=JSON).json()
    assert composed["text"].startswith("Known information from memory:\n- user/name: Ключ")

    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    for address in ("mcp", "mcp/", f"mcp/{workspace}/"):
        response = http.post(f"{mount}{address}", ping, content_type=JSON)
        assert response.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}, response.content
    recall = {"name": "recall", "arguments": {"key": "user/name"}}
    asked = {**ping, "method": "tools/call", "params": recall}
    told = http.post(f"{mount}mcp/", asked, content_type=JSON).json()["result"]
    assert told["content"] == [{"type": "text", "text": body}]


def refusals() -> None:
    """Every error is our problem document, whatever the site thinks of errors."""
    _key, secret = AgentKey.objects.issue(workspace="refused", name="scribe")
    http = client_of(secret)
    revisions = Revision.objects.count()
    form = "application/x-www-form-urlencoded"
    answers = [
        (400, http.post("/plain/tools/recall/", "{", content_type=JSON)),
        (400, http.get("/plain/tools/recall/?key=a&key=b")),
        (401, client_of("dam_unknown").get("/plain/tools/")),
        (401, Client(raise_request_exception=False).get("/plain/tools/")),
        (404, http.get("/plain/index/agents-plain/")),
        (404, http.get("/plain/nosuch")),
        (404, http.post("/plain/nosuch/", {}, content_type=JSON)),
        (405, http.put("/plain/tools/recall/", {}, content_type=JSON)),
        (405, http.options("/plain/notes/")),
        (413, http.post("/plain/tools/recall/", {"key": "k" * 513}, content_type=JSON)),
        (415, http.post("/plain/tools/remember/", "key=k", content_type=form)),
    ]
    for status, response in answers:
        assert response.status_code == status, (status, response.status_code, response.content)
        assert response["Content-Type"] == "application/problem+json"
        assert json.loads(response.content)["status"] == status
    assert Revision.objects.count() == revisions


def times_have_the_sites_offset() -> None:
    """Stored without zones in Kolkata, told with +05:30, filtered in any zone."""
    _key, secret = AgentKey.objects.issue(workspace="times", name="scribe")
    http = client_of(secret)
    http.post("/plain/tools/remember/", {"key": "k", "summary": "s", "body": ""}, content_type=JSON)
    told = http.get("/plain/tools/recall/?key=k").json()["updated_at"]
    assert told.endswith("+05:30"), told
    moment = datetime.datetime.fromisoformat(told)
    assert abs(moment - datetime.datetime.now(datetime.UTC)) < datetime.timedelta(minutes=1)
    for minutes, found in ((-1, 1), (1, 0)):
        border = (moment + datetime.timedelta(minutes=minutes)).astimezone(datetime.UTC)
        rows = http.get("/plain/notes/", {"updated_after": border.isoformat()}).json()["results"]
        assert len(rows) == found, (border, told)


def keys_and_users_live_apart() -> None:
    """A key may belong to a user of the other database, who may go."""
    user = get_user_model().objects.create_user("ada")
    key, secret = AgentKey.objects.issue(workspace="owned", name="scribe", user=user)
    http = client_of(secret)
    assert http.get("/plain/tools/").status_code == 200
    assert AgentKey.objects.get(pk=key.pk).user_id == user.pk
    user.delete()
    assert http.get("/plain/tools/").status_code == 401


def a_session_works() -> None:
    """A user with permissions, kept in `default`, reads the memory in `memory`."""
    user = get_user_model().objects.create_user("grace")
    user.user_permissions.set(
        Permission.objects.filter(content_type__app_label="agent_memory", codename="view_note")
    )
    http = Client(raise_request_exception=False)
    http.force_login(user)
    assert http.get("/plain/tools/times/recall/?key=k").json()["found"] is True
    refused = http.post("/plain/tools/times/forget/", {"key": "k"}, content_type=JSON)
    assert refused.status_code == 403
    assert "agent_memory.delete_note" in refused.json()["detail"]
    assert Note.objects.filter(key="k").exists()


def the_admin_works() -> None:
    """The operator's pages, over both databases."""
    root = get_user_model().objects.create_superuser("root", password="root")
    http = Client()
    http.force_login(root)
    assert http.get(reverse("admin:index")).status_code == 200
    for model in ("workspace", "note", "revision", "agentkey"):
        page = http.get(reverse(f"admin:agent_memory_{model}_changelist"))
        assert page.status_code == 200, (model, page.content[:500])
    note = Note.objects.earliest("pk")
    assert http.get(reverse("admin:agent_memory_note_change", args=[note.pk])).status_code == 200


if __name__ == "__main__":
    main()
