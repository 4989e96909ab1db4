"""The frameworks' own code finds nothing to change in what they are told of the tools."""

from __future__ import annotations

import copy

import pytest
from agents.strict_schema import ensure_strict_json_schema
from anthropic import transform_schema

from django_agent_memory.tools import TOOLS, render


@pytest.mark.parametrize("name", TOOLS)
def test_openai_finds_the_schemas_strict(name: str) -> None:
    schema = render(TOOLS[name], "openai")["parameters"]
    assert ensure_strict_json_schema(copy.deepcopy(schema)) == schema


@pytest.mark.parametrize("name", TOOLS)
def test_anthropic_drops_nothing(name: str) -> None:
    schema = render(TOOLS[name], "anthropic")["input_schema"]
    assert transform_schema(copy.deepcopy(schema)) == schema
