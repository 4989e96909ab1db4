"""Prompts made of what a memory knows.

A prompt is text for a model: nothing here escapes HTML. What is found goes in as it was saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from django.template import Context, loader
from django.template.backends.django import Template as DjangoTemplate

from . import associations
from .conf import conf
from .exceptions import Refused
from .text.gate import render_json
from .text.rendering import one_line
from .toml_files import read_toml

KNOWN_HEADER = "Known information from memory:"
FILTERS = ("slot", "context", "kind", "subject", "source", "key_prefix", "min_weight", "limit")
"""What of a `find` may be asked for beside its query."""

_GIVEN = "given"
_TABLE = (*FILTERS, "query")
_DECLARATION = ("parts", "default_slot")


class Result(Protocol):
    """What a prompt needs of a result, such as `find` and `recall` return."""

    @property
    def key(self) -> str:
        """Its key."""

    @property
    def body(self) -> Any:
        """Text or any JSON value."""


class Knowing(Protocol):
    """What a prompt needs of a `Memory`: its `find`."""

    @property
    def find(self) -> Callable[..., Sequence[Result]]:
        """Return the notes that fit a query and filters, best first."""


Part = str | Result | Iterable[str | Result] | None


def template(*parts: Part) -> str:
    """Join texts and results as they stand, with nothing between them.

    A result is its body: text as it is, other JSON compactly. Several results are their bodies, one
    a line. None, "" and [] are nothing.
    """
    return "".join(map(content, parts))


def content(part: Part) -> str:
    """Return the text of one part of a `template`; raises `Refused` for what has none."""
    if part is None or isinstance(part, str):
        return part or ""
    if hasattr(part, "body"):
        return part.body if isinstance(part.body, str) else render_json(part.body)
    if isinstance(part, Iterable) and not isinstance(part, (Mapping, bytes)):
        return "\n".join(filter(None, map(content, part)))
    raise Refused(f"A prompt is made of strings and results, not of a {type(part).__name__}.")


def known(results: Iterable[Result]) -> str:
    """Return a header, a line `- key: body` for each result, and a blank line; "" for none.

    Key and body are folded to one line each, so that no body can pass for another line.
    """
    lines = [f"- {one_line(note.key)}: {one_line(content(note))}" for note in results]
    return "\n".join([KNOWN_HEADER, *lines, "", ""]) if lines else ""


def compose(memory: Knowing, prompt: str, **filters: Any) -> str:
    """Return the prompt with what the memory finds by it in front; as it is if that is nothing.

    The filters are those of `find`, and go to it as they are.
    """
    return known(memory.find(prompt, **filters)) + prompt


def ask(memory: Knowing, query: str | None = None, **filters: Any) -> Sequence[Result]:
    """Return what the memory finds by the query, None for none, and the `FILTERS` that are named.

    For templates, in which every name stands all the time: a query that is blank and a filter that
    is named and empty (None, "", no contexts) find nothing, so that knowledge tied to the active
    context stays out while none is active. Raises `Refused` for other names.
    """
    for name in filters:
        if name not in FILTERS:
            raise Refused(f"'{name[:64]}' is no filter; the filters are: {', '.join(FILTERS)}.")
    if any(_is_empty(value) for name, value in filters.items() if name != "limit"):
        return ()
    if isinstance(query, str) and not query.strip():
        return ()
    return memory.find("" if query is None else query, **filters)


def from_template(name: str, memory: Any, variables: Mapping[str, Any] | None = None) -> str:
    """Render a Django template as a prompt: with `memory` for its tags, and never escaped.

    No context processors are run. Raises `Refused` for a template of another engine.
    """
    found = loader.get_template(name)
    if not isinstance(found, DjangoTemplate):
        raise Refused(f"The prompt {name} is not a template of Django's own engine.")
    context = Context({**(variables or {}), "memory": memory}, autoescape=False)
    return str(found.template.render(context))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A declared prompt: texts, and tables that say what is to be found; see `declared`."""

    parts: tuple[str | Mapping[str, Any], ...]
    default_slot: str = ""

    def render(self, memory: Knowing, **given: Any) -> str:
        """Return the text, with what the memory finds and what is given by name.

        Raises `Refused` where something is not given; None and "" are given and are nothing.
        """
        return template(*(self._filled(part, memory, given) for part in self.parts))

    def _filled(
        self, part: str | Mapping[str, Any], memory: Knowing, given: Mapping[str, Any]
    ) -> Part:
        if isinstance(part, str):
            return part
        if _GIVEN in part:
            filled: Part = _given(part, given)
            return filled
        asked = {name: _given(value, given) for name, value in part.items()}
        if self.default_slot:
            asked.setdefault("slot", self.default_slot)
        query = asked.pop("query", None)
        # What is asked for and not there is a blank query, not none.
        return ask(memory, "" if "query" in part and _is_empty(query) else query, **asked)


