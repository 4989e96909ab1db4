"""Every rule of the gate at every entrance: one sentence, the right status, nothing written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from django_agent_memory.models import IndexEntry, Note, Revision, Workspace

from .conftest import Agent, assert_problem, stored

pytestmark = pytest.mark.django_db

deep: Any = "x"
for _ in range(101):
    deep = [deep]

BAD_KEYS: list[tuple[Any, int]] = [
    ("", 400), ("a\x00b", 400), ("a\ud800", 400), ("a\x07b", 400), ("a\rb", 400), ("a\x85b", 400),
    ("k" * 513, 413), ("😀" * 513, 413), (7, 400), (None, 400), (True, 400), (["k"], 400),
    ({"k": 1}, 400), (1.5, 400),
]  # fmt: skip
BAD_SUMMARIES: list[tuple[Any, int]] = [
    ("a\x00b", 400), ("a\udfff", 400), ("s" * 10_001, 413), (7, 400), (["s"], 400), ({}, 400),
    (False, 400),
]  # fmt: skip
BAD_BODIES: list[tuple[Any, int]] = [
    ("a\x00b", 400), ("a\ud800b", 400), ({"a\x00": 1}, 400), ({"a": ["\x00"]}, 400),
    ([{"\ud800": 1}], 400), (deep, 400), ("b" * 1_000_001, 413), (["b" * 1_000_000], 413),
]  # fmt: skip
# As text, because a careful client cannot even write them.
BAD_JSON = [
    b"{", b"nul", b"{'key': 'k'}", b"[1,]", b'{"key":"k"} x', b'{"key":NaN}', b'{"key":Infinity}',
    b'{"key":-Infinity}', b'{"key":1e400}', b'{"key":"\x01"}', b"\xff\xfe{\x00}\x00",
    b'{"key":"\xc3"}', b'{"key":"\xed\xa0\x80"}', b"[" * 200_000, b'{"key":' + b"9" * 5000 + b"}",
]  # fmt: skip
NOT_OBJECTS = [[], [1], "text", 7, None, True, '"{}"', "[]"]
TOOLS = ("remember", "recall", "forget", "list_memories", "search")


def refused(agent: Agent, address: str, data: Any, status: int, method: str = "post") -> None:
    """Assert that it is refused with a sentence, and that no row of any table differs."""
    before = stored()
    problem = assert_problem(agent.send(address, data, method), status)
    if status == 413:
        assert problem["code"] == "too_large"
        assert sum(character.isdigit() for character in problem["detail"]) >= 6
        assert "do not retry unchanged" in problem["detail"]
    assert stored() == before


@pytest.mark.parametrize(("key", "status"), BAD_KEYS)
@pytest.mark.parametrize("tool", ["remember", "recall", "forget"])
def test_keys_of_tools(agent: Agent, tool: str, key: Any, status: int) -> None:
    agent.remember()
    rest = {"summary": "s", "body": "b"} if tool == "remember" else {}
    refused(agent, f"tools/{tool}/", {"key": key, **rest}, status)


@pytest.mark.parametrize(("summary", "status"), [*BAD_SUMMARIES, (None, 400)])
def test_summaries_of_tools(agent: Agent, summary: Any, status: int) -> None:
    agent.remember()
    refused(agent, "tools/remember/", {"key": "k", "summary": summary, "body": "x"}, status)


@pytest.mark.parametrize(("body", "status"), BAD_BODIES)
def test_bodies_of_tools(agent: Agent, body: Any, status: int) -> None:
    agent.remember()
    refused(agent, "tools/remember/", {"key": "k", "summary": "s", "body": body}, status)


@pytest.mark.parametrize("pattern", [7, None, True, ["x"], {"x": 1}])
def test_patterns(agent: Agent, pattern: Any) -> None:
    refused(agent, "tools/search/", {"pattern": pattern}, 400)


@pytest.mark.parametrize("expected", ["1", -1, True, 1.5, [1], {}])
@pytest.mark.parametrize("tool", ["remember", "forget"])
def test_expected_revisions(agent: Agent, tool: str, expected: Any) -> None:
    agent.remember()
    rest = {"summary": "s", "body": "b2"} if tool == "remember" else {}
    arguments = {"key": "k", "expected_revision": expected, **rest}
    refused(agent, f"tools/{tool}/", arguments, 400)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("extra", ["x", "", "\ud800", "a\x00b", "y" * 5000, "<b>", "новый"])
def test_unknown_arguments(agent: Agent, tool: str, extra: str) -> None:
    arguments = {"key": "k", "summary": "s", "body": "b", "pattern": "p"}
    needed = {
        "remember": ("key", "summary", "body"), "recall": ("key",), "forget": ("key",),
        "list_memories": (), "search": ("pattern",),
    }[tool]  # fmt: skip
    before = stored()
    data = {**{name: arguments[name] for name in needed}, extra: 1}
    response = agent.send(f"tools/{tool}/", data)
    assert response.status_code == 400
    document = json.loads(response.content)
    assert len(document["detail"]) <= 300
    assert "does not know" in document["detail"]
    assert stored() == before


@pytest.mark.parametrize(
    ("tool", "given"),
    [("remember", {"key": "k", "summary": "s"}), ("remember", {"key": "k", "body": "b"}),
     ("remember", {"summary": "s", "body": "b"}), ("recall", {}), ("forget", {}), ("search", {})],
)  # fmt: skip
def test_missing_arguments(agent: Agent, tool: str, given: dict[str, Any]) -> None:
    agent.remember()
    refused(agent, f"tools/{tool}/", given, 400)


@pytest.mark.parametrize("raw", BAD_JSON)
@pytest.mark.parametrize("tool", TOOLS)
def test_bad_json_of_tools(agent: Agent, tool: str, raw: bytes) -> None:
    refused(agent, f"tools/{tool}/", raw, 400)


@pytest.mark.parametrize("data", [data for data in NOT_OBJECTS if data is not None])
@pytest.mark.parametrize("tool", TOOLS)
def test_arguments_that_are_no_object(agent: Agent, tool: str, data: Any) -> None:
    refused(agent, f"tools/{tool}/", json.dumps(data), 400)


@pytest.mark.parametrize("tool", [name for name in TOOLS if name != "list_memories"])
def test_null_lacks_the_arguments_that_are_needed(agent: Agent, tool: str) -> None:
    refused(agent, f"tools/{tool}/", "null", 400)


# Resources


@pytest.mark.parametrize(("key", "status"), BAD_KEYS)
def test_keys_of_notes(agent: Agent, key: Any, status: int) -> None:
    refused(agent, "notes/", {"key": key, "body": "b"}, status)


@pytest.mark.parametrize(("summary", "status"), BAD_SUMMARIES)
@pytest.mark.parametrize("method", ["post", "put", "patch"])
def test_summaries_of_notes(agent: Agent, method: str, summary: Any, status: int) -> None:
    agent.remember()
    data = {"summary": summary, "body": "x"}
    if method == "post":
        refused(agent, "notes/", {"key": "new", **data}, status)
    else:
        refused(agent, f"notes/{Note.objects.get().pk}/", data, status, method)


@pytest.mark.parametrize(("body", "status"), BAD_BODIES)
@pytest.mark.parametrize("method", ["post", "put", "patch"])
def test_bodies_of_notes(agent: Agent, method: str, body: Any, status: int) -> None:
    agent.remember()
    if method == "post":
        refused(agent, "notes/", {"key": "new", "body": body}, status)
    else:
        refused(agent, f"notes/{Note.objects.get().pk}/", {"body": body}, status, method)


@pytest.mark.parametrize(
    "fields",
    [{"x": 1}, {"key": "k"}, {"workspace": "core"}, {"reason": 7}, {"reason": "r\x00"},
     {"expected_revision": "1"}, {"expected_revision": True}, {"haystack": "x"}],
)  # fmt: skip
@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_fields_of_notes(agent: Agent, method: str, fields: dict[str, Any]) -> None:
    agent.remember()
    data = fields if method == "delete" else {"body": "x", **fields}
    refused(agent, f"notes/{Note.objects.get().pk}/", data, 400, method)


@pytest.mark.parametrize("data", [{}, {"key": "n"}, {"body": "b"}, {"key": "n", "body": 1, "x": 1}])
def test_fields_of_new_notes(agent: Agent, data: dict[str, Any]) -> None:
    refused(agent, "notes/", data, 400)


def test_a_put_without_a_body(agent: Agent) -> None:
    agent.remember()
    refused(agent, f"notes/{Note.objects.get().pk}/", {"summary": "x"}, 400, "put")


@pytest.mark.parametrize("raw", BAD_JSON)
@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_bad_json_of_resources(agent: Agent, method: str, raw: bytes) -> None:
    agent.remember()
    refused(agent, "notes/", raw, 400)
    refused(agent, f"notes/{Note.objects.get().pk}/", raw, 400, method)


@pytest.mark.parametrize("data", NOT_OBJECTS)
@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_resources_take_objects(agent: Agent, method: str, data: Any) -> None:
    agent.remember()
    refused(agent, "notes/", json.dumps(data), 400)
    refused(agent, f"notes/{Note.objects.get().pk}/", json.dumps(data), 400, method)


def test_what_is_read_only_has_no_writes(agent: Agent) -> None:
    agent.remember()
    for address, model in (("index-entries", IndexEntry), ("revisions", Revision)):
        pk = model.objects.get().pk  # type: ignore[attr-defined]
        refused(agent, f"{address}/", {}, 405)
        for method in ("put", "patch", "delete"):
            refused(agent, f"{address}/{pk}/", {}, 405, method)
    pk = Workspace.objects.get().pk
    for method in ("put", "delete"):
        refused(agent, f"workspaces/{pk}/", {}, 405, method)
    for address in ("tools/", "index/"):
        refused(agent, address, {}, 405)


# The request itself


@pytest.mark.parametrize("address", ["tools/remember/", "notes/"])
@pytest.mark.parametrize(
    "kind",
    ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain",
     "application/xml", "application/jsonp", "garbage", "application/json; charset=latin-1",
     "application/json; charset=utf-16", "application/json; charset=nonsense"],
)  # fmt: skip
def test_other_media_types(agent: Agent, address: str, kind: str) -> None:
    before = stored()
    body = '{"key":"k","summary":"s","body":"b"}'
    response = agent.send(address, body, content_type=kind)
    assert_problem(response, 415, "unsupported_media_type")
    assert stored() == before


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf-8"', "utf8"])
def test_utf_8_by_its_names(agent: Agent, charset: str) -> None:
    response = agent.send(
        "tools/search/", '{"pattern":"é"}', content_type=f"application/json; charset={charset}"
    )
    assert response.json()["pattern"] == "é"


def test_a_compressed_body(agent: Agent) -> None:
    response = agent.send("tools/search/", "{}", headers={"Content-Encoding": "gzip"})
    assert "Content-Encoding" in assert_problem(response, 415)["detail"]


@pytest.mark.parametrize("address", ["tools/remember/", "notes/"])
@pytest.mark.parametrize("django_limit", [None, 100, 10**9])
def test_a_body_over_our_limit(
    agent: Agent, settings: Any, address: str, django_limit: int | None
) -> None:
    settings.AGENT_MEMORY_MAX_REQUEST_BYTES = 1000
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = django_limit
    fits = json.dumps({"key": "k", "summary": "s", "body": ""})
    fits = fits.replace('""', f'"{"b" * (1000 - len(fits))}"')
    before = stored()
    response = agent.send(address, fits + " ")
    detail = assert_problem(response, 413, "too_large")["detail"]
    assert "1001 bytes" in detail
    assert "1000" in detail
    assert stored() == before
    assert agent.send(address, fits).status_code in (200, 201)


def test_three_megabytes_pass_the_default_limits(agent: Agent) -> None:
    body = "\u00e9" * 600_000
    raw = json.dumps({"key": "k", "summary": "s", "body": body})
    assert len(raw) > 3_000_000
    assert agent.send("tools/remember/", raw).status_code == 200
    assert Note.objects.get().body == body
