"""The tools by name: their schemas, their checks, and their texts to the character."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from django_agent_memory import Memory
from django_agent_memory.exceptions import Refused
from django_agent_memory.models import Note, Revision
from django_agent_memory.tools import TOOLS, dispatch


def say(memory: Memory, name: str, **arguments: Any) -> str:
    return dispatch(memory, name, arguments).text


def test_a_conversation_to_the_character(memory: Memory) -> None:
    assert say(memory, "list_memories") == "(no memories saved yet.)"
    assert say(memory, "remember", key="user/name", summary="Name is Alice", body="Alice\n") == (
        'saved "user/name".'
    )
    assert say(memory, "remember", key="user/name", summary="Name is Alice", body="Alice\n") == (
        '"user/name" already says exactly this; nothing changed.'
    )
    assert say(memory, "remember", key="user/name", summary="Alice L.", body={"a": [1, "é"]}) == (
        'saved "user/name" (the note that was there is replaced; '
        "its old text is kept as revision 1)."
    )
    assert say(memory, "recall", key="user/name") == '{"a":[1,"é"]}'
    assert say(memory, "recall", key="user/nam") == (
        '(no memory is saved under "user/nam". Did you mean "user/name"? '
        "— list_memories shows every key.)"
    )
    assert say(memory, "recall", key="zzz") == (
        '(no memory is saved under "zzz" — list_memories shows every key.)'
    )
    assert say(memory, "list_memories") == "- user/name: Alice L."
    assert say(memory, "search", pattern="É") == '- user/name: Alice L.\n  {"a":[1,"é"]}'
    assert say(memory, "search", pattern="nowhere") == '(no memory matches "nowhere".)'
    assert (
        say(memory, "forget", key="zzz")
        == 'nothing was stored under "zzz", so nothing was deleted.'
    )
    assert say(memory, "forget", key="user/name") == (
        'forgot "user/name" — its summary and its note are both gone.'
    )


def test_forget_matching_warns_of_what_find_would_return_as_well(memory: Memory) -> None:
    for body in ("Where is the zebra?", "In the stable, since May.", "It rained.", "Nothing else."):
        memory.store(body)
    found = dispatch(memory, "find", {"query": "zebra", "limit": 100}).data["found"]
    assert [one["body"] for one in found][:2] == [
        "Where is the zebra?",
        "In the stable, since May.",
    ]
    description = TOOLS["forget_matching"].description
    assert "Call find first" in description
    assert "also what it finds only by what stands next to it" in description
    done = dispatch(memory, "forget_matching", {"query": "zebra"})
    assert done.data["forgotten"] == len(found) > 1
    assert not Note.objects.filter(key__in=[one["key"] for one in found]).exists()


def test_a_search_that_shows_eight_of_nine(memory: Memory) -> None:
    for n in range(9):
        memory.remember(f"k{n}", None, "needle")
    answer = dispatch(memory, "search", {"pattern": "needle"})
    lines = answer.text.split("\n")
    assert lines[:2] == ["- k0: (no summary)", "  needle"]
    assert lines[-1] == "(showing 8 of 9 matches — narrow the pattern to see the rest.)"
    assert len(lines) == 17
    assert (answer.data["total"], answer.data["shown"]) == (9, 8)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("", ""),
        (None, "null"),
        (0, "0"),
        (False, "false"),
        ([], "[]"),
        ("null", "null"),
        (2.0, "2.0"),
    ],
)
def test_a_recall_is_the_body_and_nothing_else(memory: Memory, body: Any, text: str) -> None:
    say(memory, "remember", key="k", summary="s", body=body)
    answer = dispatch(memory, "recall", {"key": "k"})
    assert answer.text == text
    assert answer.data["found"] is True
    assert answer.data["body"] == body


@pytest.mark.parametrize(
    "decorated",
    [
        "/user/name",
        "user/name/",
        '"user/name"',
        "`user/name`",
        "- user/name: Ann Lee",
        "[user/name]",
    ]
    + ["user/name: Ann Lee", "User/Name", "user.name", "user/nam", "memory/entries/user/name"],
)
def test_a_decorated_key_gets_a_named_suggestion(memory: Memory, decorated: str) -> None:
    memory.remember("user/name", "s", "b")
    assert 'Did you mean "user/name"?' in say(memory, "recall", key=decorated)
    assert 'Did you mean "user/name"?' in say(memory, "forget", key=decorated)
    assert Note.objects.count() == 1


def test_an_exact_key_is_never_taken_for_a_decorated_one(memory: Memory) -> None:
    memory.remember("user/name", "s", "plain")
    memory.remember("user/name: Ann", "s", "odd")
    assert say(memory, "recall", key="user/name: Ann") == "odd"


def test_arguments_as_a_json_string_are_decoded_once(memory: Memory) -> None:
    dispatch(memory, "remember", json.dumps({"key": "a", "summary": "s", "body": {"a": 1}}))
    dispatch(memory, "remember", json.dumps({"key": "b", "summary": "s", "body": '{"a":1}'}))
    assert dispatch(memory, "recall", '{"key":"a"}').data["body"] == {"a": 1}
    assert dispatch(memory, "recall", '{"key":"b"}').data["body"] == '{"a":1}'
    with pytest.raises(Refused):
        dispatch(memory, "recall", json.dumps(json.dumps({"key": "a"})))


BAD_CALLS: list[tuple[str, Any]] = [
    ("nonsense", {}),
    ("remember", {}),
    ("remember", {"key": "k", "summary": "s"}),
    ("remember", {"key": "k", "body": "b"}),
    ("remember", {"key": "k", "summary": None, "body": "b"}),
    ("remember", {"key": 1, "summary": "s", "body": "b"}),
    ("remember", {"key": "k", "summary": ["s"], "body": "b"}),
    ("remember", {"key": "k", "summary": "s", "body": "b", "workspace": "other"}),
    ("remember", {"key": "k", "summary": "s", "body": "b", "expected_revision": "1"}),
    ("remember", {"key": "k", "summary": "s", "body": "b", "expected_revision": True}),
    ("remember", {"key": "", "summary": "s", "body": "b"}),
    ("remember", {"key": "k", "summary": "s", "body": "\x00"}),
    ("recall", {"key": None}),
    ("recall", {"key": "k", 5: "x"}),
    ("recall", []),
    ("recall", None),
    ("recall", "{"),
    ("recall", "[]"),
    ("forget", {"key": True}),
    ("list_memories", {"workspace": "other"}),
    ("search", {"pattern": 5}),
    ("search", {"pattern": "x", "limit": 5}),
]


@pytest.mark.parametrize(("name", "arguments"), BAD_CALLS, ids=range(len(BAD_CALLS)))
def test_a_bad_call_is_one_sentence_and_writes_nothing(
    memory: Memory, name: str, arguments: Any
) -> None:
    with pytest.raises(Refused) as caught:
        dispatch(memory, name, arguments)
    assert 0 < len(str(caught.value)) <= 300
    assert not Revision.objects.exists()


def test_the_specs_name_what_models_may_pass() -> None:
    specs = {name: spec.as_json() for name, spec in TOOLS.items() if not spec.optional}
    assert list(specs) == ["remember", "recall", "forget", "list_memories", "search"]
    assert {n: s["parameters"]["required"] for n, s in specs.items()} == {
        "remember": ["key", "summary", "body"],
        "recall": ["key"],
        "forget": ["key"],
        "list_memories": [],
        "search": ["pattern"],
    }
    for name, spec in specs.items():
        assert re.fullmatch("[a-z_]{1,64}", name)
        assert spec["parameters"]["additionalProperties"] is False
        assert list(spec["parameters"]["properties"]) == spec["parameters"]["required"]
        assert "workspace" not in json.dumps(spec)
        assert spec["read_only"] is (name not in ("remember", "forget"))
        assert len(spec["description"]) > 40
    json.dumps(specs)


def test_model_texts_do_not_follow_the_language(memory: Memory) -> None:
    from django.utils import translation

    memory.remember("k", "s", "b")
    with translation.override("de"):
        assert say(memory, "recall", key="kk").startswith("(no memory is saved under")
        assert TOOLS["recall"].as_json()["description"].startswith("Read the whole memory")
