"""The index and the notes as resources, the prompt, completion of keys."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from django_agent_memory import Memory
from tests.api.conftest import Agent

from .conftest import Handshaken, Modern, error

pytestmark = pytest.mark.django_db

TEMPLATE = "memory://core/notes/{+key}"


def read(client: Modern, uri: str) -> Any:
    (content,) = client.ask("resources/read", {"uri": uri})["contents"]
    assert content["uri"] == uri
    return content


def complete(client: Modern, value: str, uri: str = TEMPLATE, name: str = "key") -> Any:
    reference = {"type": "ref/resource", "uri": uri}
    argument = {"name": name, "value": value}
    return client.send("completion/complete", {"ref": reference, "argument": argument})


def test_the_index_is_the_resource(client: Modern) -> None:
    assert client.ask("resources/list")["resources"] == [
        {
            "uri": "memory://core/index",
            "name": "index",
            "title": "Memory index",
            "description": "One line for each memory: its key and summary. For every turn.",
            "mimeType": "text/plain",
            "annotations": {"audience": ["assistant"], "priority": 1.0},
        }
    ]
    assert read(client, "memory://core/index")["text"] == ""
    Memory("core").remember("user/tea", "Green tea", "b")
    assert read(client, "memory://core/index") == {
        "uri": "memory://core/index",
        "mimeType": "text/plain",
        "text": "[memory index]\n- user/tea: Green tea",
    }


def test_notes_are_a_template(client: Modern) -> None:
    assert client.ask("resources/templates/list")["resourceTemplates"] == [
        {
            "uriTemplate": TEMPLATE,
            "name": "notes",
            "title": "Memories",
            "description": "The whole memory under a key, as it was saved.",
        }
    ]


@pytest.mark.parametrize(
    "key",
    ["k", "user/tea", "a b", "a?b#c", "100%", "a%41", "Zoë/日本", "a\tb", "../x", "a//b", "{+key}",
     "index", "x" * 512],
)  # fmt: skip
def test_a_note_is_read_by_its_key(agent: Agent, key: str) -> None:
    Memory("core").remember(key, "s", "the body")
    for safe in ("", "/", "/?#[]@!$&'()*+,;=:{} ë日本"):
        uri = f"memory://core/notes/{quote(key, safe=safe)}"
        assert read(Handshaken(agent), uri) == {
            "uri": uri,
            "mimeType": "text/plain",
            "text": "the body",
        }


def test_json_is_read_as_json(client: Modern) -> None:
    Memory("core").remember("k", "s", {"a": [1, "é"]})
    content = read(client, "memory://core/notes/k")
    assert (content["mimeType"], content["text"]) == ("application/json", '{"a":[1,"é"]}')


@pytest.mark.parametrize(
    "uri",
    [
        "memory://core/notes/nowhere",
        "memory://core/index/",
        "memory://core/indexes",
        "memory://core/",
        "memory://tenant-b/index",
        "memory://tenant-b/notes/k",
        "memory://core/../tenant-b/index",
        "memory://Core/index",
        "http://core/index",
        "file:///etc/passwd",
        "",
        "\x00",
    ],
)
def test_what_is_not_there(agent: Agent, uri: str) -> None:
    Memory("tenant-b").remember("k", "hidden", "hidden")
    if uri.isprintable():
        said = error(Modern(agent).send("resources/read", {"uri": uri}), 400, -32602)
        assert "hidden" not in str(said)
        assert said["data"] == {"uri": uri}
    said = error(Handshaken(agent).send("resources/read", {"uri": uri}), 200, -32002)
    assert said["data"] == {"uri": uri}


def test_an_unknown_key_is_answered_with_near_ones(client: Modern) -> None:
    Memory("core").remember("user/tea", "s", "b")
    response = client.send("resources/read", {"uri": "memory://core/notes/user/te"})
    assert "Did you mean" in response.json()["error"]["message"]


def test_a_workspace_below_others(db: None) -> None:
    agent = Agent(workspace="tenant-7/me@home")
    Memory("tenant-7/me@home").remember("k", "s", "b")
    client = Modern(agent, "mcp/tenant-7/me@home/")
    (index,) = client.ask("resources/list")["resources"]
    assert index["uri"] == "memory://tenant-7/me@home/index"
    assert read(client, index["uri"])["text"] == "[memory index]\n- k: s"
    assert read(client, "memory://tenant-7/me@home/notes/k")["text"] == "b"


def test_a_key_that_may_not_recall_reads_the_index_and_no_note(db: None) -> None:
    agent = Agent(tools=["search", "list_memories"])
    Memory("core").remember("k", "s", "b")
    client = Handshaken(agent)
    assert client.ask("resources/templates/list") == {"resourceTemplates": []}
    assert "- k: s" in read(client, "memory://core/index")["text"]
    said = error(client.send("resources/read", {"uri": "memory://core/notes/k"}), 200, -32002)
    assert said["message"] == "This agent key does not include the tool recall."


def test_the_prompt_is_the_index(client: Modern) -> None:
    (prompt,) = client.ask("prompts/list")["prompts"]
    assert prompt["name"] == "memory_index"

    def text() -> str:
        told = client.ask("prompts/get", {"name": "memory_index"})
        (message,) = told["messages"]
        assert message["role"] == "user"
        assert message["content"]["type"] == "text"
        return str(message["content"]["text"])

    assert text() == "(no memories saved yet.)"
    Memory("core").remember("user/tea", "Green tea", "b")
    assert text() == "[memory index]\n- user/tea: Green tea"


@pytest.mark.parametrize("number", [99, 100, 101])
def test_keys_are_completed_to_a_hundred(
    client: Modern, number: int, django_assert_num_queries: Any
) -> None:
    Memory("core").values.update({f"user/{n:03}": n for n in range(number)} | {"zebra": 1})
    with django_assert_num_queries(2):
        response = complete(client, "user/")
    completion = response.json()["result"]["completion"]
    assert completion["values"] == [f"user/{n:03}" for n in range(min(number, 100))]
    assert completion["hasMore"] is (number > 100)
    assert complete(client, "nowhere").json()["result"]["completion"]["values"] == []


def test_what_else_cannot_be_completed(client: Modern) -> None:
    for response in (
        complete(client, "x", uri="memory://tenant-b/notes/{+key}"),
        complete(client, "x", uri="memory://core/index"),
        complete(client, "x", name="other"),
        complete(client, "x" * 513),
        complete(client, "\x00"),
    ):
        error(response, response.status_code, -32602)


def test_keys_are_completed_only_for_whoever_may_list_them(db: None) -> None:
    Memory("core").remember("k", "s", "b")
    response = complete(Modern(Agent(tools=["recall"])), "")
    assert response.json()["result"]["completion"] == {"values": [], "hasMore": False}
