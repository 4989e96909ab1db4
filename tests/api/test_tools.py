"""The five tools over HTTP: texts, fields, forms of the address, awkward keys and bodies."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_agent_memory.memory import Memory
from django_agent_memory.models import Note, Revision
from django_agent_memory.tools import STYLES
from tests.factories import NoteFactory

from .conftest import Agent, assert_problem, stored

pytestmark = pytest.mark.django_db

AWKWARD_KEYS = [
    "user/name", "a//b", "a/../b", "/lead", "trail/", "..", "a%2Fb", "a?b#c", " a ", "ключ",
    "notes.v1.json", "a\nb", "a\tb", "a&b=c+d;e", "%00", "😀" * 512,
]  # fmt: skip


def test_an_agents_day(agent: Agent) -> None:
    saved = agent.remember("user/name", "Name is Alice", "Alice Liddell")
    assert saved == {
        "text": 'saved "user/name".',
        "key": "user/name",
        "outcome": "created",
        "revision": 1,
        "workspace_revision": 1,
    }
    again = agent.remember("user/name", "Name is Alice", "Alice Liddell")
    assert (again["outcome"], again["workspace_revision"]) == ("unchanged", 1)
    replaced = agent.remember("user/name", "Name is Alice", "Alice P. Liddell")
    assert replaced["outcome"] == "replaced"
    assert "revision 1" in replaced["text"]

    note = agent.call("recall", key="user/name").json()
    assert note["text"] == note["body"] == "Alice P. Liddell"
    assert note["found"] is True
    assert (note["revision"], note["workspace_revision"]) == (2, 2)
    assert note["created_at"].endswith("+00:00")

    listed = agent.call("list_memories").json()
    assert listed["text"] == "- user/name: Name is Alice"
    found = agent.call("search", pattern="LIDDELL").json()
    assert (found["total"], found["shown"], found["workspace_revision"]) == (1, 1, 2)
    assert found["matches"][0]["excerpt"] == "Alice P. Liddell"

    gone = agent.call("forget", key="user/name").json()
    assert (gone["outcome"], gone["revision"]) == ("forgot", 3)
    absent = agent.call("forget", key="user/name").json()
    assert (absent["outcome"], absent["workspace_revision"]) == ("was_absent", 3)
    unknown = agent.call("recall", key="user/name").json()
    assert (unknown["found"], unknown["workspace_revision"]) == (False, 3)
    assert unknown["text"].startswith('(no memory is saved under "user/name"')


def test_the_key_signs_what_it_writes(agent: Agent) -> None:
    agent.remember()
    assert Revision.objects.get().actor == agent.key.name


@pytest.mark.parametrize("key", AWKWARD_KEYS)
def test_every_key_goes_round(agent: Agent, key: str) -> None:
    agent.remember(key, "s", "b")
    assert Note.objects.get().key == key
    assert agent.call("recall", key=key).json()["body"] == "b"
    by_query = agent.http.get(f"/memory/tools/recall/?key={quote(key, safe='')}").json()
    assert (by_query["key"], by_query["body"]) == (key, "b")
    listed = agent.get("notes/", {"key": key}).json()["results"]
    assert [row["key"] for row in listed] == [key]
    assert agent.call("forget", key=key).json()["outcome"] == "forgot"
    assert not Note.objects.exists()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("  indented\r\n    code\n\n", "  indented\r\n    code\n\n"),
        ("", ""),
        ('{"a":1}', '{"a":1}'),
        ({"a": 1}, '{"a":1}'),
        ({"a": [1, 2.5, "é", None, True]}, '{"a":[1,2.5,"é",null,true]}'),
        (7, "7"),
        (True, "true"),
        (None, "null"),
        ([], "[]"),
        (0, "0"),
        ("\u2028 \U0001f600 \x85", "\u2028 \U0001f600 \x85"),
    ],
)
def test_bodies_keep_type_and_text(agent: Agent, body: Any, text: str) -> None:
    agent.remember("k", "s", body)
    note = agent.call("recall", key="k").json()
    assert (note["body"], note["text"]) == (body, text)
    assert type(note["body"]) is type(body)


def test_a_key_is_not_trimmed_into_another(agent: Agent) -> None:
    agent.remember("a", "s", "plain")
    agent.remember(" a ", "s", "blanks")
    assert agent.call("recall", key="a").json()["body"] == "plain"
    assert agent.call("recall", key=" a ").json()["body"] == "blanks"


def test_answers_are_compact_and_unescaped(agent: Agent) -> None:
    agent.remember("ключ", "s", "é")
    raw = agent.call("recall", key="ключ").content.decode()
    assert '"key":"ключ","found":true,"body":"é"' in raw


@pytest.mark.parametrize("address", ["tools/remember", "tools/core/remember", "tools/remember/"])
def test_both_forms_of_the_address_write(agent: Agent, address: str) -> None:
    response = agent.send(address, {"key": "k", "summary": "s", "body": "b"})
    assert response.status_code == 200
    assert Note.objects.count() == 1


@pytest.mark.parametrize("address", ["tools/recall", "tools/core/recall/", "tools/recall/"])
def test_reads_by_get(agent: Agent, address: str) -> None:
    agent.remember("a b", "s", "b")
    assert agent.get(address, {"key": "a b"}).json()["body"] == "b"
    assert agent.http.head(f"/memory/{address}?key=a").status_code == 200


def test_arguments_as_a_string_are_decoded_once(agent: Agent) -> None:
    arguments = json.dumps({"key": "k", "summary": "s", "body": '{"a":1}'})
    response = agent.send("tools/remember/", json.dumps(arguments))
    assert response.status_code == 200
    assert agent.call("recall", key="k").json()["body"] == '{"a":1}'
    again = agent.send("tools/remember/", json.dumps(arguments), headers={"If-Match": '"1"'})
    assert again.json()["outcome"] == "unchanged"
    twice = agent.send("tools/remember/", json.dumps(json.dumps(arguments)))
    assert_problem(twice, 400, "refused")


def test_duplicate_members_are_one_note(agent: Agent) -> None:
    agent.send("tools/remember/", '{"key":"d1","key":"d2","summary":"s","body":"b"}')
    assert [note.key for note in Note.objects.all()] == ["d2"]


def test_an_empty_body_and_null_are_no_arguments(agent: Agent) -> None:
    form = "application/x-www-form-urlencoded"
    for kind in ("", "application/json", form):
        bare = agent.http.generic("POST", "/memory/tools/list_memories/", b"", content_type=kind)
        assert bare.status_code == 200
    null = agent.http.post("/memory/tools/list_memories/", b"null", content_type="application/json")
    assert null.status_code == 200
    empty = agent.http.post("/memory/tools/remember", b"", content_type="application/json")
    assert "'key'" in assert_problem(empty, 400)["detail"]


def test_a_byte_order_mark_is_skipped(agent: Agent) -> None:
    response = agent.send("tools/search/", b'\xef\xbb\xbf{"pattern":"x"}')
    assert response.json()["pattern"] == "x"


def test_a_pattern_that_no_note_can_hold_matches_nothing(agent: Agent) -> None:
    agent.remember()
    for pattern in ("\x00", "\ud800"):
        response = agent.call("search", pattern=pattern)
        assert response.json()["total"] == 0
        assert response.json()["pattern"] == pattern


@pytest.mark.parametrize("method", ["put", "patch", "delete", "options", "trace"])
def test_other_methods(agent: Agent, method: str) -> None:
    response = getattr(agent.http, method)("/memory/tools/recall/")
    assert_problem(response, 405, "method_not_allowed")
    assert response["Allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize("tool", ["remember", "forget"])
def test_what_writes_is_never_a_get(agent: Agent, tool: str) -> None:
    agent.remember()
    before = stored()
    response = agent.get(f"tools/{tool}/", {"key": "k", "summary": "s", "body": "b2"})
    assert_problem(response, 405, "method_not_allowed")
    assert response["Allow"] == "POST"
    assert stored() == before


@pytest.mark.parametrize(
    "query",
    ["", "key=a&key=b", "key=a&kee=b", "key=a&format=json", "key=%zz", "key=%", "key=%ff",
     "key=%00", "key=" + "k" * 513, "&".join(f"a{n}=1" for n in range(101))],
)  # fmt: skip
def test_refused_queries(agent: Agent, query: str) -> None:
    response = agent.http.get(f"/memory/tools/recall/?{query}")
    assert_problem(response, 413 if "kkk" in query else 400)


def test_the_specs_are_those_of_the_credential(agent: Agent) -> None:
    answer = agent.get("tools/").json()
    names = [spec["name"] for spec in answer["tools"]]
    assert names == ["remember", "recall", "forget", "list_memories", "search"]
    assert "workspace" not in json.dumps([spec["parameters"] for spec in answer["tools"]])
    reader = Agent(access="read", tools=["recall", "remember"])
    assert [spec["name"] for spec in reader.get("tools").json()["tools"]] == ["recall"]


def test_an_unknown_tool_is_answered_with_the_tools(agent: Agent) -> None:
    response = agent.send("tools/memorise/", {})
    assert "remember, recall" in assert_problem(response, 404, "not_found")["detail"]


# Preconditions


@pytest.mark.parametrize("form", ["field", "header", "both"])
def test_expected_revision(agent: Agent, form: str) -> None:
    def write(expected: int) -> Any:
        arguments: dict[str, Any] = {"key": "k", "summary": "s", "body": f"b{expected}"}
        headers = {}
        if form != "header":
            arguments["expected_revision"] = expected
        if form != "field":
            headers["If-Match"] = f'"{expected}"'
        return agent.send("tools/remember/", arguments, headers=headers)

    assert write(0).json()["outcome"] == "created"
    before = stored()
    problem = assert_problem(write(0), 409, "conflict")
    assert problem["current_revision"] == 1
    assert stored() == before
    assert write(1).json()["revision"] == 2


@pytest.mark.parametrize("header", ["3", 'W/"3"', "*", '"x"', '"1", "2"', '"-1"', '""', '"1.0"'])
def test_a_bad_precondition_writes_nothing(agent: Agent, header: str) -> None:
    agent.remember()
    before = stored()
    response = agent.send("tools/forget/", {"key": "k"}, headers={"If-Match": header})
    assert_problem(response, 400, "refused")
    assert stored() == before


@pytest.mark.parametrize("expected", [2, "1", True, 1.0, -1])
def test_two_preconditions_that_differ(agent: Agent, expected: Any) -> None:
    agent.remember()
    before = stored()
    arguments = {"key": "k", "expected_revision": expected}
    response = agent.send("tools/forget/", arguments, headers={"If-Match": '"1"'})
    assert_problem(response, 400, "refused")
    assert stored() == before


def test_a_conflict_over_a_long_key_is_still_a_sentence(agent: Agent) -> None:
    agent.remember("k" * 512)
    response = agent.call("forget", key="k" * 512, expected_revision=7)
    detail = assert_problem(response, 409, "conflict")["detail"]
    assert "Read it again first." in detail


# Statements


def count(agent: Agent, tool: str, **arguments: Any) -> int:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert agent.call(tool, **arguments).status_code == 200
    return len([q for q in queries if "SAVEPOINT" not in q["sql"]])


def test_reads_take_a_fixed_number_of_statements(agent: Agent) -> None:
    agent.remember()
    # Beside authentication: one, the revision too, the three of a search (see search/).
    search = 4
    assert count(agent, "recall", key="k") == 2
    assert count(agent, "list_memories") == 3
    assert count(agent, "search", pattern="b") == search
    for _ in range(20):
        NoteFactory()
    assert count(agent, "recall", key="k") == 2
    assert count(agent, "list_memories") == 3
    assert count(agent, "search", pattern="b") == search


def test_writes_take_a_fixed_number_of_statements(agent: Agent) -> None:
    agent.remember()
    direct = Memory("core")
    with CaptureQueriesContext(connection) as queries:
        direct.remember("k", "s", "b2")
    by_hand = len([q for q in queries if "SAVEPOINT" not in q["sql"]])
    assert count(agent, "remember", key="k", summary="s", body="b3") == by_hand + 1


@pytest.mark.parametrize("method", ["put", "patch", "delete", "get", "head"])
def test_a_method_that_a_tool_lacks(agent: Agent, method: str) -> None:
    for tool in ("remember", "forget"):
        response = agent.send(f"tools/{tool}/", {}, method)
        assert (response.status_code, response["Allow"]) == (405, "POST")
        if method != "head":
            assert assert_problem(response, 405)["detail"].endswith("use POST.")
    if method in ("put", "patch", "delete"):
        for tool in ("recall", "list_memories", "search"):
            response = agent.send(f"tools/{tool}/", {}, method)
            assert response["Allow"] == "GET, HEAD, POST"
            assert assert_problem(response, 405)["detail"].endswith("use GET, HEAD, POST.")


@pytest.mark.parametrize("style", STYLES)
def test_tools_as_a_model_takes_them(agent: Agent, style: str) -> None:
    told = agent.get("tools/", {"style": style}).json()
    assert told["tools"] == Memory("core").tools().specs(style)


def test_an_unknown_style_is_refused(agent: Agent) -> None:
    detail = assert_problem(agent.get("tools/", {"style": "soap"}), 400, "refused")["detail"]
    assert detail == (
        "There is no such style; the styles are: openai, openai-chat, anthropic, mcp."
    )


def test_history_and_index_are_for_keys_that_name_them(db: None) -> None:
    agent = Agent(tools=["remember", "history", "index"])
    agent.remember("a", "s", "b")
    assert agent.call("history", key="a").json()["total"] == 1
    assert agent.get("tools/index/").json() == {
        "text": "[memory index]\n- a: s",
        "lines": 1,
        "workspace_revision": 1,
    }
    assert_problem(Agent().call("history", key="a"), 403, "not_allowed")
