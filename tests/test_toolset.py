"""The tools of one memory for a model: how they are told of, and what is answered."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import OperationalError, connection

from django_agent_memory import Memory
from django_agent_memory.models import Revision
from django_agent_memory.tools import STYLES, TOOLS, render

CORE = ("remember", "recall", "forget", "list_memories", "search")


def test_a_turn_as_an_agent_plays_it(memory: Memory) -> None:
    tools = memory.tools()
    assert tools.call("list_memories") == "(no memories saved yet.)"
    said = tools.call("remember", {"key": "user/tea", "summary": "Green tea", "body": "No sugar."})
    assert said == 'saved "user/tea".'
    assert tools.call("recall", '{"key": "user/tea"}') == "No sugar."
    assert tools.call("search", {"pattern": "SUGAR"}) == "- user/tea: Green tea\n  No sugar."
    assert async_to_sync(tools.acall)("forget", {"key": "user/tea"}).startswith("forgot")


def test_a_text_that_looks_like_json_stays_text(memory: Memory) -> None:
    memory.tools().call("remember", json.dumps({"key": "a", "summary": "s", "body": "[1, 2]"}))
    assert memory.recall("a").body == "[1, 2]"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("rember", {}, "error: no such tool 'rember'"),
        ("find", {"query": "tea"}, "error: no such tool 'find'"),
        (None, {}, "error: no such tool 'NoneType'"),
        (["recall"], {}, "error: no such tool 'list'"),
        pytest.param(10**5_000, {}, "error: no such tool 'int'", id="endless"),
        ("\ud800", {}, "error: no such tool '\\ud800'"),
        ("recall", {"\ud800": 1}, "error: recall takes only key; it does not know 'U+D800'."),
        ("recall", "", "error: recall needs the argument 'key'."),
        ("recall", "null", "error: recall needs the argument 'key'."),
        ("x" * 100, {}, f"error: no such tool '{'x' * 64}'"),
        ("recall", None, "error: recall needs the argument 'key'."),
        ("recall", {"key": "a", "ky": 1}, "error: recall takes only key; it does not know 'ky'."),
        ("recall", {"key": 1}, "error: The argument 'key' must be a string."),
        ("recall", [], "error: The arguments of recall must be a JSON object."),
        ("recall", 7, "error: The arguments of recall must be a JSON object."),
    ],
)
def test_what_is_wrong_is_one_sentence(
    memory: Memory, name: Any, arguments: Any, answer: str
) -> None:
    assert memory.tools().call(name, arguments) == answer
    assert not Revision.objects.exists()


@pytest.mark.parametrize("arguments", ["{", '{"key": ', "nonsense", "[" * 200_000, "\ud800"])
def test_broken_json_is_one_sentence(memory: Memory, arguments: str) -> None:
    answer = memory.tools().call("recall", arguments)
    assert answer.startswith("error: ")
    assert answer.count("\n") == 0


def test_a_conflict_is_said(memory: Memory) -> None:
    memory.remember("a", "s", "b")
    said = memory.tools().call("forget", {"key": "a", "expected_revision": 7})
    assert said.startswith('error: "a" is at revision 1, not at 7')


@pytest.mark.django_db(transaction=True)
def test_a_broken_database_is_said_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError("the disk is gone")

    with connection.execute_wrapper(refuse), caplog.at_level(logging.ERROR):
        said = Memory("core").tools().call("recall", {"key": "a"})
    assert said.startswith("error: the memory could not be reached.")
    assert "the disk is gone" in caplog.text


def test_subsets(memory: Memory) -> None:
    assert memory.tools().names == CORE
    assert memory.tools(["search", "recall"]).names == ("recall", "search")
    assert memory.tools("find").names == ("find",)
    assert memory.tools([]).specs() == []
    assert memory.tools(TOOLS).names == tuple(TOOLS)
    assert repr(memory.tools(["recall"])) == "Toolset(Memory('core', actor='scribe'), recall)"
    with pytest.raises(ValueError, match=r"There is no tool 'rember'; the tools are: remember, "):
        memory.tools(["rember"])
    for name in (None, 5, ["recall"]):
        with pytest.raises(ValueError, match="There is no tool "):
            memory.tools([name])  # type: ignore[list-item]


def test_a_read_only_memory_has_no_tool_that_writes(memory: Memory) -> None:
    memory.remember("a", "s", "b")
    reading = Memory("core", read_only=True)
    assert reading.tools().names == ("recall", "list_memories", "search")
    assert memory.at(1).tools().call("recall", {"key": "a"}) == "b"
    with pytest.raises(ValueError, match=r"The memory is read-only; forget writes\."):
        reading.tools(["recall", "forget"])


def test_history_shows_the_last_twenty(memory: Memory) -> None:
    tools = memory.tools(["history"])
    assert tools.call("history", {"key": "a"}) == '(nothing was ever saved under "a".)'
    for number in range(1, 22):
        memory.remember("a", "s", f"b{number}")
        lines = tools.call("history", {"key": "a"}).split("\n")
        assert len(lines) == (number if number < 21 else 21)
        assert lines[min(number, 20) - 1].startswith(f"[v{number}] remember 'a' = b{number} (")
    assert lines[0].startswith("[v2] ")
    assert lines[-1] == "(showing the last 20 of 21 revisions.)"
    memory.remember("long", "s", "x" * 1_000)
    (line,) = tools.call("history", {"key": "long"}).split("\n")
    assert len(line) == 300
    assert line.endswith("xxx…(cut)")


def test_the_index_is_a_tool_for_those_who_ask(memory: Memory) -> None:
    tools = memory.tools(["index"])
    assert tools.call("index") == "(no memories saved yet.)"
    memory.remember("a", "s", "b")
    assert tools.call("index") == memory.index_note() == "[memory index]\n- a: s"


def test_what_openai_is_told() -> None:
    assert render(TOOLS["recall"], "openai") == {
        "type": "function",
        "name": "recall",
        "description": TOOLS["recall"].description,
        "parameters": {
            "type": "object",
            "properties": {"key": {"type": "string", "description": "The exact key."}},
            "required": ["key"],
            "additionalProperties": False,
        },
        "strict": True,
    }
    chat = render(TOOLS["recall"], "openai-chat")
    assert chat == {
        "type": "function",
        "function": {
            key: value for key, value in render(TOOLS["recall"], "openai").items() if key != "type"
        },
    }
    find = render(TOOLS["find"], "openai")["parameters"]
    assert find["required"] == list(find["properties"])
    assert find["properties"]["limit"] == {
        "anyOf": [{"type": "integer"}, {"type": "null"}],
        "description": "Most to show, 1 to 100.",
    }


def test_what_anthropic_is_told() -> None:
    told = render(TOOLS["remember"], "anthropic")
    assert list(told) == ["name", "description", "input_schema"]
    assert told["input_schema"]["required"] == ["key", "summary", "body"]
    assert told["input_schema"]["properties"]["body"]["type"] == "string"
    assert render(TOOLS["find"], "anthropic")["input_schema"]["required"] == []


@pytest.mark.parametrize("name", TOOLS)
def test_what_mcp_is_told(name: str) -> None:
    told = render(TOOLS[name], "mcp")
    assert told["annotations"] == {
        "readOnlyHint": name not in ("remember", "forget", "store", "forget_matching"),
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    assert "expected_revision" not in told["inputSchema"]["properties"]


@pytest.mark.parametrize("style", STYLES)
def test_arguments_as_told_are_accepted_with_null_for_what_is_left_out(
    memory: Memory, style: str
) -> None:
    tools = memory.tools(TOOLS)
    for spec in tools.specs(style):
        function = spec.get("function", spec)
        schema = next(
            function[name]
            for name in ("parameters", "input_schema", "inputSchema")
            if name in function
        )
        arguments = {
            name: "a" if name in ("key", "summary", "body", "pattern", "content", "query") else None
            for name in schema["properties"]
        }
        assert not tools.call(function["name"], arguments).startswith("error"), function["name"]
    with pytest.raises(ValueError, match="There is no style 'soap'; the styles are: openai, "):
        tools.specs("soap")
    # What one caller does to its specs is not seen by the next.
    tools.specs(style)[0].clear()
    assert tools.specs(style)[0]
