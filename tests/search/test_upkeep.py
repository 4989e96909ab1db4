"""The search index is made, noticed when it is hurt, mended, dropped; searches do not care."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import Any

import pytest
from django.core import checks
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, connection, connections, models

from django_agent_memory import Memory, Save
from django_agent_memory.checks import check_search_index
from django_agent_memory.models import Note
from django_agent_memory.search import upkeep
from django_agent_memory.search.engines.base import Engine, State
from django_agent_memory.search.upkeep import ensure_search_index, search_engine

from .conftest import WAYS, found

VENDOR = connection.vendor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("search index")]


@pytest.fixture(autouse=True)
def _index_afterwards() -> Iterator[None]:
    yield
    ensure_search_index("default", verbosity=0)


def run(action: str, **options: Any) -> str:
    out = StringIO()
    call_command("memory_search_index", action, stdout=out, stderr=out, **options)
    return out.getvalue()


def execute(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def filled(count: int = 600) -> Memory:
    memory = Memory("core")
    memory.apply([Save(key=f"n{n:04}", body=f"note {n}") for n in range(count)])
    memory.remember("rare", None, "a needle")
    return memory


def everywhere(memory: Memory, pattern: str = "needle") -> tuple[list[str], int]:
    """Return what all ways find, which is the same."""
    answers = []
    for way in WAYS.values():
        with way():
            answers.append(found(memory, pattern))
    assert answers[1:] == answers[:-1]
    return answers[0]


def test_migrate_makes_it_and_the_command_says_so() -> None:
    assert run("status").startswith("live: Searches ")


def test_drop_and_build_change_nothing_but_time() -> None:
    memory = filled()
    before = everywhere(memory)
    assert before == (["rare"], 1)
    assert run("drop").startswith("absent: There is no search index")
    assert everywhere(memory) == before
    memory.remember("second", None, "another needle")
    memory.forget("rare")
    assert everywhere(memory) == (["second"], 1)
    assert run("build").startswith("live: ")
    assert everywhere(memory) == (["second"], 1)
    assert run("build").startswith("live: ")  # anew, over what is there
    assert run("drop") == run("drop")


def test_migrate_brings_it_back() -> None:
    run("drop")
    out = StringIO()
    filled()
    call_command("migrate", stdout=out, verbosity=0)
    assert search_engine().status().state is State.LIVE


def test_building_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from django_agent_memory.management.commands import memory_search_index

    filled(50)
    monkeypatch.setattr(memory_search_index.Command, "_shows_progress", lambda _: True)
    if VENDOR == "postgresql":  # asked only of a build that takes half a second
        monkeypatch.setattr("django_agent_memory.search.engines.postgresql._GLANCE", 0.0)
        assert "live: " in run("build")
    else:
        assert "\r100 %" in run("build")


def test_an_unknown_database_is_refused_in_one_sentence() -> None:
    with pytest.raises(CommandError, match="no database 'other' in DATABASES"):
        run("status", database="other")


HURT = {
    "sqlite": [
        "DROP TRIGGER agent_memory_note_trigram_insert",
        "DROP TRIGGER agent_memory_note_trigram_update",
        "DROP TRIGGER agent_memory_note_trigram_delete",
        "DROP INDEX agent_memory_note_scan",
    ],
    "mysql": [
        "DROP TRIGGER agent_memory_note_haystack_insert",
        "DROP TRIGGER agent_memory_note_haystack_update",
        "DROP TRIGGER agent_memory_note_haystack_delete",
        "DELETE FROM agent_memory_note_haystack WHERE workspace_id = 0",
    ],
    "postgresql": [
        "UPDATE pg_index SET indisvalid = false"
        " WHERE indexrelid = 'agent_memory_note_trigram'::regclass"
    ],
}


@pytest.mark.parametrize("statement", HURT[VENDOR])
def test_one_that_is_hurt_is_not_trusted_and_is_mended(statement: str) -> None:
    memory = filled()
    execute(statement)
    memory.remember("later", None, "a late needle")
    assert found(memory, "needle") == (["later", "rare"], 2)
    with pytest.raises(CommandError, match="memory_search_index build"):
        run("status")
    (warning,) = check_search_index(databases=["default"])
    assert (warning.id, warning.level) == ("agent_memory.W003", checks.WARNING)
    ensure_search_index("default", verbosity=0)
    assert search_engine().status().state is State.LIVE
    assert everywhere(memory) == (["later", "rare"], 2)


@pytest.mark.skipif(VENDOR != "sqlite", reason="only SQLite's tables are remade")
def test_a_remade_table_has_its_triggers_again_after_migrate() -> None:
    memory = filled()
    field = models.BooleanField(default=False)
    field.set_attributes_from_name("extra")
    with connection.schema_editor() as editor:
        editor.add_field(Note, field)
    try:
        assert search_engine().status().state is State.DAMAGED
        execute("UPDATE agent_memory_note SET haystack = replace(haystack, 'needle', 'thimble')")
        assert found(memory, "thimble") == (["rare"], 1)
        call_command("migrate", verbosity=0)
        assert search_engine().status().state is State.LIVE
        assert everywhere(memory, "thimble") == (["rare"], 1)
    finally:
        with connection.schema_editor() as editor:
            editor.remove_field(Note, field)


@pytest.mark.skipif(VENDOR != "mysql", reason="only MySQL truncates behind the back of triggers")
def test_a_truncated_table_is_noticed_after_flush() -> None:
    filled(20)
    call_command("flush", verbosity=0, interactive=False)
    memory = Memory("core")
    memory.remember("new", None, "a needle")
    assert search_engine().status().state is State.LIVE
    assert everywhere(memory) == (["new"], 1)


def test_raw_sql_is_followed() -> None:
    memory = filled(30)
    execute(
        "UPDATE agent_memory_note SET haystack = CONCAT(haystack, ' by sql')"
        if VENDOR != "sqlite"
        else "UPDATE agent_memory_note SET haystack = haystack || ' by sql'",
    )
    assert everywhere(memory, "by sql")[1] == 31
    execute("DELETE FROM agent_memory_note WHERE haystack LIKE '%needle%'")
    assert everywhere(memory) == ([], 0)


def test_a_refusal_of_the_database_is_said_and_harms_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise DatabaseError("permission denied to create extension\nHINT: ask")

    run("drop")
    monkeypatch.setattr(type(search_engine()), "build", refuse)
    filled(3)
    ensure_search_index("default")
    said = capsys.readouterr().out
    assert said.endswith(
        "No search index for agent memory: permission denied to create extension\n"
    )
    with pytest.raises(CommandError, match="The database refused: permission denied"):
        run("build")


def test_nothing_is_made_where_the_notes_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(upkeep, "ensure_search_index", lambda using, **_: asked.append(using))
    monkeypatch.setattr("django.db.router.allow_migrate_model", lambda *_: False)
    upkeep.after_migrate(using="default")
    assert asked == []


def test_without_the_table_it_goes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "NOTE_TABLE", "no_such_table")
    ensure_search_index("default", verbosity=0)
    assert search_engine().status().state is State.ABSENT


def test_the_check_says_what_runs() -> None:
    (message,) = check_search_index(databases=["default"])
    assert (message.id, message.level) == ("agent_memory.I001", checks.INFO)
    assert message.msg == search_engine().status().sentence
    assert check_search_index(databases=[]) == []
    run("drop")
    (message,) = check_search_index(databases=["default"])
    assert message.id == "agent_memory.W003"
    assert message.hint.startswith('Run "manage.py memory_search_index build".')


def test_dropped_and_built_again_while_searches_run() -> None:
    memory = filled()
    over = threading.Event()
    answers: list[tuple[list[str], int]] = []

    def search() -> None:
        try:
            while not over.is_set():
                answers.append(found(memory, "needle"))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        searching = [pool.submit(search) for _ in range(2)]
        for _ in range(6):
            enough = len(answers) + 4
            while len(answers) < enough and not any(each.done() for each in searching):
                search_engine().drop()
                search_engine().build()
        over.set()
        for each in searching:
            each.result()
    assert [answer for answer in answers if answer != (["rare"], 1)] == []


@pytest.mark.skipif(VENDOR != "sqlite", reason="other indexes forget by themselves")
def test_erase_leaves_no_trigram() -> None:
    memory = filled(50)
    memory.remember("secret", None, "qxjvkz")
    count = (
        "SELECT COUNT(*) FROM agent_memory_note_trigram_data"
        " WHERE instr(block, CAST('qxj' AS BLOB))"
    )
    assert rows(count) == 1
    memory.erase("secret")
    assert rows(count) == 0
    assert everywhere(memory) == (["rare"], 1)


@pytest.mark.skipif(VENDOR != "sqlite", reason="other indexes forget by themselves")
def test_pruning_ends_with_a_compact_index() -> None:
    memory = filled(2_000)
    for key in memory.keys():  # noqa: SIM118
        memory.forget(key) if key != "rare" else None
    size = "SELECT SUM(LENGTH(block)) FROM agent_memory_note_trigram_data"
    before = rows(size)
    call_command("memory_prune", recorded_calls=True, apply=True, stdout=StringIO())
    assert rows(size) < before / 10
    assert everywhere(memory) == (["rare"], 1)


def rows(sql: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return int(cursor.fetchone()[0])


def test_every_engine_keeps_the_interface() -> None:
    public: list[Callable[..., Any]] = [Engine.status, Engine.build, Engine.drop, Engine.compact]
    plain = Engine(connection)
    assert plain.status().state is State.UNAVAILABLE
    assert all(method.__doc__ for method in public)
    assert plain.build() is plain.drop() is plain.compact() is None


def test_one_builds_or_drops_at_a_time() -> None:
    """Whoever comes second is told so, and harms nothing."""
    filled(20)
    engine = search_engine()
    if VENDOR == "sqlite":
        pytest.skip("SQLite builds and drops in one transaction")

    def second() -> list[str]:
        try:
            with pytest.raises(CommandError, match="Another process builds or drops"):
                run("drop")
            with pytest.raises(CommandError, match="Another process builds or drops"):
                run("build")
            return [run("status")]
        finally:
            connections.close_all()

    with engine._alone(), ThreadPoolExecutor(1) as pool:  # type: ignore[attr-defined]
        (said,) = pool.submit(second).result()
    assert said.startswith("live: ")
    assert run("build").startswith("live: ")


@pytest.mark.skipif(VENDOR != "mysql", reason="elsewhere it is one transaction, or one statement")
def test_a_refused_build_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = filled(20)
    engine = search_engine()
    run_sql = type(engine)._run

    def refuse(self: Engine, sql: str, *params: object) -> int:
        if sql.startswith("CREATE TRIGGER") and "update" in sql:
            raise DatabaseError(1142, "TRIGGER command denied to user 'site'")
        return run_sql(self, sql, *params)

    monkeypatch.setattr(type(engine), "_run", refuse)
    with pytest.raises(CommandError, match="^The database refused: TRIGGER command denied to user"):
        run("build")
    assert engine.status().state is State.ABSENT
    memory.remember("later", None, "a late needle")
    assert found(memory, "needle") == (["later", "rare"], 2)


@pytest.mark.skipif(VENDOR != "sqlite", reason="an FTS5 table can be emptied in one statement")
def test_an_emptied_table_is_noticed() -> None:
    filled(20)
    execute("INSERT INTO agent_memory_note_trigram(agent_memory_note_trigram) VALUES('delete-all')")
    assert search_engine().status().state is State.DAMAGED
    ensure_search_index("default", verbosity=0)
    assert search_engine().status().state is State.LIVE


@pytest.mark.parametrize("pattern", ["needle", "needle" + "x" * 300])
def test_an_answer_is_of_one_state_while_a_note_comes_and_goes(pattern: str) -> None:
    memory = Memory("core")
    memory.apply([Save(key=f"k{n:02}", summary="s", body=pattern) for n in range(12)])
    over = threading.Event()

    def come_and_go() -> None:
        try:
            while not over.is_set():
                memory.forget("k03")
                memory.remember("k03", "s", pattern)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(come_and_go)
        answers = [found(memory, pattern) for _ in range(150)]
        over.set()
        writing.result()
    all_keys = [f"k{n:02}" for n in range(12)]
    with_it, without = (all_keys[:8], 12), ([k for k in all_keys if k != "k03"][:8], 11)
    assert [answer for answer in answers if answer not in (with_it, without)] == []
