"""The admin of a site that keeps the memory in a database of its own and wraps every request."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

SITE = """
from tests.settings import *  # noqa: F403

DATABASES = {
    alias: {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": f"{__file__}.{alias}.sqlite3",
        "ATOMIC_REQUESTS": True,
    }
    for alias in ("default", "memory")
}
DATABASE_ROUTERS = ["site_router.Router"]
"""

ROUTER = """
class Router:
    def db_for_read(self, model, **hints):
        return "memory" if model._meta.app_label == "agent_memory" else None

    db_for_write = db_for_read

    def allow_relation(self, *rows, **hints):
        return True

    def allow_migrate(self, db, app_label, **hints):
        return (db == "memory") == (app_label == "agent_memory")
"""

TURN = """
import django
django.setup()
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import connections
from django.test import Client
from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey, Grant, Note, Workspace
from tests.admin.browser import fields_of

for alias in ("default", "memory"):
    call_command("migrate", database=alias, verbosity=0)
user = User.objects.create_superuser("ada", "", "pw")
browser = Client()
browser.force_login(user)
A = "/admin/agent_memory/"

def send(address, **typed):
    form = {**fields_of(browser.get(address)), **typed}
    return browser.post(address, {k: v for k, v in form.items() if k != "q"})

assert send(A + "workspace/add/", path="core", title="Core").status_code == 302
workspace = Workspace.objects.get()
added = send(A + "note/add/", workspace=workspace.pk, key="k", summary="s", body="b")
assert added.status_code == 302, added.content
note = Note.objects.get()
assert send(f"{A}note/{note.pk}/change/", body="c").status_code == 302
assert Memory("core").recall("k").body == "c"
issued = send(A + "agentkey/add/", workspace=workspace.pk, name="scribe", user=user.pk)
assert issued.status_code == 200, issued.content
assert AgentKey.objects.get().user_id == user.pk
granted = send(A + "grant/add/", workspace=workspace.pk, user=user.pk, access="read")
assert granted.status_code == 302, granted.content
grant = Grant.objects.get()
assert (grant.user_id, grant._state.db) == (user.pk, "memory")
group = Group.objects.create(name="desk")
assert send(A + "grant/add/", workspace=workspace.pk, group=group.pk).status_code == 302
assert "ada</bdi> (user)" in browser.get(A + "grant/").content.decode()
assert "desk</bdi> (group)" in browser.get(A + "grant/").content.decode()
user.groups.add(group)
assert Grant.objects.of(user).count() == 2
assert send(f"{A}grant/{grant.pk}/change/", access="read-write").status_code == 302
assert browser.post(f"{A}grant/{grant.pk}/delete/", {"post": "yes"}).status_code == 302
reader = User.objects.create_user("bob")
group.user_set.add(reader)
http = Client()
http.force_login(reader)
assert http.get("/memory/tools/core/list_memories/").status_code == 200
assert len(http.get("/memory/notes/").json()["results"]) == 1
assert http.get("/memory/tools/other/list_memories/").status_code == 404
reader.delete()
K = "?workspace=core&key=k"
PAGES = ["note/", "workspace/", "revision/", "agentkey/", "grant/", "recordedcall/", "savedrule/"]
PAGES += [f"revision/timeline/{K}", f"revision/compare/{K}&a=1&b=2"]
W = f"workspace/{workspace.pk}/"
PAGES += [W + page for page in ("index/", "index-text/", "clear/", "sessions/", "check/")]
for page in PAGES:
    assert browser.get(A + page).status_code == 200, page
assert send(f"{A}note/{note.pk}/forget/", reason="why").status_code == 302
assert Memory("core").revision() == 3
assert send(f"{A}revision/restore/{K}&revision=1", reason="why").status_code == 302
assert Memory("core").recall("k").body == "b"
rollback = f"{A}workspace/{workspace.pk}/rollback/"
asked = {"actor": "ada", "since": "2020-01-01T00:00"}
preview = browser.post(rollback, asked)
assert browser.post(rollback, fields_of(preview)).status_code == 302
assert Memory("core").recall("k") is None
Memory("core").remember("p", "s", "b", kind="log")
prune = f"{A}workspace/{workspace.pk}/prune/"
preview = browser.post(prune, {"kind": "log", "reason": "why"})
browser.post(prune, {**fields_of(preview), "name": "logs", "_save": "1"})
batch = browser.post(prune, fields_of(preview))["Location"]
assert Memory("core").recall("p") is None
assert browser.post(batch, fields_of(browser.get(batch))).status_code == 302
assert Memory("core").recall("p").body == "b"
assert b">logs<" in browser.get(A + "savedrule/").content
Memory("core").remember("twin", "s", "b")
twins = Note.objects.filter(key__in=["p", "twin"]).values_list("pk", flat=True)
assert browser.get(f"{A}{W}duplicates/").status_code == 200
merge = f"{A}{W}merge/?note={twins[0]}&note={twins[1]}"
preview = send(merge, reason="why", text="hand", body="c")
batch = browser.post(merge, fields_of(preview))["Location"]
assert len({"p", "twin"} & set(Memory("core").keys())) == 1
assert browser.post(batch, fields_of(browser.get(batch))).status_code == 302
assert Memory("core").recall("p").body == Memory("core").recall("twin").body == "b"
assert send(f"{A}{W}clear/", path="core").status_code == 302
assert Memory("core").keys() == ()
Memory("core", session="s").remember("mine", "s", "b", persist=False)
assert browser.post(f"{A}{W}sessions/", {"session": "s"}).status_code == 302
assert browser.post(f"{A}{W}check/").status_code == 302
from django.contrib.admin.models import LogEntry
about = LogEntry.objects.using("default").filter(content_type__model="note")
assert set(about.values_list("object_repr", flat=True)) == {"k"}
Memory("core").remember("k", "s", "b")
Memory("core").remember("k", "s", "c")
redacted = send(f"{A}revision/redact/{K}", typed="k", reason="why")
assert redacted.status_code == 302
assert Memory("core").history("k")[0].redacted
erased = send(f"{A}revision/erase/{K}", typed="k", reason="why")
assert erased.status_code == 302
assert Memory("core").history("k") == ()
assert set(about.values_list("object_repr", "change_message")) == {("(erased)", "")}
assert send(f"{A}{W}erase/", typed="core", reason="why").status_code == 302
assert not Note.objects.exists()
assert not any("agent_memory" in t for t in connections["default"].introspection.table_names())
print("done")
"""


def test_a_database_of_its_own_under_atomic_requests(tmp_path: Path) -> None:
    (tmp_path / "site_settings.py").write_text(SITE)
    (tmp_path / "site_router.py").write_text(ROUTER)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "site_settings",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]),
    }
    turn = subprocess.run(
        [sys.executable, "-W", "error", "-c", TURN],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert turn.stdout == "done\n", turn.stderr[-3000:]