def declared(parts: object, *, default_slot: object = "") -> Prompt:
    """Return the prompt of a list of texts and tables.

    A table has a `query` and any of the `FILTERS`; `default_slot` is the slot of those that name
    none. A value `{"given": name}` is what `render` is given under that name, and so is a table
    that is nothing else. Raises `Refused` for anything else, and for what `find` would refuse.
    """
    if not isinstance(default_slot, str):
        raise Refused("The default_slot of a prompt must be a string.")
    if not isinstance(parts, (list, tuple)):
        raise Refused("The parts of a prompt must be a list of texts and tables.")
    for part in parts:
        _check_part(part, default_slot)
    return Prompt(parts=tuple(parts), default_slot=default_slot)


def from_toml(path: str | Path) -> Prompt:
    """Return the prompt of a TOML file with `parts` and, if wanted, `default_slot`."""
    return _from_mapping(read_toml(path, name=f"The prompt {path}"))


def prompt(name: str) -> Prompt:
    """Return the prompt that `AGENT_MEMORY_PROMPTS` declares under `name`.

    There, a prompt is a list of parts, a mapping with `parts` and `default_slot`, or the path of a
    TOML file. Raises `Refused` for what is none of these or not there.
    """
    if name not in conf.prompts:
        raise Refused(f"AGENT_MEMORY_PROMPTS has no prompt '{name}'.")
    source = conf.prompts[name]
    if isinstance(source, (str, Path)):
        return from_toml(source)
    return _from_mapping(source) if isinstance(source, Mapping) else declared(source)


def _from_mapping(source: Mapping[str, Any]) -> Prompt:
    for name in source:
        if name not in _DECLARATION:
            raise Refused(f"A prompt has no '{str(name)[:64]}'; it has parts and default_slot.")
    return declared(source.get("parts"), default_slot=source.get("default_slot", ""))


def _check_part(part: object, default_slot: str) -> None:
    if isinstance(part, str):
        return
    if not isinstance(part, Mapping):
        raise Refused(f"A part of a prompt is a text or a table, not a {type(part).__name__}.")
    if _GIVEN in part:
        _check_given(part)
        return
    for name, value in part.items():
        if name not in _TABLE:
            raise Refused(
                f"A table of a prompt has no '{str(name)[:64]}'; it has {', '.join(_TABLE)}."
            )
        if isinstance(value, Mapping):
            _check_given(value)
    if not default_slot and not part.keys() - {"limit"}:
        raise Refused("A table of a prompt asks for nothing; name a slot or another filter.")
    _check_asked({"slot": default_slot, **part})


def _check_asked(table: Mapping[str, Any]) -> None:
    """Raise `Refused` for a query or a filter that `find` would refuse; what is given is not known.

    What is empty finds nothing and is not checked.
    """
    said = {name: value for name, value in table.items() if not isinstance(value, Mapping)}
    associations.check_limit(said.pop("limit", None))
    asked = {name: value for name, value in said.items() if not _is_empty(value)}
    associations.check(asked.pop("query", ""), cast("associations.Filters", asked))


def _check_given(table: Mapping[str, Any]) -> None:
    if list(table) != [_GIVEN] or not isinstance(table[_GIVEN], str):
        raise Refused('What is given to a prompt is named by {"given": "name"} and nothing else.')


def _given(value: Any, given: Mapping[str, Any]) -> Any:
    """Return the value, or what is given under the name that stands in its place."""
    if not isinstance(value, Mapping):
        return value
    name = value[_GIVEN]
    if name not in given:
        raise Refused(f"The prompt needs '{name}'; give it, or None where there is none.")
    return given[name]


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, (str, list, tuple, set, frozenset)) and not value)
