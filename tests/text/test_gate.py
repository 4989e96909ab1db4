"""The gate refuses exactly what a database or JSON cannot hold, and repairs nothing."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_agent_memory.exceptions import Refused, TooLarge
from django_agent_memory.text import gate

LIMIT = 10


def refusal(call: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(Refused) as caught:
        call(*args, **kwargs)
    sentence = str(caught.value)
    assert 10 < len(sentence) <= 300
    assert "\n" not in sentence
    return sentence


@given(st.text(st.characters(exclude_categories=[]), max_size=30))
def test_text_is_refused_only_for_nul_and_lone_surrogates(text: str) -> None:
    bad = any(c == "\x00" or "\ud800" <= c <= "\udfff" for c in text)
    assert gate.is_storable(text) is not bad
    if bad:
        refusal(gate.check_text, text, name="body", limit=100)
    else:
        assert gate.check_text(text, name="body", limit=100) is text
        assert text.encode().decode() == text


@pytest.mark.parametrize("length", [LIMIT - 1, LIMIT])
def test_up_to_the_limit_is_accepted(length: int) -> None:
    text = "😀" * length
    assert gate.check_key(text, limit=LIMIT) == text
    assert gate.check_body(text, limit=LIMIT) == (text, False)


def test_over_the_limit_says_limit_size_and_what_to_do() -> None:
    for call in (gate.check_key, gate.check_body):
        with pytest.raises(TooLarge, match=r"11 characters, the limit is 10\. Shorten it"):
            call("x" * 11, limit=LIMIT)


def test_a_json_body_is_measured_as_rendered() -> None:
    assert gate.check_body([1, 2, 3, 4], limit=9) == ("[1,2,3,4]", True)
    with pytest.raises(TooLarge):
        gate.check_body([1, 2, 3, 4], limit=8)


@pytest.mark.parametrize("key", ["k", " k ", "a//b", "/", "..", "a\nb", "a\tb", "ключ", "k" * 10])
def test_keys_are_kept_as_they_are(key: str) -> None:
    assert gate.check_key(key, limit=LIMIT) == key


@pytest.mark.parametrize("control", ["\x01", "\x08", "\x0b", "\r", "\x1f", "\x7f", "\x85", "\x9f"])
def test_control_characters_are_refused_in_keys_and_kept_in_bodies(control: str) -> None:
    assert f"U+{ord(control):04X}" in refusal(gate.check_key, f"a{control}", limit=LIMIT)
    assert gate.check_body(f"a{control}", limit=LIMIT) == (f"a{control}", False)


@pytest.mark.parametrize("key", ["", None, 1, True, ["k"], {"k": 1}, b"k", "a\x00", "\ud800"])
def test_what_is_no_key(key: object) -> None:
    refusal(gate.check_key, key, limit=LIMIT)


@pytest.mark.parametrize(
    "path", ["core", "workers/scribe", "tenant-7/user.42", "a_b@c+d", "...", ".a", "x" * 255]
)
def test_workspace_paths(path: str) -> None:
    assert gate.check_path(path) == path


@pytest.mark.parametrize(
    "path",
    ["", "/", "a/", "/a", "a//b", ".", "..", "a/../b", "a/.", "a b", "a%", "é", "a\n", "a\x00"]
    + ["\ud800", "*", "a\\b", "x" * 256, None, 5, ["core"]],
)
def test_a_bad_path_is_refused_never_repaired(path: object) -> None:
    refusal(gate.check_path, path)


@pytest.mark.parametrize(
    ("body", "rendered"),
    [
        ({"a": 1, "b": ["é", None, True]}, '{"a":1,"b":["é",null,true]}'),
        ({"b": 1, "a": 2}, '{"b":1,"a":2}'),
        (None, "null"),
        (0, "0"),
        (False, "false"),
        ([], "[]"),
        (1.0, "1.0"),
        pytest.param(10**400, str(10**400), id="400 digits"),
        ((1, 2), "[1,2]"),
        ({"": ""}, '{"":""}'),
    ],
)
def test_json_bodies_are_rendered_compactly(body: Any, rendered: str) -> None:
    assert gate.check_body(body, limit=1000) == (rendered, True)


@pytest.mark.parametrize("text", ["", '{"a": 1}', "null", "  x\r\n\n", "\x1b[0m", "\ufeff"])
def test_text_stays_text(text: str) -> None:
    assert gate.check_body(text, limit=100) == (text, False)


class Odd:
    pass


@pytest.mark.parametrize(
    "body",
    [
        math.nan,
        math.inf,
        -math.inf,
        [math.nan],
        {"a": {"b": math.inf}},
        "a\x00b",
        ["a\x00b"],
        {"a\x00": 1},
        {"a": "\ud800"},
        {"\udfff": 1},
        {1: 2},
        {None: 1},
        b"bytes",
        {1, 2},
        Odd(),
        [Odd()],
        pytest.param(10**5000, id="5000 digits"),
    ],
)
def test_what_is_no_body(body: object) -> None:
    refusal(gate.check_body, body, limit=1000)


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_json_may_be_100_levels_deep() -> None:
    for levels in (99, 100):
        assert gate.check_body(nested(levels), limit=1000)[1]
    innermost = nested(100)
    at = innermost
    while at:
        at = at[0]
    at.append("a value is no level")
    assert gate.check_body(innermost, limit=1000)[1]
    assert "100 levels" in refusal(gate.check_body, nested(101), limit=1000)
    assert "100 levels" in refusal(gate.check_body, nested(100_000), limit=10**6)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")), inner
        )
    ),
    max_leaves=20,
)


@given(json_values)
def test_json_comes_back_as_it_was(value: Any) -> None:
    text, is_json = gate.check_body(value, limit=10**6)
    again = json.loads(text) if is_json else text
    assert again == value
    assert list(map(type, [again])) == list(map(type, [value]))


@pytest.mark.parametrize(
    "text",
    ["", "{", "nul", "NaN", "[Infinity]", '{"a":-Infinity}', "1e400", "-1e999", '{"a":1}x', "\x00"]
    + [pytest.param("[" * 200_000, id="deep"), pytest.param("1" * 5000, id="5000 digits")],
)
def test_bad_json_is_one_sentence(text: str) -> None:
    refusal(gate.parse_json, text)


def test_good_json_is_parsed() -> None:
    assert gate.parse_json('{"a":[1,2.5,"é",null]}') == {"a": [1, 2.5, "é", None]}
    assert gate.parse_json('{"a":1,"a":2}') == {"a": 2}


def test_of_a_name_that_stands_twice_the_last_counts_or_it_is_refused() -> None:
    assert gate.parse_json('{"a":1,"a":2}') == {"a": 2}
    assert gate.parse_json('[{"a":1},{"a":2,"b":{"a":1}}]', unique_names=True) == [
        {"a": 1},
        {"a": 2, "b": {"a": 1}},
    ]
    for text in ('{"a":1,"a":1}', '[{"b":{"a":1,"\\u0061":2}}]'):
        with pytest.raises(Refused, match="'a' twice"):
            gate.parse_json(text, unique_names=True)
