"""The rows of a model, and their saves as they are committed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.db.models.signals import post_delete, post_save
from django.test.utils import CaptureQueriesContext

from django_agent_memory import Memory
from django_agent_memory.exceptions import Refused
from django_agent_memory.models import Note, Revision, Workspace
from django_agent_memory.sources import ModelSource, SourceMemory, queryset

Into = Callable[..., SourceMemory]


def about(group: Group) -> dict[str, Any] | None:
    """What is told of a group; of one without a name nothing."""
    if not group.name:
        return None
    return {"content": f"There is {group.name}.", "context": "groups", "summary": group.name}


def filled(into: Into, rows: Any, describe: Any = about, **options: Any) -> SourceMemory:
    memory = into(**{k: options.pop(k) for k in ("dry_run",) if k in options})
    queryset(memory, rows, describe, **options)
    memory.flush()
    return memory


def test_each_row_is_a_note(into: Into) -> None:
    ann = Group.objects.create(name="Ann's")
    Group.objects.create(name="")
    assert filled(into, Group.objects.all()).counts == {"created": 1}
    note = Memory("core").recall(f"auth.group/{ann.pk}")
    assert note is not None
    assert (note.body, note.contexts, note.summary) == ("There is Ann's.", ("groups",), "Ann's")
    ann.name = "Ann and Joon's"
    ann.save()
    assert filled(into, Group.objects.all()).counts == {"replaced": 1}
    assert filled(into, Group.objects.all()).counts == {"unchanged": 1}
    ann.delete()
    memory = filled(into, Group.objects.all())
    memory.forget_missing()
    assert memory.counts == {"removed": 1}


def test_rows_may_say_their_key(into: Into) -> None:
    Group.objects.create(name="a")
    filled(into, Group.objects.all(), lambda g: {"content": g.name, "key": f"g/{g.name}"})
    filled(into, Group.objects.all(), lambda g: {"content": g.name + "!", "key": None})
    assert Memory("core").keys()[0] == "g/a"
    assert Memory("core").keys()[1].startswith("notes/")


@pytest.mark.parametrize("dry_run", [False, True])
def test_rows_are_read_in_chunks_and_in_order(into: Into, *, dry_run: bool) -> None:
    Group.objects.bulk_create(Group(name=f"g{n:04}") for n in range(1_203))
    names: list[str] = []

    def describe(group: Group) -> dict[str, Any]:
        names.append(group.name)
        return {"content": group.name}

    rows = Group.objects.order_by("-name").prefetch_related("permissions")
    with CaptureQueriesContext(connection) as captured:
        memory = filled(into, rows, describe, chunk_size=600, dry_run=dry_run)
    assert memory.counts == {"created": 1_203}
    assert names == [f"g{n:04}" for n in reversed(range(1_203))]
    reads = [q["sql"] for q in captured.captured_queries if q["sql"].startswith("SELECT")]
    assert len([sql for sql in reads if 'auth_group"."name' in sql.replace("`", '"')]) >= 3
    assert Note.objects.count() == (0 if dry_run else 1_203)


def test_a_slice_and_a_join(into: Into) -> None:
    user = User.objects.create(username="ann")
    for name in "abc":
        user.groups.add(Group.objects.create(name=name))
    User.objects.create(username="joon").groups.add(Group.objects.get(name="a"))
    assert filled(into, Group.objects.order_by("name")[1:3]).counts == {"created": 2}
    joined = Group.objects.filter(user__username__in=["ann", "joon"])
    assert filled(into, joined).counts == {"created": 1, "unchanged": 2}


# Saves


Follow = Callable[..., ModelSource]


@pytest.fixture
def follow(transactional_db: None) -> Iterator[Follow]:
    made: list[ModelSource] = []

    def connected(describe: Any = about, **options: Any) -> ModelSource:
        source = ModelSource(Group, describe, workspace="core", **options)
        source.connect()
        made.append(source)
        return source

    yield connected
    for source in made:
        source.disconnect()


def test_saves_and_deletes_are_followed(follow: Follow) -> None:
    follow()
    group = Group.objects.create(name="a")
    key = f"auth.group/{group.pk}"
    note = Memory("core").recall(key)
    assert note is not None
    assert (note.body, note.source, note.summary) == ("There is a.", "auth.group", "a")
    assert Revision.objects.get().actor == "source:auth.group"
    group.save()
    assert Revision.objects.count() == 1
    group.name = ""
    group.save()
    assert Memory("core").recall(key) is None
    group.name = "b"
    group.save()
    Group.objects.all().delete()
    assert Memory("core").keys() == ()
    assert [r.operation for r in Memory("core").history(key)] == [
        "remember",
        "forget",
        "remember",
        "forget",
    ]


def test_what_is_rolled_back_was_never_so(follow: Follow) -> None:
    follow()
    with transaction.atomic():
        Group.objects.create(name="a")
        transaction.set_rollback(True)
    assert not Workspace.objects.exists()
    with transaction.atomic():
        group = Group.objects.create(name="a")
        group.name = "unsaved"
        assert not Note.objects.exists()
    assert Note.objects.get().body == "There is a."
    with transaction.atomic():
        Group.objects.create(name="short-lived").delete()
    assert Note.objects.count() == 1


def test_the_same_keys_as_the_queryset(follow: Follow, into: Into) -> None:
    follow(source="s")
    Group.objects.create(name="a")
    assert filled(into, Group.objects.all()).counts == {"unchanged": 1}


def test_connected_once_and_disconnected(follow: Follow) -> None:
    seen: list[str] = []

    def describe(group: Group) -> dict[str, Any]:
        seen.append(group.name)
        return {"content": group.name}

    before = len(post_save.receivers), len(post_delete.receivers)
    source = follow(describe)
    source.connect()
    other = follow(describe, source="other")
    Group.objects.create(name="a")
    assert seen == ["a", "a"]
    other.disconnect()
    source.disconnect()
    source.disconnect()
    Group.objects.create(name="b")
    assert seen == ["a", "a"]
    assert (len(post_save.receivers), len(post_delete.receivers)) == before


@pytest.mark.parametrize(
    "said",
    [None, {}, {"content": object()}, {"content": "x", "key": "mine"}, {"content": "x", "a": 1}],
    ids=["raises", "nothing", "refused", "key", "unknown"],
)
def test_a_failure_is_logged_and_the_save_stands(
    follow: Follow, caplog: pytest.LogCaptureFixture, said: Any
) -> None:
    def describe(group: Group) -> Any:
        if said is None:
            raise RuntimeError("broken")
        return said

    follow(describe)
    with caplog.at_level(logging.ERROR):
        group = Group.objects.create(name="a")
    assert Group.objects.filter(pk=group.pk).exists()
    assert not Note.objects.exists()
    (record,) = caplog.records
    assert record.exc_info is not None
    if said == {"content": "x", "key": "mine"}:
        assert isinstance(record.exc_info[1], Refused)


def test_a_caller_that_commits_by_hand(follow: Follow, caplog: pytest.LogCaptureFixture) -> None:
    follow()
    transaction.set_autocommit(False)
    try:
        Group(name="a").save_base(force_insert=True)
        transaction.commit()
    finally:
        transaction.set_autocommit(True)
    assert Group.objects.count() == 1
    assert not Note.objects.exists()
    assert "is not followed" in caplog.text


def test_bad_arguments_are_refused_when_it_is_made() -> None:
    with pytest.raises(Refused):
        ModelSource(Group, about, workspace="a//b")
    with pytest.raises(Refused):
        ModelSource(Group, about, workspace="core", source="")
