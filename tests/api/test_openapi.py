"""The description is whole and true: every address and method, and what they really answer."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from django_agent_memory.memory import Memory
from django_agent_memory.models import IndexEntry, Note, Revision, Workspace
from django_agent_memory.tools import TOOLS
from django_agent_memory.urls import urlpatterns
from tests.factories import AgentKeyFactory, UserFactory

from .described import Contract, document, operations, site_document

pytestmark = pytest.mark.django_db

CONTRACT = Contract(document())
# What describes is not described, nor what every caller is refused.
OTHERS = {"schema", "schema-docs", "rollback"}


@pytest.mark.parametrize(
    ("terms", "version"),
    [([], "3.0.3"), (["--custom-settings", "tests.api.described.NEWER"], "3.1.0")],
)
def test_the_schema_of_a_site_is_valid_and_without_a_warning(
    terms: list[str], version: str
) -> None:
    out = StringIO()
    call_command("spectacular", *terms, "--fail-on-warn", "--validate", stdout=out)
    assert out.getvalue().startswith(f"openapi: {version}")


def methods(pattern: Any) -> set[str]:
    view = pattern.callback
    return set(getattr(view, "actions", None) or view.cls.http_method_names) - {"head"}


def routes() -> set[tuple[str, str]]:
    """Return method and path of every route with a final slash, but of those of all tools."""
    found = set()
    for pattern in urlpatterns:
        route = str(pattern.pattern)
        if not pattern.name or pattern.name in OTHERS or route.endswith("<str:tool>/"):
            continue
        path = "/" + route.replace("<path:workspace>", "{workspace}").replace("<int:pk>", "{id}")
        tool = TOOLS.get(pattern.default_args.get("tool", ""))
        taken = {"post"} if tool and not tool.read_only else methods(pattern)
        found |= {(method, path) for method in taken}
    return found


def test_every_address_and_method_is_there_and_no_other() -> None:
    described = {(method, path) for method, path, _ in CONTRACT.operations.values()}
    assert described == routes()
    tools = {f"/tools/{name}/" for name in TOOLS}
    assert tools <= {path for _, path in described}


@pytest.fixture
def client() -> Client:
    """A superuser's browser: it may all that a user may."""
    memory = Memory("core", actor="scribe")
    memory.remember("user/tea", "Green tea, never coffee", "No sugar.")
    client = Client(raise_request_exception=False)
    client.force_login(UserFactory(username="root", is_superuser=True))
    return client


@pytest.fixture
def agent(client: Client) -> Client:
    """An agent that may use every tool of `core`."""
    key = AgentKeyFactory(workspace="core", tools=[*TOOLS])
    return Client(headers={"Authorization": f"Bearer {key.secret}"}, raise_request_exception=False)


ROWS = {
    "workspaces": Workspace,
    "notes": Note,
    "index-entries": IndexEntry,
    "revisions": Revision,
}


def sent(client: Client, method: str, path: str, operation: dict[str, Any]) -> Any:
    """Send the examples of the operation."""
    given: dict[str, Any] = {"query": {}, "header": {}, "path": {}}
    for parameter in operation.get("parameters", []):
        if "example" in parameter:
            given[parameter["in"]][parameter["name"]] = parameter["example"]
    if "{id}" in path:
        given["path"]["id"] = ROWS[path.split("/")[1]].objects.get().pk
    content = operation.get("requestBody", {}).get("content", {})
    body = content.get("application/json", {}).get("example", "")
    return client.generic(
        method.upper(),
        "/memory" + path.format(**given["path"]),
        data=json.dumps(body) if content else "",
        content_type="application/json",
        query_params=given["query"],
        headers=given["header"],
    )


@pytest.mark.parametrize("name", CONTRACT.operations)
def test_the_examples_are_answered_as_described(name: str, client: Client, agent: Client) -> None:
    method, path, operation = CONTRACT.operations[name]
    by_key = {"MemoryAgentKey": []} in operation["security"]
    response = sent(agent if by_key else client, method, path, operation)
    assert response.status_code < 300, response.content
    CONTRACT.check(operation, response)
    content = operation["responses"][str(response.status_code)]["content"]["application/json"]
    if "example" in content:
        assert response.json() == content["example"]


def test_the_site_has_the_same_operations_twice_for_two_mounts() -> None:
    ours = set(CONTRACT.operations)
    there = set(operations(site_document()))
    assert there == ours | {f"{name}_2" for name in ours}
