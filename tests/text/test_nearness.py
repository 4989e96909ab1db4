"""Near keys: decorations are seen through, misspellings are close, nothing is slow."""

from __future__ import annotations

import pytest
from hypothesis import given

from django_agent_memory.text.nearness import nearest, undecorated

from .strategies import texts


@pytest.mark.parametrize(
    "decorated",
    [
        "/user/name",
        "user/name/",
        '"user/name"',
        "`user/name`",
        "- user/name: Ann Lee",
        "user/name: Ann Lee",
        "[user/name]",
        "User/Name",
        "user.name",
        "memory/entries/user/name",
        "  user/name\n",
    ],
)
def test_the_plain_key_is_among_the_forms(decorated: str) -> None:
    assert "user/name" in undecorated(decorated)


@pytest.mark.parametrize("typo", ["user/nam", "user_name", "users/name", "usr/name", "user/naem"])
def test_a_misspelt_key_is_near(typo: str) -> None:
    assert nearest(typo, ["zoo", "user/name", "weather/today"]) == ["user/name"]


def test_the_nearest_come_first_and_at_most_three() -> None:
    keys = ["user/name1", "user/name22", "user/name", "user/name333", "other"]
    assert nearest("user/nam", keys) == ["user/name", "user/name1", "user/name22"]


def test_nothing_near_is_nothing() -> None:
    assert nearest("xyz", ["user/name"]) == []
    assert nearest("k", []) == []


def test_the_key_itself_is_no_suggestion() -> None:
    assert nearest("k", ["k", "K"]) == ["K"]
    assert "k" not in undecorated("k")


@given(texts.filter(bool))
def test_any_key_has_a_bounded_number_of_forms(key: str) -> None:
    forms = undecorated(key)
    assert len(forms) <= 96
    assert "" not in forms
    assert key not in forms


def test_a_thousand_of_the_longest_keys_are_compared() -> None:
    near = "ab" * 255
    assert nearest("ab" * 256, [f"{n}" * 512 for n in range(1, 1000)] + [near]) == [near]
