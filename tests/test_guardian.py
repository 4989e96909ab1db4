"""Object permissions as django-guardian keeps them, with the policy that docs/access.md shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SITE = """
from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS as OURS

DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
INSTALLED_APPS = [*OURS, "guardian"]
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "guardian.backends.ObjectPermissionBackend",
]
AGENT_MEMORY_POLICY = "site_policy.GuardianPolicy"
"""

TURN = """
import django
django.setup()
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from guardian.shortcuts import assign_perm
from django_agent_memory.memory import Memory
from django_agent_memory.models import Workspace

call_command("migrate", verbosity=0)
for path in ("core", "other"):
    Memory(path).remember("k", "s", "b")
core = Workspace.objects.get(path="core")

def seen(name):
    client = Client()
    client.force_login(User.objects.get(username=name))
    tool = "/memory/tools/{}/{}/"
    new = {"key": "new", "summary": "s", "body": "b"}
    statuses = [
        client.get(tool.format("core", "recall") + "?key=k").status_code,
        client.post(tool.format("core", "remember"), new, "application/json").status_code,
        client.get(tool.format("other", "recall") + "?key=k").status_code,
    ]
    rows = client.get("/memory/notes/").json().get("results", [])
    return statuses, {row["workspace"] for row in rows}

for name in ("none", "reader", "member"):
    User.objects.create_user(name)
User.objects.create_superuser("root")
assert seen("none") == ([404, 404, 404], set())
assign_perm("agent_memory.read_notes", User.objects.get(username="reader"), core)
assert seen("reader") == ([200, 403, 404], {"core"})
group = Group.objects.create(name="desk")
group.user_set.add(User.objects.get(username="member"))
assign_perm("agent_memory.write_notes", group, core)
assert seen("member") == ([200, 200, 404], {"core"})
assert seen("root") == ([200, 200, 200], {"core", "other"})
print("done")
"""


def test_object_permissions_of_guardian(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "access.md").read_text(encoding="utf-8")
    recipe = re.search(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert recipe is not None
    (tmp_path / "site_policy.py").write_text(recipe[1])
    (tmp_path / "site_settings.py").write_text(SITE)
    paths = [str(ROOT), str(tmp_path), *sys.path]
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "site_settings",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    turn = subprocess.run(
        [sys.executable, "-c", TURN],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert turn.stdout == "done\n", turn.stderr[-3000:]
