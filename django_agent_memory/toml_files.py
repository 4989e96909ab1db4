"""TOML files, read within bounds: whatever is wrong with one is said in a sentence."""

from __future__ import annotations

import tomllib
from os import PathLike
from pathlib import Path
from typing import Any

from .exceptions import Refused

MAX_BYTES = 16_000_000


def read_toml(path: str | PathLike[str], *, name: str | None = None) -> dict[str, Any]:
    """Return what the file (at most 16 MB of UTF-8, a byte order mark may be first) says.

    Raises `Refused` with a sentence about `name`, by default the path.
    """
    called = name or f"{path}"
    raw = _raw(path, called)
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise Refused(f"{called} is not UTF-8: see line {line}.") from None
    except RecursionError:
        raise Refused(f"{called} is nested too deeply.") from None
    except ValueError as error:  # also of a number or a date that Python does not hold
        raise Refused(f"{called} is not valid TOML: {error}.") from None


def _raw(path: str | PathLike[str], called: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # the latter for a path with NUL
        why = getattr(error, "strerror", None) or error
        raise Refused(f"{called} cannot be read: {why}.") from None
    if len(raw) > MAX_BYTES:
        raise Refused(f"{called} is larger than {MAX_BYTES} bytes.")
    return raw
