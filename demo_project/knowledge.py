"""The demo's third workspace: filled by sources, asked by relevance."""

from __future__ import annotations

from collections.abc import Iterator

from django_agent_memory import Memory
from django_agent_memory.results import Found
from django_agent_memory.sources.registry import chosen
from django_agent_memory.sources.running import attempt
from django_agent_memory.text.rendering import one_line

from .memory_sources import WORKSPACE

QUESTION = "What did Joon say about repeated webhooks?"
_SOURCES = ("lessons", "handbook", "history")
_DECIDES = ("weight", "recency", "specificity")
_WIDTH = 100


def fill() -> Iterator[str]:
    """Run the sources and yield what each did; one that fails is said and stops nothing."""
    Memory(WORKSPACE).configure(
        title="A project", description="Filled by sources, to be asked by relevance: find."
    )
    for name in _SOURCES:
        done = attempt(chosen(name))
        sentence = getattr(done, "sentence", None)
        yield from [f"{name} failed: {sentence}"] if sentence else done.lines()  # type: ignore[union-attr]


def answer() -> Iterator[str]:
    """Yield the question and the best two notes, each with what its score is made of."""
    yield f'find("{QUESTION}")'
    for place, found in enumerate(Memory(WORKSPACE, read_only=True).find(QUESTION, limit=2), 1):
        text = one_line(found.text)
        yield f"  {place}. {text if len(text) <= _WIDTH else f'{text[:_WIDTH]}…'}"
        yield f"     {found.score:.2f} = {_sum(found)}"


def _sum(found: Found) -> str:
    """Return the parts of a score, as they add up to it."""
    parts = {name: value for name, value in found.parts.items() if name not in _DECIDES}
    present = parts.pop("present")
    shown = " + ".join(f"{value:.2f} {name}" for name, value in parts.items() if value)
    return f"({shown}) × {1 + present:.2f} present" if present else shown
