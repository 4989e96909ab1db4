"""What Python and adapters are handed for somebody: what the policy lets them do, and no more."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from django_agent_memory import Memory
from django_agent_memory.callers import memory_for, tools_for
from django_agent_memory.exceptions import NotAllowed, Refused
from django_agent_memory.models import AgentKey, Grant, Workspace
from django_agent_memory.policy import Policy
from tests.factories import AgentKeyFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _workspaces() -> None:
    Memory("core").remember("a", "s", "b")
    Memory("other").remember("a", "s", "b")


def holder(access: str, **terms: Any) -> Any:
    """Return a user with this grant in core."""
    user = UserFactory(**terms)
    Grant.objects.give(workspace="core", user=user, access=access)
    return user


def test_a_key_opens_its_own_workspace() -> None:
    key = AgentKeyFactory(workspace="core", name="desk")
    memory = memory_for(key)
    assert (memory.path, memory.actor, memory.read_only) == ("core", "desk", False)
    assert memory.remember("k", "s", "b").outcome == "created"
    assert memory_for(key, "core", session="c").session == "c"
    for path in ("other", "nowhere"):
        with pytest.raises(NotAllowed, match=r"^There is no such workspace\.$"):
            memory_for(key, path)


def test_a_key_to_read_reads() -> None:
    memory = memory_for(AgentKeyFactory(workspace="core", access="read"))
    assert memory.recall("a") is not None
    with pytest.raises(NotAllowed):
        memory.remember("a", "s", "c")


def test_a_key_with_some_tools_has_only_these() -> None:
    key = AgentKeyFactory(workspace="core", tools=["recall", "find"])
    with pytest.raises(NotAllowed, match="limited to some tools"):
        memory_for(key)
    assert tools_for(key).names == ("recall", "find")
    assert tools_for(key, only=["recall"]).names == ("recall",)
    assert tools_for(key).call("remember", {}) == "error: no such tool 'remember'"
    with pytest.raises(NotAllowed, match="does not include the tool forget"):
        tools_for(key, only=["forget"])


def test_a_key_that_is_over_opens_nothing() -> None:
    key = AgentKeyFactory(workspace="core")
    AgentKey.objects.filter(pk=key.pk).update(expires_at=timezone.now() - datetime.timedelta(1))
    for ask in (memory_for, tools_for):
        with pytest.raises(NotAllowed, match="revoked or has expired"):
            ask(AgentKey.objects.get(pk=key.pk))


def test_a_user_as_granted() -> None:
    user = holder("read-write", username="ann")
    memory = memory_for(user, "core")
    assert (memory.actor, memory.read_only) == ("ann", False)
    assert tools_for(user, "core").names == Memory("core").tools().names
    assert tools_for(user, "core", only="find").names == ("find",)
    reader = holder("read")
    assert memory_for(reader, "core").read_only
    assert tools_for(reader, "core").names == ("recall", "list_memories", "search")
    with pytest.raises(NotAllowed, match="You lack the permission"):
        tools_for(reader, "core", only=["remember"])


RULE = (
    "A workspace path is segments of A-Z a-z 0-9 _ . @ + - joined by '/', "
    "none of them empty, '.' or '..'."
)


def callers() -> list[Any]:
    """Return one of each kind: an agent key, who may do all, who may do some, who may nothing."""
    return [
        AgentKeyFactory(workspace="core"),
        UserFactory(is_superuser=True),
        holder("read-write"),
        UserFactory(),
    ]


@pytest.mark.parametrize("ask", [memory_for, tools_for])
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "The workspace path is empty; name a workspace such as 'core'."),
        ("/core", RULE),
        ("core/", RULE),
        ("core/../other", RULE),
        ("co re", RULE),
        ("core\0", RULE),
        ("c" * 256, "The workspace path is too long: 256 characters, the limit is 255."),
        (5, "The workspace path must be a string, not a number."),
        (b"core", "The workspace path must be a string, not a Python bytes."),
        (["core"], "The workspace path must be a string, not a list."),
        ({}, "The workspace path must be a string, not an object."),
    ],
)
def test_what_is_no_path_is_told_everybody_alike(ask: Any, path: Any, said: str) -> None:
    for caller in callers():
        with pytest.raises(Refused) as caught:
            ask(caller, path)
        assert str(caught.value).startswith(said)
    assert set(Workspace.objects.values_list("path", flat=True)) == {"core", "other"}


@pytest.mark.parametrize("ask", [memory_for, tools_for])
def test_a_workspace_that_is_not_there_is_as_one_that_is_not_theirs(ask: Any) -> None:
    key, everybody, some, nobody = callers()
    for caller in (key, some, nobody):
        for path in ("nowhere", "other"):
            with pytest.raises(NotAllowed, match=r"^There is no such workspace\.$"):
                ask(caller, path)
    ask(everybody, "nowhere")
    assert not Workspace.objects.filter(path="nowhere").exists()


@pytest.mark.parametrize("ask", [memory_for, tools_for])
def test_a_user_has_to_name_the_workspace(ask: Any) -> None:
    for user in callers()[1:]:
        with pytest.raises(Refused, match=r"^A user has to name the workspace\.$"):
            ask(user)


@pytest.mark.parametrize("ask", [memory_for, tools_for])
@pytest.mark.parametrize("caller", [None, "ann", 7, Workspace(path="core")])
def test_who_is_no_caller(ask: Any, caller: Any) -> None:
    for path in (None, "core"):
        with pytest.raises(Refused, match=r"^The caller must be an agent key or a user\.$"):
            ask(caller, path)


@pytest.mark.parametrize("ask", [memory_for, tools_for])
def test_who_is_not_there_opens_nothing(ask: Any) -> None:
    admin = UserFactory(is_superuser=True, is_active=False)
    for user in (AnonymousUser(), admin, holder("read-write", is_active=False)):
        with pytest.raises(NotAllowed, match=r"^There is no such workspace\.$"):
            ask(user, "core")


@pytest.mark.parametrize(
    "only",
    [
        "",
        "recal",
        "Recall",
        "recall,find",
        ["recall", "recal"],
        ["recall", None],
        [5],
        [["recall"]],
        [{}],
        [b"recall"],
        b"recall",
        {"tools": ["recall"]},
    ],
)
def test_what_names_no_tool(only: Any) -> None:
    for caller in callers()[:3]:
        with pytest.raises(Refused, match=r"^There is such a tool only: remember, .*\w\.$"):
            tools_for(caller, "core", only=only)


@pytest.mark.parametrize("only", [5, True, 1.5])
def test_tools_are_named_by_strings(only: Any) -> None:
    for caller in callers()[:3]:
        with pytest.raises(Refused, match=r"^Tools are named by a string or a list of strings\.$"):
            tools_for(caller, "core", only=only)


@pytest.mark.parametrize(
    ("only", "names"),
    [
        (None, ("remember", "recall", "forget", "list_memories", "search")),
        ("find", ("find",)),
        (["recall", "find", "recall", "recall"], ("recall", "find")),
        (("search", "recall"), ("recall", "search")),
        ({"recall": 1, "search": 2}, ("recall", "search")),
        ((name for name in ("recall",)), ("recall",)),
        ([], ()),
    ],
)
def test_tools_are_there_once_and_in_their_order(only: Any, names: tuple[str, ...]) -> None:
    assert tools_for(holder("read-write"), "core", only=only).names == names


class Writers(Policy):
    """Everybody writes everywhere, and nobody makes a workspace."""

    def user_may(self, user: Any, permission: str, path: str) -> bool:
        return permission not in ("add_workspace", "change_workspace")


def test_who_may_make_no_workspace_makes_none(settings: Any) -> None:
    settings.AGENT_MEMORY_POLICY = f"{__name__}.Writers"
    user = UserFactory()
    assert not memory_for(user, "core").read_only
    assert memory_for(user, "new").read_only
    assert "remember" not in tools_for(user, "new").names
    with pytest.raises(NotAllowed, match="add_workspace"):
        tools_for(user, "new", only=["remember"])
    assert not Workspace.objects.filter(path="new").exists()
