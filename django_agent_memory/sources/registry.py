"""Which sources there are: what `memory_sources.py` of the installed apps registers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from django.utils.module_loading import autodiscover_modules

from django_agent_memory.exceptions import Refused
from django_agent_memory.text import gate

from .gathering import SourceMemory

MODULE = "memory_sources"
MAX_NAME_LENGTH = 200
"""Of a source, in code points: its revisions are signed `source:` and the name."""

Fill = Callable[[SourceMemory], object]
_Fill = TypeVar("_Fill", bound=Fill)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A function that fills a memory. `workspace` is None where the command has to name it."""

    name: str
    fill: Fill
    workspace: str | None = None

    @property
    def description(self) -> str:
        """The first line of the function's docstring, "" without one."""
        return (inspect.getdoc(self.fill) or "").partition("\n")[0]

    @property
    def place(self) -> str:
        """Where the function is defined."""
        return f"{self.fill.__module__}.{getattr(self.fill, '__qualname__', self.fill)}"


_sources: dict[str, Source] = {}


def memory_source(name: str, *, workspace: str | None = None) -> Callable[[_Fill], _Fill]:
    """Register the decorated function as the source `name` (1 to 200 cp) of `workspace`.

    Raises `Refused` for a name that another function has, and for what is no name or path.
    """
    check_name(name)
    if workspace is not None:
        gate.check_path(workspace)

    def register(fill: _Fill) -> _Fill:
        if inspect.iscoroutinefunction(fill) or inspect.isgeneratorfunction(fill):
            raise Refused(f'The source "{name}" must be a plain function that calls store().')
        source = Source(name=name, fill=fill, workspace=workspace)
        other = _sources.get(name)
        # The same place again is a module that is imported again.
        if other is not None and other.place != source.place:
            raise Refused(f'Two sources are called "{name}": {other.place} and {source.place}.')
        _sources[name] = source
        return fill

    return register


def check_name(name: object) -> str:
    """Return the name of a source itself, or raise `Refused`."""
    if name == "":
        raise Refused("A source needs a name of 1 or more characters.")
    checked = gate.check_text(name, name="name of a source", limit=MAX_NAME_LENGTH)
    gate.check_line_characters(checked, name="name of a source")
    return checked


def sources() -> dict[str, Source]:
    """Return every source by its name, in the order of names; imports what registers them."""
    autodiscover_modules(MODULE)
    return dict(sorted(_sources.items()))


def chosen(name: str) -> Source:
    """Return the source of that name, or raise `Refused` with the names there are."""
    known = sources()
    if name not in known:
        names = ", ".join(known) or "none"
        raise Refused(f'There is no source "{name}"; registered: {names}.')
    return known[name]
