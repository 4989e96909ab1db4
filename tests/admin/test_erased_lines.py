"""What is erased goes from Django's log of the admin too, and what is not erased stays there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from django_agent_memory import Memory, Save
from django_agent_memory.admin_log import lines_about
from django_agent_memory.models import Note, Revision, Workspace
from django_agent_memory.signals import erased
from tests.test_removal import SECRET, tables_that_hold

from .conftest import Submit, note_of, note_url

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def memory() -> Memory:
    return Memory("core", actor="scribe")


def lines() -> list[tuple[str, str]]:
    rows = LogEntry.objects.order_by("pk")
    return [(entry.object_repr, entry.get_change_message()) for entry in rows]


def log(user: User, *names: str, row: int | str = 0) -> None:
    """Leave lines about notes of these names in the log."""
    kind = ContentType.objects.get_for_model(Note)
    LogEntry.objects.bulk_create(
        LogEntry(
            user=user,
            content_type=kind,
            object_id=str(row),
            object_repr=name,
            action_flag=CHANGE,
            change_message="why",
        )
        for name in names
    )


def test_no_column_holds_an_erased_key(memory: Memory, submit: Submit) -> None:
    for key in (SECRET, f"{SECRET}/below"):
        memory.remember(key, "s", "b")
        assert submit(note_url(memory, key), body="changed").status_code == 302
    assert submit(note_url(memory, SECRET, "forget"), reason=f"it is {SECRET}").status_code == 302
    assert len(lines()) == 3
    assert "django_admin_log" in tables_that_hold(SECRET)
    memory.erase(SECRET)
    assert lines() == [("(erased)", ""), (f"{SECRET}/below", "Changed Body."), ("(erased)", "")]
    assert list(LogEntry.objects.values_list("user__username", flat=True)) == ["ada"] * 3
    memory.erase(f"{SECRET}/below")
    assert tables_that_hold(SECRET) == set()


def test_no_column_holds_a_key_of_an_erased_workspace(memory: Memory, submit: Submit) -> None:
    forgotten, kept = f"{SECRET} forgotten", f"{SECRET} kept"
    for key in (forgotten, kept):
        memory.remember(key, "s", "b")
        assert submit(note_url(memory, key), body="changed").status_code == 302
    assert submit(note_url(memory, forgotten, "forget"), reason=SECRET).status_code == 302
    user = User.objects.get()
    kind = ContentType.objects.get(app_label="agent_memory", model="workspace")
    for path in ("core", "core/sub"):
        LogEntry.objects.create(
            user=user,
            content_type=kind,
            object_id="1",
            object_repr=path,
            action_flag=CHANGE,
            change_message=f"Forgot 2 notes. {path}: {SECRET}",
        )
    memory.erase()
    assert lines() == [("(erased)", "")] * 3 + [
        ("core", ""),
        ("core/sub", f"Forgot 2 notes. core/sub: {SECRET}"),
    ]
    LogEntry.objects.filter(object_repr="core/sub").delete()
    assert tables_that_hold(SECRET) == set()


def test_other_keys_and_notes_that_are_there_stay(
    memory: Memory, operator: User, submit: Submit
) -> None:
    elsewhere = Memory("elsewhere")
    for one in (memory, elsewhere):
        one.remember("k", "s", "b")
        assert submit(note_url(one), body="changed").status_code == 302
    log(operator, "K", "k ", "ḱ", "k/below", "(k)", row=note_of(memory).pk)
    LogEntry.objects.create(user=operator, object_id="1", object_repr="k", action_flag=CHANGE)
    log(operator, "k", row="no number")
    memory.erase("k")
    names = [name for name, _ in lines()]
    assert names == ["(erased)", "k", "K", "k ", "ḱ", "k/below", "(k)", "k", "(erased)"]
    elsewhere.erase("k")
    assert [name for name, _ in lines()].count("k") == 1


def test_a_name_that_the_log_had_to_cut(memory: Memory, submit: Submit) -> None:
    long, other = "é" * 200 + SECRET, "é" * 200 + "other"
    for key in (long, other):
        memory.remember(key, "s", "b")
        assert submit(note_url(memory, key), body="changed").status_code == 302
    memory.erase(long)
    assert [name for name, _ in lines()] == ["(erased)", "é" * 200]


def test_many_keys_take_few_statements(memory: Memory, operator: User) -> None:
    count = 1_203
    memory.apply([Save(key=f"k{n}", body="") for n in range(count)])
    log(operator, *(f"k{n}" for n in range(count)), "other")
    with CaptureQueriesContext(connection) as queries:
        memory.erase()
    about_log = [q["sql"] for q in queries if "django_admin_log" in q["sql"]]
    assert len([sql for sql in about_log if sql.startswith("UPDATE")]) == 3
    assert LogEntry.objects.filter(object_repr="(erased)").count() == count
    assert lines()[-1] == ("other", "why")


@pytest.mark.parametrize("whole", [False, True])
def test_the_lines_are_counted_beforehand(memory: Memory, operator: User, whole: bool) -> None:
    for one in (memory, Memory("elsewhere")):
        one.apply([Save(key=key, body="") for key in ("k", "other", "é" * 250)])
    rows = {note.workspace.path: note for note in Note.objects.filter(key="k")}
    log(operator, "k", row=rows["core"].pk)
    log(operator, "k", row=rows["elsewhere"].pk)
    log(operator, "k", "K", "other", "é" * 200, row="no number")
    kind = ContentType.objects.get_for_model(Workspace)
    for path in ("core", "elsewhere"):
        LogEntry.objects.create(
            user=operator, content_type=kind, object_id="1", object_repr=path, action_flag=CHANGE
        )
    keys = {"k", "other", "é" * 250} if whole else {"k"}
    count = lines_about(workspace="core", keys=keys, whole=whole)
    assert count == (5 if whole else 2)
    told = set(LogEntry.objects.values_list("pk", "object_repr", "change_message"))
    memory.erase(None if whole else "k")
    after = set(LogEntry.objects.values_list("pk", "object_repr", "change_message"))
    # The line about the workspace itself said nothing, and has not to be blanked.
    assert len(told - after) == count - whole


def test_what_is_not_committed_erases_nothing(memory: Memory, operator: User) -> None:
    memory.remember("k", "s", "b")
    log(operator, "k")

    def erase() -> None:
        with transaction.atomic():
            memory.erase("k")
            assert lines() == [("k", "why")]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        erase()
    assert lines() == [("k", "why")]
    assert memory.keys() == ("k",)
    memory.erase("k")
    assert lines() == [("(erased)", "")]


def test_it_can_be_done_again(memory: Memory, operator: User) -> None:
    memory.remember("other", "s", "b")
    log(operator, "k")
    assert memory.erase("k").notes == 0
    assert lines() == [("(erased)", "")]


def test_what_the_signal_says_and_that_a_receiver_cannot_undo_it(
    memory: Memory, caplog: Any
) -> None:
    heard: list[dict[str, Any]] = []

    def receiver(**said: Any) -> None:
        del said["signal"]
        heard.append(said)
        raise ZeroDivisionError

    for key in ("a", "b", "c"):
        memory.remember(key, "s", "b")
    memory.forget("b")
    erased.connect(receiver)
    try:
        memory.erase("a")
        memory.erase()
        Memory("nowhere").erase()
    finally:
        erased.disconnect(receiver)
    terms = [(said["workspace"], said["keys"], said["whole"]) for said in heard]
    assert terms == [("core", {"a"}, False), ("core", {"b", "c"}, True)]
    assert "ZeroDivisionError" in caplog.text
    assert not Revision.objects.exists()


def test_a_log_whose_table_is_not_there(memory: Memory, caplog: Any) -> None:
    memory.remember("k", "s", "b")
    with connection.schema_editor() as editor:
        editor.delete_model(LogEntry)
    try:
        assert memory.erase("k").notes == 1
        assert memory.erase().notes == 0
    finally:
        with connection.schema_editor() as editor:
            editor.create_model(LogEntry)
    assert caplog.text == ""


SITE = """
from tests.settings import *  # noqa: F403

INSTALLED_APPS = [
    "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
    "rest_framework", "django_filters", "django_agent_memory",
]
DATABASES = {
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{__file__}.sqlite3"}
}
"""

TURN = """
import sys
import django
django.setup()
from django.core.management import call_command
from django_agent_memory import Memory
call_command("migrate", verbosity=0)
memory = Memory("core")
memory.remember("k", "s", "b")
assert memory.erase("k").notes == 1
assert "django.contrib.admin.models" not in sys.modules
assert "django_agent_memory.admin_log" not in sys.modules
print("done")
"""


def test_a_site_without_the_admin(tmp_path: Path) -> None:
    (tmp_path / "site_settings.py").write_text(SITE)
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
    assert (turn.stdout, turn.stderr) == ("done\n", "")
