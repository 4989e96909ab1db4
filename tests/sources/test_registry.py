"""Which sources there are, and that a name is one source's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from django_agent_memory.exceptions import Refused
from django_agent_memory.sources import SourceMemory, memory_source, registry


def fill(memory: SourceMemory) -> None:
    """Fill it."""


def other(memory: SourceMemory) -> None:
    memory.store("text")


def test_the_decorator_returns_the_function() -> None:
    assert memory_source("a", workspace="core")(fill) is fill
    source = registry.chosen("a")
    assert (source.name, source.workspace, source.fill) == ("a", "core", fill)
    assert source.description == "Fill it."
    memory_source("b")(other)
    assert (registry.chosen("b").workspace, registry.chosen("b").description) == (None, "")


def test_apps_are_found_when_asked(shop: list[str]) -> None:
    assert list(registry.sources()) == ["anywhere", "rules"]
    assert registry.chosen("rules").description == "The shop's rules."


def test_nothing_is_found_before_it_is_asked_for() -> None:
    program = (
        "import sys, django; from django.conf import settings;"
        "from tests import settings as s;"
        "settings.configure(INSTALLED_APPS=[*s.INSTALLED_APPS, 'tests.sources.shop']);"
        "django.setup(); import django_agent_memory.sources;"
        "print('tests.sources.shop.memory_sources' in sys.modules)"
    )
    root = Path(__file__).resolve().parents[2]
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert run.stdout == "False\n"


def test_two_functions_cannot_have_a_name() -> None:
    memory_source("a")(fill)
    with pytest.raises(Refused) as refused:
        memory_source("a")(other)
    here = "tests.sources.test_registry"
    assert str(refused.value) == f'Two sources are called "a": {here}.fill and {here}.other.'
    assert registry.chosen("a").fill is fill


def test_a_module_may_be_imported_again() -> None:
    memory_source("a", workspace="x")(fill)
    memory_source("a", workspace="y")(fill)
    assert registry.chosen("a").workspace == "y"


async def coroutine(memory: SourceMemory) -> None: ...


def generator(memory: SourceMemory) -> Any:
    yield memory


@pytest.mark.parametrize(
    ("name", "workspace", "function", "sentence"),
    [
        ("", None, fill, "A source needs a name of 1 or more characters."),
        (1, None, fill, "The name of a source must be a string, not a number."),
        ("n" * 201, None, fill, "The name of a source is too long: 201 characters"),
        ("a\x1b", None, fill, "The name of a source contains the control character U+001B"),
        ("a", "a//b", fill, "A workspace path is segments of"),
        ("a", None, coroutine, 'The source "a" must be a plain function that calls store().'),
        ("a", None, generator, 'The source "a" must be a plain function that calls store().'),
    ],
)
def test_what_is_refused(name: Any, workspace: Any, function: Any, sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        memory_source(name, workspace=workspace)(function)
    assert str(refused.value).startswith(sentence)


def test_the_longest_name() -> None:
    memory_source("n" * 200)(fill)
    assert len(registry.sources()) == 1


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(Refused, match='There is no source "x"; registered: none.'):
        registry.chosen("x")
    memory_source("b")(fill)
    memory_source("a")(other)
    with pytest.raises(Refused, match='There is no source "x"; registered: a, b.'):
        registry.chosen("x")
