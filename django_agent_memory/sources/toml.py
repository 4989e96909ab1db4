"""Knowledge written by hand in a TOML file."""

from __future__ import annotations

from os import PathLike
from typing import Any

from django_agent_memory import writing
from django_agent_memory.exceptions import Refused
from django_agent_memory.toml_files import read_toml

from .gathering import SourceMemory

_TABLE = "memory"
_FIELDS = (
    "content",
    "key",
    "summary",
    "context",
    "slot",
    "kind",
    "subject",
    "weight",
    "happened_at",
    "expires_at",
)


def toml_file(memory: SourceMemory, path: str | PathLike[str]) -> None:
    """Store each `[[memory]]` of the file (at most 16 MB): `content`, and what `store` takes.

    All of it is checked before anything is stored. Raises `Refused` with the line or the entry that
    is wrong.
    """
    entries = _entries(read_toml(path), path)
    keys: dict[str, int] = {}
    for number, entry in enumerate(entries, start=1):
        where = f"{path}, [[{_TABLE}]] number {number}"
        _check(entry, where)
        key = entry.get("key")
        if key is not None and keys.setdefault(key, number) != number:
            raise Refused(f'{where}: The key "{key}" is that of number {keys[key]}.')
    for entry in entries:
        memory.store(entry["content"], **{k: v for k, v in entry.items() if k != "content"})


def _entries(said: dict[str, Any], path: str | PathLike[str]) -> list[dict[str, Any]]:
    others = sorted(said.keys() - {_TABLE})
    if others:
        raise Refused(f'{path}: There is "{others[0]}" beside [[{_TABLE}]], which is all it holds.')
    entries = said.get(_TABLE, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Refused(f'{path}: "{_TABLE}" must be tables, each headed [[{_TABLE}]].')
    return entries


def _check(entry: dict[str, Any], where: str) -> None:
    unknown = sorted(entry.keys() - set(_FIELDS))
    if unknown:
        raise Refused(f'{where}: There is no field "{unknown[0]}"; there are {", ".join(_FIELDS)}.')
    if "content" not in entry:
        raise Refused(f"{where}: It has no content.")
    known = {name: value for name, value in entry.items() if name != "content"}
    try:
        writing.check(writing.Store(body=entry["content"], **known))
    except Refused as refusal:
        raise Refused(f"{where}: {refusal}") from None
