"""The schema: one set of migrations, exact keys, agent keys that open doors only while valid."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import DataError, IntegrityError, connection, transaction
from django.utils import timezone

from django_agent_memory import Memory
from django_agent_memory.exceptions import Refused
from django_agent_memory.models import AgentKey, IndexEntry, Note, Revision, Workspace
from django_agent_memory.models.note import live_in_sql

MODELS = (Workspace, Note, IndexEntry, Revision, AgentKey)


@pytest.mark.django_db
def test_no_migration_is_missing() -> None:
    call_command("makemigrations", "agent_memory", check=True, dry_run=True, verbosity=0)


@pytest.mark.django_db
def test_the_database_checks_are_clean(capsys: Any) -> None:
    call_command("check", databases=["default"], fail_level="ERROR")
    assert "W003" not in capsys.readouterr().err


@pytest.mark.django_db(transaction=True)
def test_the_migrations_reverse_and_apply_again() -> None:
    Memory("core").remember("k", "s", "b")
    call_command("migrate", "agent_memory", "zero", verbosity=0)
    try:
        tables = connection.introspection.table_names()
        assert not [table for table in tables if table.startswith("agent_memory")]
    finally:
        call_command("migrate", "agent_memory", verbosity=0)
    Memory("core").remember("😀" * 512, "s", "b")


def test_every_unique_constraint_of_a_workspaces_rows_starts_with_the_workspace() -> None:
    for model in (Note, IndexEntry, Revision):
        for constraint in model._meta.constraints:
            assert constraint.fields[0] == "workspace"


@pytest.mark.django_db
@pytest.mark.parametrize("model", [Note, IndexEntry])
def test_two_keys_are_one_only_if_they_are_equal(model: Any) -> None:
    workspace = Workspace.objects.create(path="core")
    for key in ("k", "K", "k ", "café", "cafe", "cafe\u0301"):
        model.objects.create(workspace=workspace, key=key)
    assert model.objects.filter(key="k").count() == 1
    with pytest.raises(IntegrityError), transaction.atomic():
        model.objects.create(workspace=workspace, key="k")


@pytest.mark.django_db
def test_paths_are_exact_too() -> None:
    for path in ("core", "Core", "CORE", "c_re"):
        Workspace.objects.create(path=path)
    assert Workspace.objects.get(path="core").path == "core"


@pytest.mark.django_db
@pytest.mark.skipif(
    connection.vendor == "sqlite", reason="SQLite stores any length; the gate refuses"
)
def test_the_column_ends_at_512() -> None:
    workspace = Workspace.objects.create(path="core")
    with pytest.raises(DataError), transaction.atomic():
        Note.objects.create(workspace=workspace, key="😀" * 513)


@pytest.mark.django_db
def test_deleting_a_workspace_takes_all_its_rows() -> None:
    memory = Memory("core")
    memory.remember("k", "s", "b")
    AgentKey.objects.issue(workspace="core", name="a")
    Workspace.objects.get().delete()
    assert not any(model.objects.exists() for model in MODELS)


def test_rows_name_themselves() -> None:
    assert str(Workspace(path="core")) == "core"
    assert str(Note(key="k")) == str(IndexEntry(key="k")) == "k"
    assert str(Revision(number=3, operation="forget", key="k")) == "v3 forget k"
    assert str(AgentKey(name="desk", prefix="dam_abc")) == "desk (dam_abc…)"


@pytest.mark.django_db
def test_a_key_is_issued_with_a_secret_that_is_stored_nowhere() -> None:
    user = get_user_model().objects.create_user("u")
    key, secret = AgentKey.objects.issue(
        workspace="core/desk", name="desk", access="read", tools=["search"], user=user
    )
    assert re.fullmatch(r"dam_[A-Za-z0-9_-]{43}", secret)
    assert secret.startswith(key.prefix)
    assert key.workspace.path == "core/desk"
    row = AgentKey.objects.values().get()
    assert secret not in str(row)
    assert AgentKey.objects.with_secret(secret).get() == key
    assert not AgentKey.objects.with_secret(secret + "x").exists()
    assert not AgentKey.objects.with_secret("\ud800").exists()


@pytest.mark.django_db
def test_a_key_for_a_bad_path_is_refused() -> None:
    with pytest.raises(Refused):
        AgentKey.objects.issue(workspace="core/", name="a")
    assert not Workspace.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(("seconds", "usable"), [(None, True), (60, True), (-1, False)])
def test_a_key_expires(seconds: int | None, usable: bool) -> None:
    expires = None if seconds is None else timezone.now() + datetime.timedelta(seconds=seconds)
    key, _ = AgentKey.objects.issue(workspace="core", name="a", expires_at=expires)
    assert AgentKey.objects.usable().exists() is usable
    assert key.is_usable is usable


@pytest.mark.django_db
def test_a_revoked_key_keeps_its_first_time() -> None:
    key, _ = AgentKey.objects.issue(workspace="core", name="a")
    key.revoke()
    first = key.revoked_at
    key.revoke()
    assert AgentKey.objects.get().revoked_at == first
    assert not key.is_usable
    assert not AgentKey.objects.usable().exists()


@pytest.mark.django_db
@pytest.mark.parametrize("session", ["", "mine", "MINE", "min", "' OR '' = '", "é😀"])
def test_what_is_live_is_the_same_in_sql_of_our_own(
    session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, moment = timezone.now(), datetime.timedelta(microseconds=1)
    for number, owner in enumerate(("", "mine", "other", session)):
        for place, expires_at in enumerate((None, now - moment, now, now + moment)):
            Memory("core").remember(f"{number}-{place}", None, "x")
            Note.objects.filter(key=f"{number}-{place}").update(
                session=owner, expires_at=expires_at
            )
    monkeypatch.setattr(timezone, "now", lambda: now)
    live, parameters = live_in_sql(session, using="default")
    with connection.cursor() as cursor:
        table, key = map(connection.ops.quote_name, ("agent_memory_note", "key"))
        cursor.execute(f"SELECT n.{key} FROM {table} n WHERE {live} ORDER BY 1", parameters)
        found = [key for (key,) in cursor.fetchall()]
    assert found == list(
        Note.objects.live(session=session).order_by("key").values_list("key", flat=True)
    )
    owners = {"", session}
    assert found == [
        f"{number}-{place}"
        for number, owner in enumerate(("", "mine", "other", session))
        for place in (0, 3)
        if owner in owners
    ]
