"""What it costs to find out who calls and what they may do, beside what the verb itself takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey, Grant
from tests.benchmarks.plans import explain
from tests.factories import UserFactory

from .conftest import Agent

pytestmark = pytest.mark.django_db

CALLS: dict[str, Callable[[Memory, str], Any]] = {
    "recall": lambda memory, key: memory.recall(key),
    "remember": lambda memory, key: memory.remember(key, "s", "b"),
    "forget": lambda memory, key: memory.forget(key),
    "list_memories": lambda memory, key: memory.list_memories(),
    "search": lambda memory, key: memory.search(key),
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "remember": {"summary": "s", "body": "b"},
    "list_memories": {},
}


KEY_BY_INDEX = {
    "sqlite": r"SEARCH agent_memory_agentkey USING INDEX \S+ \(digest=\?\)",
    "postgresql": r"Index Scan using agent_memory_agentkey_digest_\S+ on agent_memory_agentkey",
    "mysql": r"agent_memory_agentkey: const on digest",
}


def _key() -> Client:
    agent = Agent()
    agent.get("tools/")
    return agent.http


def _first_use_of_a_key() -> Client:
    agent = Agent()
    AgentKey.objects.update(last_used_at=None)
    return agent.http


def _session(**terms: Any) -> Client:
    client = Client()
    client.force_login(UserFactory(**terms))
    return client


def _granted() -> Client:
    user = UserFactory()
    Grant.objects.give(workspace="core", user=user, access="read-write")
    client = Client()
    client.force_login(user)
    return client


def _in_group() -> Client:
    group = Group.objects.create(name="desk")
    Grant.objects.give(workspace="core", group=group, access="read-write")
    user = UserFactory()
    user.groups.add(group)
    client = Client()
    client.force_login(user)
    return client


def _permitted() -> Client:
    return _session(
        permissions=["view_note", "add_note", "change_note", "delete_note", "add_workspace"]
    )


def _permitted_by_group() -> Client:
    client = _permitted()
    user = UserFactory._meta.model.objects.get()
    group = Group.objects.create(name="desk")
    group.permissions.set(user.user_permissions.all())
    user.user_permissions.clear()
    user.groups.add(group)
    return client


# Of a session Django reads session and user; all permissions are one statement, a grant is one
# more. A key's use is noted once a minute.
COSTS = {
    "key": (_key, 1),
    "first use of a key": (_first_use_of_a_key, 2),
    "superuser": (lambda: _session(is_superuser=True), 2),
    "permissions": (_permitted, 3),
    "permissions of a group": (_permitted_by_group, 3),
    "grant": (_granted, 4),
    "grant of a group": (_in_group, 4),
}
MOST = 4


def statements(sent: CaptureQueriesContext) -> int:
    """Count what reads or writes; how a transaction is held depends on the test."""
    return sum("SAVEPOINT" not in query["sql"] for query in sent)


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("who", COSTS)
def test_statements_beside_those_of_the_verb(who: str, tool: str) -> None:
    memory = Memory("core")
    for key in ("a/first", "b/second"):
        memory.remember(key, "s", "b")
    # What PostgreSQL's search knows of the database for a minute, it is to know from now on.
    memory.search("b/second")
    make, extra = COSTS[who]
    client = make()
    created = tool == "remember"
    with CaptureQueriesContext(connection) as by_verb:
        CALLS[tool](memory, "a/new" if created else "a/first")
    key = {"list_memories": {}, "search": {"pattern": "b/second"}}.get(tool, {"key": "b/second"})
    arguments = {**key, **ARGUMENTS.get(tool, {}), **({"key": "b/new"} if created else {})}
    with CaptureQueriesContext(connection) as by_http:
        response = client.post(
            f"/memory/tools/core/{tool}/", arguments, content_type="application/json"
        )
    assert response.status_code == 200
    # Beside the list itself, the answer has the revision.
    expected = statements(by_verb) + extra + (tool == "list_memories")
    assert extra <= MOST
    assert statements(by_http) == expected, [sent["sql"][:120] for sent in by_http]


def test_the_one_statement_of_a_key_uses_an_index() -> None:
    for number in range(500):
        AgentKey.objects.issue(workspace="core", name=f"agent-{number}")
    agent = Agent()
    agent.get("tools/")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE agent_memory_agentkey")
    with CaptureQueriesContext(connection) as queries:
        agent.get("tools/")
    (sent,) = queries
    plan = "\n".join(explain(sent["sql"]))
    assert re.search(KEY_BY_INDEX[connection.vendor], plan), plan
