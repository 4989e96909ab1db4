"""The description is whole and true: every address and method, and what they really answer."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.test import Client
from drf_spectacular.settings import patched_settings
from jsonschema import ValidationError

from django_agent_memory.api.codes import CODES
from django_agent_memory.api.openapi.lists import RESOURCES
from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey, Grant, IndexEntry, Note, Revision, Workspace
from django_agent_memory.tools import TOOLS
from django_agent_memory.urls import urlpatterns
from tests.console import steps
from tests.factories import AgentKeyFactory, UserFactory

from .conftest import Agent
from .described import Contract, document, operations, site_document

pytestmark = pytest.mark.django_db

CONTRACT = Contract(document())
# What describes is not described, nor what every caller is refused; MCP describes itself.
OTHERS = {"schema", "schema-docs", "rollback", "mcp", "workspace-mcp"}
ROWS = {
    "workspaces": Workspace,
    "notes": Note,
    "index-entries": IndexEntry,
    "revisions": Revision,
    "agent-keys": AgentKey,
    "grants": Grant,
}
MADE = re.compile("create|issue|rotate|give")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"


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


@pytest.mark.parametrize(
    "terms",
    [
        {"CAMELIZE_NAMES": True},
        {"COMPONENT_SPLIT_REQUEST": True, "ENUM_SUFFIX": ""},
        {"SCHEMA_PATH_PREFIX": "/memory", "SCHEMA_PATH_PREFIX_TRIM": True},
        {"SORT_OPERATIONS": False, "SORT_OPERATION_PARAMETERS": False},
        {"PREPROCESSING_HOOKS": ["tests.api.described.only_index"], "POSTPROCESSING_HOOKS": []},
    ],
)
def test_the_sites_own_settings_hold_for_its_schema_and_not_for_ours(
    terms: dict[str, Any],
) -> None:
    with patched_settings(terms):
        call_command("spectacular", "--fail-on-warn", "--validate", stdout=StringIO())
        assert document() == CONTRACT.given


def test_the_site_has_every_operation_once_for_each_mount() -> None:
    ours = set(CONTRACT.operations)
    there = set(operations(site_document()))
    assert there == ours | {f"{name}_2" for name in ours}


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


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_answers_what_its_spec_says(name: str) -> None:
    """What MCP tells of an answer and what is told here are written apart, and are the same."""
    (operation,) = (
        operation
        for method, path, operation in CONTRACT.operations.values()
        if (method, path) == ("post", f"/tools/{name}/")
    )
    told = operation["responses"]["200"]["content"]["application/json"]["schema"]
    answers = [CONTRACT.resolved(one) for one in told.get("anyOf", [told])]
    fields = {field for answer in answers for field in answer["properties"]}
    always = set.intersection(*(set(answer["required"]) for answer in answers))
    assert fields == {"text", *TOOLS[name].answers["properties"]}
    assert always == {"text", *TOOLS[name].answers["required"]}


def test_lists_take_the_filters_that_they_take() -> None:
    for viewset, rows in RESOURCES.items():
        _, _, operation = CONTRACT.operations[f"list_{rows.several}"]
        named = [parameter["name"] for parameter in operation["parameters"]]
        paging = ["cursor", "page_size", "ordering"]
        assert named == [*viewset.filters.base_filters, *paging]


def test_every_code_of_a_problem_is_there_with_its_status() -> None:
    components = CONTRACT.document["components"]
    assert components["schemas"]["MemoryProblemCode"]["enum"] == list(CODES)
    described = {
        (code, content["example"]["status"])
        for answer in components["responses"].values()
        for content in answer["content"].values()
        for code in re.findall(r"^`(\w+)`", answer["description"], re.MULTILINE)
    }
    # A method that an address does not take has no operation.
    expected = {(code, status) for code, (status, _) in CODES.items()}
    assert described == expected - {("method_not_allowed", 405)}


@pytest.fixture
def client() -> Client:
    """A superuser's browser: it may all that a user may."""
    memory = Memory("core", actor="scribe")
    memory.remember("user/tea", "Green tea, never coffee", "No sugar.")
    client = Client(raise_request_exception=False)
    # The one that the examples name.
    client.force_login(UserFactory(pk=1, username="root", is_superuser=True))
    AgentKeyFactory(workspace="core", name="desk")
    Grant.objects.create(
        workspace=Workspace.objects.get(), group=Group.objects.create(name="g"), access="read"
    )
    return client


