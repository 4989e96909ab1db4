"""What Python and adapters are handed for somebody: what the policy lets them do, and no more."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
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
    for stranger in (UserFactory(), holder("read-write", is_active=False)):
        for path in ("core", "other", "nowhere"):
            if path == "core" and not stranger.is_active:
                continue
            with pytest.raises(NotAllowed, match="There is no such workspace"):
                memory_for(stranger, path)


def test_what_is_asked_wrongly() -> None:
    user = UserFactory(is_superuser=True)
    with pytest.raises(Refused, match="has to name the workspace"):
        memory_for(user)
    with pytest.raises(Refused, match="There is such a tool only: remember,"):
        tools_for(user, "core", only=["recal"])


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
