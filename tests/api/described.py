"""The document that describes the API, and answers held against it."""

from __future__ import annotations

import json
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator

from django_agent_memory.api.openapi.binding import MemoryGenerator

NEWER = {"OAS_VERSION": "3.1.0"}
"""What a site may set, for its own schema to be of the version that ours is."""

METHODS = ("get", "put", "post", "delete", "patch")


def only_index(endpoints: list[Any]) -> list[Any]:
    """Leave out all endpoints but one, as a site's hook may."""
    return [endpoint for endpoint in endpoints if endpoint[0] == "/memory/index/"]


def document() -> dict[str, Any]:
    """Return our own document."""
    made: dict[str, Any] = json.loads(
        json.dumps(MemoryGenerator(urlconf="django_agent_memory.urls").get_schema())
    )
    return made


def site_document() -> dict[str, Any]:
    """Return the schema of the whole test site, as its settings want it."""
    made: dict[str, Any] = json.loads(json.dumps(SchemaGenerator().get_schema(public=True)))
    return made


def operations(described: dict[str, Any]) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Return method, path and operation by the operation's id; raises where one is there twice."""
    found: dict[str, tuple[str, str, dict[str, Any]]] = {}
    for path, item in described["paths"].items():
        for method in METHODS:
            if method in item:
                operation = item[method]
                assert operation["operationId"] not in found, operation["operationId"]
                found[operation["operationId"]] = (method, path, operation)
    return found


def closed(schema: Any) -> Any:
    """Return the schema with every object that names its fields closed to others."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(value) for name, value in schema.items()}
    if found.get("type") == "object" and "properties" in found:
        found.setdefault("additionalProperties", False)
    return found


class Contract:
    """Checks answers against a document, in which no field may be that is not described."""

    def __init__(self, described: dict[str, Any]) -> None:
        self.given = described
        strict = {**described, "components": closed(described["components"])}
        self.document = strict
        self.operations = operations(described)

    def check(self, operation: dict[str, Any], response: Any) -> None:
        """Assert that the operation describes the status, the type and the body."""
        name = operation["operationId"]
        answers = operation["responses"]
        status = str(response.status_code)
        assert status in answers, (name, status, response.content[:300])
        answer = self.resolved(answers[status])
        for header in answer.get("headers", {}):
            if header != "Idempotency-Replayed":
                assert header in response.headers, (name, status, header)
        if "content" not in answer:
            assert response.content == b""
            return
        kind = response["Content-Type"].partition(";")[0]
        assert kind in answer["content"], (name, status, kind)
        if kind.endswith("json"):
            self.validate(answer["content"][kind]["schema"], response.json())

    def validate(self, schema: dict[str, Any], value: Any) -> None:
        """Raise unless the value is as the schema says."""
        whole = {**schema, "components": self.document["components"]}
        Draft202012Validator(whole).validate(value)

    def resolved(self, part: dict[str, Any]) -> dict[str, Any]:
        """Return what the part refers to, or the part."""
        if "$ref" not in part:
            return part
        found: Any = self.document
        for step in part["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        return dict(found)