@pytest.fixture
def agent(client: Client) -> Client:
    """An agent that may use every tool of `core`."""
    key = AgentKeyFactory(workspace="core", tools=[*TOOLS])
    return Client(headers={"Authorization": f"Bearer {key.secret}"}, raise_request_exception=False)


def sent(client: Client, method: str, path: str, operation: dict[str, Any]) -> Any:
    """Send the examples of the operation."""
    given: dict[str, Any] = {"query": {}, "header": {}, "path": {}}
    for parameter in operation.get("parameters", []):
        if "example" in parameter:
            given[parameter["in"]][parameter["name"]] = parameter["example"]
    if "{id}" in path:  # that of the example is anybody's
        given["path"]["id"] = ROWS[path.split("/")[1]].objects.order_by("pk")[0].pk
    content = operation.get("requestBody", {}).get("content", {})
    body = content.get("application/json", {}).get("example", "")
    query = "&".join(f"{name}={value}" for name, value in given["query"].items())
    return client.generic(
        method.upper(),
        "/memory" + path.format(**given["path"]),
        data=json.dumps(body) if content else "",
        content_type="application/json",
        QUERY_STRING=query,
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


@pytest.mark.parametrize("name", CONTRACT.operations)
def test_what_one_may_not_and_what_is_wrong_is_answered_as_described(
    name: str, client: Client, agent: Client
) -> None:
    method, path, operation = CONTRACT.operations[name]
    answers = [
        sent(Client(), method, path, operation),
        sent(Agent(access="read", workspace="core").http, method, path, operation),
        sent(Agent(workspace="tenant-b").http, method, path, operation),
    ]
    for address in (path, path.replace("{id}", "999").replace("{workspace}", "tenant-b")):
        for body in ("{", "[]", '{"no": "such"}'):
            answers.append(
                agent.generic(
                    method.upper(),
                    "/memory" + address.format(id=1, workspace="core"),
                    body,
                    content_type="application/json",
                    QUERY_STRING="no=such",
                )
            )
    assert answers[0].status_code == 401
    for response in answers:
        CONTRACT.check(operation, response)


def described_by(method: str, address: str) -> dict[str, Any]:
    """Return the operation of a method at an address, which has a query or none."""
    path = "/" + address.partition("?")[0]
    for known, described, operation in CONTRACT.operations.values():
        pattern = described.replace("{workspace}", ".+").replace("{id}", r"\d+")
        if method == known and re.fullmatch(pattern, path):
            return operation
    raise LookupError(f"{method} {path}")


def test_the_answers_that_the_docs_show_are_as_described() -> None:
    checked = set()
    for command, output in steps(PAGE.read_text(encoding="utf-8")):
        address = re.search(r"\$API/([^\s\"]*)", command)
        if not address or not output.startswith("{") or address[1].startswith(("schema", "mcp")):
            continue
        named = re.search(r"-X (\w+)", command)
        method = named[1].lower() if named else "post" if "--json" in command else "get"
        operation = described_by(method, address[1])
        answer = json.loads(output)
        status = str(answer["status"]) if "code" in answer else "200"
        if status not in operation["responses"] or MADE.match(operation["operationId"]):
            status = "201" if status == "200" else status
        content = CONTRACT.resolved(operation["responses"][status])["content"]
        kind = "application/problem+json" if "code" in answer else "application/json"
        CONTRACT.validate(content[kind]["schema"], answer)
        checked.add(operation["operationId"])
    assert len(checked) > 25


def test_an_answer_unlike_described_would_be_found() -> None:
    answer = {"key": "k", "deleted": True, "revision": None, "workspace_revision": 1}
    schema = {"$ref": "#/components/schemas/MemoryValueDeleted"}
    CONTRACT.validate(schema, answer)
    for wrong in ({**answer, "more": 1}, {**answer, "deleted": "yes"}, {"key": "k"}):
        with pytest.raises(ValidationError):
            CONTRACT.validate(schema, wrong)


def test_the_body_of_an_answer_may_be_any_value() -> None:
    schemas = CONTRACT.given["components"]["schemas"]
    for name in ("MemoryToolRecalled", "MemoryToolRevision"):
        body = schemas[name]["properties"]["body"]
        assert not body.keys() & {"type", "anyOf"}, name
