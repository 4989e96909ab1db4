"""What may enter: the one set of rules every surface shares.

Refused is what one of the supported databases or JSON cannot hold (NUL, lone surrogates, NaN and
the infinities), what would hurt a reader (control characters in keys, very deep JSON) and what is
over a limit. Nothing is repaired: text is stored exactly as given or not at all. Lengths are code
points.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from django_agent_memory.exceptions import Refused, TooLarge

MAX_JSON_DEPTH = 100
MAX_PATH_LENGTH = 255

_TOO_MANY_DIGITS = (
    f"an integer of more than {sys.int_info.default_max_str_digits} digits; write it as a string."
)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SEGMENT = re.compile(r"[A-Za-z0-9_.@+-]+")


def check_text(text: object, *, name: str, limit: int) -> str:
    """Return `text` itself, or raise `Refused` or `TooLarge`; the sentence calls it `name`."""
    if not isinstance(text, str):
        raise Refused(f"The {name} must be a string, not {_kind(text)}.")
    check_length(len(text), name=name, limit=limit)
    check_characters(text, name=name)
    return text


def check_key(key: object, *, limit: int) -> str:
    """Return the key itself: 1 to `limit` code points, no control character but tab and newline."""
    if key == "":
        raise Refused("The key is empty; give it 1 or more characters.")
    checked = check_text(key, name="key", limit=limit)
    check_line_characters(checked, name="key")
    return checked


def check_path(path: object) -> str:
    """Return the workspace path itself, or raise `Refused` with the rule it breaks."""
    if not isinstance(path, str):
        raise Refused(f"The workspace path must be a string, not {_kind(path)}.")
    if not path:
        raise Refused("The workspace path is empty; name a workspace such as 'core'.")
    check_length(len(path), name="workspace path", limit=MAX_PATH_LENGTH)
    for segment in path.split("/"):
        if segment in ("", ".", "..") or not _SEGMENT.fullmatch(segment):
            raise Refused(
                "A workspace path is segments of A-Z a-z 0-9 _ . @ + - joined by '/', "
                "none of them empty, '.' or '..'."
            )
    return path


def check_body(body: object, *, limit: int) -> tuple[str, bool]:
    """Return `(text, is_json)`: a string as it is, any other JSON value rendered compactly."""
    if isinstance(body, str):
        return check_text(body, name="body", limit=limit), False
    check_json(body, name="body")
    rendered = render_json(body)
    check_length(len(rendered), name="body", limit=limit)
    return rendered, True


def check_json(value: object, *, name: str) -> None:
    """Raise `Refused` unless `value` is JSON that every database holds, at most 100 levels deep."""
    level: list[Any] = [value]
    depth = 0
    while level:
        if any(isinstance(item, (dict, list, tuple)) for item in level):
            depth += 1
        if depth > MAX_JSON_DEPTH:
            raise Refused(f"The {name} is JSON nested deeper than {MAX_JSON_DEPTH} levels.")
        level = [child for item in level for child in _children(item, name)]


def check_characters(text: str, *, name: str) -> None:
    """Raise `Refused` if `text` holds NUL or a lone surrogate."""
    bad = _UNSTORABLE.search(text)
    if bad:
        what = "a NUL character" if bad[0] == "\x00" else f"the lone surrogate U+{ord(bad[0]):04X}"
        raise Refused(f"The {name} contains {what}, which cannot be stored; remove it.")


def check_line_characters(text: str, *, name: str) -> None:
    """Raise `Refused` if `text` holds a control character but tab and newline."""
    control = _CONTROL.search(text)
    if control:
        raise Refused(
            f"The {name} contains the control character U+{ord(control[0]):04X}; "
            f"only tab and newline are allowed in a {name}."
        )


def is_storable(text: str) -> bool:
    """Whether `text` is free of NUL and lone surrogates: a database can be asked about it."""
    return not _UNSTORABLE.search(text)


def check_length(length: int, *, name: str, limit: int, unit: str = "characters") -> None:
    """Raise `TooLarge`, with both sizes and what to do, if `length` is over `limit`."""
    if length > limit:
        raise TooLarge(
            f"The {name} is too long: {length} {unit}, the limit is {limit}. "
            "Shorten it or split it; do not retry unchanged."
        )


def parse_json(text: str, *, unique_names: bool = False) -> Any:
    """Parse JSON as the gate wants it: no NaN or Infinity, no number too large for a float.

    Raises `Refused`, also for nesting or digits beyond what Python parses. Of a name that stands
    twice in one object the last counts; with `unique_names` it is refused.
    """
    try:
        return json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_unique if unique_names else None,
        )
    except Refused:
        raise
    except RecursionError:
        raise Refused(f"The JSON is nested deeper than {MAX_JSON_DEPTH} levels.") from None
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at").removesuffix(" starting")
        raise Refused(
            f"This is not valid JSON: {what} at line {error.lineno}, column {error.colno}."
        ) from None
    except ValueError:
        raise Refused(f"The JSON contains {_TOO_MANY_DIGITS}") from None


def render_json(value: object) -> str:
    """Return a JSON value compactly: no blanks, characters as themselves, names in their order."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def is_sound_json(text: str) -> bool:
    """Whether `text` is JSON that may be read back: what raw SQL put there may be anything."""
    try:
        value = parse_json(text)
        # Only what has that many brackets can be that deep; walking large values costs.
        if text.count("[") + text.count("{") > MAX_JSON_DEPTH:
            check_json(value, name="body")
    except Refused:
        return False
    return True


def _children(value: Any, name: str) -> list[Any]:
    """Check one JSON value and return what it contains."""
    check = _CHECKS.get(type(value))
    if check is None:
        raise Refused(f"The {name} must be text or a JSON value; {_kind(value)} is neither.")
    return check(value, name)


def _check_string(value: str, name: str) -> list[Any]:
    check_characters(value, name=name)
    return []


def _check_float(value: float, name: str) -> list[Any]:
    if not math.isfinite(value):
        raise Refused(f"The {name} contains {value}, which JSON does not have.")
    return []


def _check_object(value: dict[Any, Any], name: str) -> list[Any]:
    for key in value:
        if not isinstance(key, str):
            raise Refused(f"The {name} has an object key that is {_kind(key)}, not a string.")
        check_characters(key, name=name)
    return list(value.values())


def _check_integer(value: int, name: str) -> list[Any]:
    try:
        str(value)
    except ValueError:
        raise Refused(f"The {name} contains {_TOO_MANY_DIGITS}") from None
    return []


_CHECKS: dict[type, Callable[[Any, str], list[Any]]] = {
    str: _check_string,
    float: _check_float,
    dict: _check_object,
    int: _check_integer,
    list: lambda value, _: value,
    tuple: lambda value, _: list(value),
    bool: lambda *_: [],
    type(None): lambda *_: [],
}


def _refuse_constant(name: str) -> NoReturn:
    raise Refused(f"The JSON contains {name}, which JSON does not have.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Refused(f"The JSON has the name '{twice[:64]}' twice in one object.")
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Refused("The JSON contains a number too large for any reader.")
    return number


def _kind(value: object) -> str:
    """How a sentence names the type of a value, in JSON's words where it has one."""
    names = {
        bool: "a boolean",
        dict: "an object",
        float: "a number",
        int: "a number",
        list: "a list",
        type(None): "null",
    }
    return names.get(type(value), f"a Python {type(value).__name__}")
