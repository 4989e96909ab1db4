"""The tools over MCP: what is listed, what is answered, calls that come twice."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from django.db import OperationalError, connections
from django.utils import timezone

from django_agent_memory import Memory
from django_agent_memory.models import AgentKey, Revision
from django_agent_memory.tools import TOOLS, render
from tests.api.conftest import Agent, stored
from tests.factories import AgentKeyFactory

from .conftest import META, Handshaken, Modern, error

pytestmark = pytest.mark.django_db

CORE = ["remember", "recall", "forget", "list_memories", "search"]
KEY_IN_META = "django-agent-memory/idempotency-key"


def listed(client: Modern) -> list[str]:
    return [tool["name"] for tool in client.ask("tools/list")["tools"]]


def failed(told: Any, code: str) -> str:
    """Return the sentence of a call that failed with this code."""
    assert told["isError"] is True
    assert told["_meta"]["django-agent-memory/error"]["code"] == code
    text: str = told["content"][0]["text"]
    return text


def test_a_key_is_told_of_its_tools(client: Modern) -> None:
    tools = client.ask("tools/list")["tools"]
    assert tools == [render(TOOLS[name], "mcp") for name in CORE]
    assert all(tool["outputSchema"]["type"] == "object" for tool in tools)


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ({"access": "read"}, ["recall", "list_memories", "search"]),
        ({"tools": ["recall", "search"]}, ["recall", "search"]),
        ({"tools": [*TOOLS]}, [*TOOLS]),
        ({"access": "read", "tools": ["find", "recall"]}, ["recall", "find"]),
    ],
)
def test_other_keys_are_told_of_other_tools(terms: dict[str, Any], names: list[str]) -> None:
    agent = Agent(**terms)
    for client in (Modern(agent), Handshaken(agent)):
        assert listed(client) == names


def test_a_conversation(client: Modern) -> None:
    saved = client.call("remember", key="user/tea", summary="Green tea", body={"sugar": None})
    assert saved["content"] == [{"type": "text", "text": 'saved "user/tea".'}]
    assert saved["isError"] is False
    assert saved["structuredContent"] == {
        "key": "user/tea",
        "outcome": "created",
        "revision": 1,
        "workspace_revision": 1,
    }
    recalled = client.call("recall", key="user/tea")
    assert recalled["content"] == [{"type": "text", "text": '{"sugar":null}'}]
    assert recalled["structuredContent"]["body"] == {"sugar": None}
    assert client.call("recall", key="user/te")["structuredContent"] == {
        "key": "user/te",
        "found": False,
        "suggestions": ["user/tea"],
        "workspace_revision": 1,
    }
    assert client.call("forget", key="user/tea")["structuredContent"]["outcome"] == "forgot"
    assert Revision.objects.get(number=1).actor == client.agent.key.name


def test_what_rest_says_mcp_says(client: Modern) -> None:
    client.call("remember", key="k", summary="s", body="b")
    over_rest = client.agent.call("recall", key="k").json()
    told = client.call("recall", key="k")
    text = over_rest.pop("text")
    assert told["content"] == [{"type": "text", "text": text}]
    assert told["structuredContent"] == over_rest


def test_arguments_may_be_missing_or_a_json_string(client: Modern) -> None:
    assert client.ask("tools/call", {"name": "list_memories"})["isError"] is False
    assert (
        client.ask("tools/call", {"name": "list_memories", "arguments": None})["isError"] is False
    )
    told = client.ask("tools/call", {"name": "recall", "arguments": '{"key": "k"}'})
    assert told["structuredContent"]["found"] is False


def test_an_unknown_tool_is_named_with_those_there_are(agent: Agent) -> None:
    said = error(Modern(agent).send("tools/call", {"name": "erase"}), 400, -32602)
    assert said["message"] == f"There is no tool 'erase'; yours are: {', '.join(CORE)}."


@pytest.mark.parametrize(
    ("terms", "tool", "sentence"),
    [
        ({"access": "read"}, "remember", "This agent key has read access only; remember needs "
         "read-write access."),
        ({"access": "read"}, "forget", "This agent key has read access only; forget needs "
         "read-write access."),
        ({"tools": ["search"]}, "recall", "This agent key does not include the tool recall."),
        ({}, "store", "This agent key does not include the tool store."),
        ({}, "history", "This agent key does not include the tool history."),
    ],
)  # fmt: skip
def test_what_a_key_may_not_use_is_refused_when_called(
    terms: dict[str, Any], tool: str, sentence: str
) -> None:
    client = Modern(Agent(**terms))
    Memory("core").remember("k", "s", "b")
    before = stored()
    told = client.call(tool, key="k", summary="s", body="other")
    assert failed(told, "not_allowed") == sentence
    assert stored() == before


def test_a_conflict_says_the_current_revision(client: Modern) -> None:
    client.call("remember", key="k", summary="s", body="b")
    told = client.call("remember", key="k", summary="s", body="c", expected_revision=7)
    assert failed(told, "conflict").startswith('"k" is at revision 1, not at 7')
    assert told["_meta"]["django-agent-memory/error"]["current_revision"] == 1


def save(client: Modern, body: str = "b", meta: Any = None, **headers: str) -> Any:
    """Return the result of saving under an idempotency key, in `meta` or in a header."""
    arguments = {"key": "k", "summary": "s", "body": body}
    params: dict[str, Any] = {"name": "remember", "arguments": arguments}
    if meta is not None:
        own = {} if type(client) is Handshaken else META
        params["_meta"] = {**own, KEY_IN_META: meta}
    return client.ask("tools/call", params, **headers)


@pytest.mark.parametrize("where", [{"meta": "a1"}, {"Idempotency-Key": "a1"}])
def test_a_call_with_an_idempotency_key_is_done_once(client: Modern, where: dict[str, Any]) -> None:
    first = save(client, **where)
    Memory("core").remember("k", "s", "changed since")
    again = save(client, **where)
    assert again["structuredContent"] == first["structuredContent"]
    assert again["_meta"]["django-agent-memory/idempotency-replayed"] is True
    assert "django-agent-memory/idempotency-replayed" not in first.get("_meta", {})
    assert Revision.objects.count() == 2
    told = save(client, "something else", **where)
    assert failed(told, "replay_mismatch") == (
        '"a1" already names another call; give a new call a new name.'
    )
    assert Revision.objects.count() == 2


def test_the_key_is_the_same_in_header_and_meta_and_over_rest(client: Modern) -> None:
    save(client, meta="a1", **{"Idempotency-Key": '"a1"'})
    again = client.agent.send(
        "tools/remember/",
        {"key": "k", "summary": "s", "body": "b"},
        headers={"Idempotency-Key": "a1"},
    )
    assert again["Idempotency-Replayed"] == "true"
    assert Revision.objects.count() == 1


@pytest.mark.parametrize(
    ("meta", "headers"),
    [(5, {}), ("", {}), ("x" * 244, {}), ("a1", {"Idempotency-Key": "a2"})],
)
def test_a_bad_idempotency_key(client: Modern, meta: Any, headers: dict[str, str]) -> None:
    before = stored()
    told = save(client, meta=meta, **headers)
    assert told["_meta"]["django-agent-memory/error"]["code"] in ("refused", "too_large")
    assert stored() == before


def test_an_idempotency_key_of_a_list_is_nothing_to_record(client: Modern) -> None:
    for _ in range(2):
        assert client.ask("tools/list", **{"Idempotency-Key": "a1"})["tools"]
    assert save(client, **{"Idempotency-Key": "a1"})["isError"] is False


def test_a_private_note_is_there_in_its_session_only(client: Modern) -> None:
    arguments = {"key": "plan", "summary": "s", "body": "b", "persist": False}
    call = {"name": "remember", "arguments": arguments}
    assert failed(client.ask("tools/call", call), "refused").startswith("Only a memory with a")
    assert client.ask("tools/call", call, **{"Memory-Session": "s1"})["isError"] is False
    recall = {"name": "recall", "arguments": {"key": "plan"}}
    mine = client.ask("tools/call", recall, **{"Memory-Session": "s1"})
    assert mine["structuredContent"]["found"] is True
    assert client.ask("tools/call", recall)["structuredContent"]["found"] is False
    index = {"uri": "memory://core/index"}
    assert (
        "plan"
        in client.ask("resources/read", index, **{"Memory-Session": "s1"})["contents"][0]["text"]
    )
    assert client.ask("resources/read", index)["contents"][0]["text"] == ""


def recall(client: Modern) -> Any:
    return client.send("tools/call", {"name": "recall", "arguments": {"key": "k"}})


def test_a_database_that_is_down_is_said_in_the_protocol(
    client: Modern, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: Any, **__: Any) -> Any:
        monkeypatch.setattr(connections["default"], "is_usable", lambda: False)
        raise OperationalError("hunter2")

    monkeypatch.setattr(Memory, "lookup", lost)
    response = recall(client)
    said = error(response, 503, -32603)
    assert said["data"] == {"code": "unavailable"}
    assert response["Retry-After"] == "1"
    assert "hunter2" not in str(said)


def test_what_nobody_foresaw_is_said_without_its_text(
    client: Modern, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("hunter2")

    monkeypatch.setattr(Memory, "lookup", broken)
    said = error(recall(client), 500, -32603)
    assert said["data"] == {"code": "internal_error"}
    assert "hunter2" not in str(said)


def test_a_recall_takes_as_many_statements_as_over_rest(
    client: Modern, django_assert_num_queries: Any
) -> None:
    client.call("remember", key="k", summary="s", body="b")
    with django_assert_num_queries(2):
        client.agent.call("recall", key="k")
    with django_assert_num_queries(2):
        client.call("recall", key="k")
    with django_assert_num_queries(1):
        client.ask("tools/list")


CALLS: dict[str, list[dict[str, Any]]] = {
    "remember": [{"key": "n", "summary": "s", "body": body} for body in (1, 1, 2)],
    "recall": [{"key": "k"}, {"key": "kk"}],
    "forget": [{"key": "k"}, {"key": "k"}],
    "list_memories": [{}],
    "search": [{"pattern": "words"}, {"pattern": "nowhere"}],
    "store": [{"content": "c"}, {"content": {"a": 1}, "summary": "s"}],
    "find": [{"query": "words"}, {"kind": "fact"}, {"query": "nowhere"}],
    "forget_matching": [{"kind": "fact"}, {"kind": "none"}],
    "history": [{"key": "k"}, {"key": "other"}, {"key": "nowhere"}],
    "index": [{}],
}


@pytest.mark.parametrize("name", TOOLS)
def test_answers_are_as_their_schemas_say(memory: Memory, name: str) -> None:
    key = AgentKeyFactory(workspace="core", tools=[*TOOLS])
    client = Modern(Agent(key))
    memory.remember("k", "s", {"a": [1]}, weight=2, context=["x"], expires_at=None)
    memory.remember("k", None, "again, words", happened_at=timezone.now(), kind="fact")
    memory.remember("other", "words", "b")
    memory.forget("other")
    schema = client.ask("tools/list")["tools"][[*TOOLS].index(name)]["outputSchema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for arguments in CALLS[name]:
        told = client.call(name, **arguments)
        assert told["isError"] is False, told
        validator.validate(told["structuredContent"])


def test_the_schemas_are_exact(memory: Memory) -> None:
    """A field that no schema knows would be refused, so that none is forgotten there."""
    for spec in TOOLS.values():
        assert spec.answers["additionalProperties"] is False
        assert set(spec.answers["required"]) <= set(spec.answers["properties"])


def empty_schemas(schema: Any, place: str) -> list[str]:
    """Return where a schema says nothing of its values."""
    if not isinstance(schema, dict):
        return []
    inner = {**schema.get("properties", {}), "items": schema.get("items")}
    inner |= {str(n): branch for n, branch in enumerate(schema.get("anyOf", []))}
    found = [at for name, part in inner.items() for at in empty_schemas(part, f"{place}.{name}")]
    return found if schema.keys() - {"description"} else [place]


def test_no_schema_is_empty() -> None:
    """Clients that translate them to another dialect may drop or refuse such a one."""
    assert empty_schemas({"properties": {"a": {"description": "A."}}}, "x") == ["x.a"]
    for spec in TOOLS.values():
        said = render(spec, "mcp")
        for name in ("inputSchema", "outputSchema"):
            assert empty_schemas(said[name], f"{spec.name} {name}") == []


def test_a_revoked_key_is_out_at_once(client: Modern) -> None:
    assert listed(client)
    AgentKey.objects.get(pk=client.agent.key.pk).revoke()
    response = client.send("tools/list")
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"
    assert error(response, 401, -32600, id_=None)["data"] == {"code": "revoked_key"}
