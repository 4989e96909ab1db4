"""Credentials in a text: where they stand, by what their issuers and formats make unmistakable.

Precise rather than broad: a kind is known by a prefix, a frame or a name in front of it, and what
stands for a secret in a manual (`<password>`, `xxxx`, `AKIAIOSFODNN7EXAMPLE`) is none. Each pattern
is only tried where a text holds its marker, and takes time in proportion to the length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

_LONGEST_KEY_BLOCK = 10_000
_FEWEST_CHARACTERS = 4
_FEWEST_RANDOM = 8
_STAND_INS = re.compile(r"example|your|placeholder|changeme|redacted|x{4}|\.\.\.|…", re.IGNORECASE)
_NO_VALUES = "$<{%*"


class Secret(NamedTuple):
    """A credential: of which kind, and from where to where in the text."""

    kind: str
    start: int
    end: int


class _Pattern(NamedTuple):
    kind: str
    markers: tuple[str, ...]
    pattern: re.Pattern[str]
    is_secret: Callable[[str], bool]


def find_secrets(text: str) -> list[Secret]:
    """Return the credentials in `text` in order, none inside another.

    Kinds are `private_key`, `api_key`, `token` and `password`.
    """
    found = sorted([*_private_keys(text), *_matches(text)], key=lambda one: (one.start, -one.end))
    apart: list[Secret] = []
    for secret in found:
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
    return apart


def _private_keys(text: str) -> Iterator[Secret]:
    """Yield each block, up to its end, or to that of its first line if it has none near."""
    if "PRIVATE KEY" not in text:
        return
    for begin in _BEGIN.finditer(text):
        end = _END.search(text, begin.end(), begin.end() + _LONGEST_KEY_BLOCK)
        yield Secret("private_key", begin.start(), end.end() if end else begin.end())


def _matches(text: str) -> Iterator[Secret]:
    lowered = text.lower()
    for kind, markers, pattern, is_secret in _PATTERNS:
        if not any(marker in lowered for marker in markers):
            continue
        for match in pattern.finditer(text):
            if is_secret(match["secret"]):
                yield Secret(kind, *match.span("secret"))


def _is_random(text: str) -> bool:
    return len(set(text)) >= _FEWEST_RANDOM and not _STAND_INS.search(text)


def _is_password(text: str) -> bool:
    """Whether it is one and no word of a sentence: letters with digits or signs among them."""
    if text[0] in _NO_VALUES or "://" in text or _STAND_INS.search(text):
        return False
    has_letter = any(char.isalpha() for char in text)
    has_other = any(char.isdigit() or char in "!@#$%^&*?~+=" for char in text)
    return has_letter and has_other and len(set(text)) >= _FEWEST_CHARACTERS


def _is_in_address(text: str) -> bool:
    """Whether what stands before the @ of an address is a password."""
    is_word = text.lower() in ("password", "passwd", "pass", "secret", "pwd", "token")
    return not is_word and text[0] not in _NO_VALUES and not _STAND_INS.search(text)


_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")


def _key(prefix: str, rest: str) -> re.Pattern[str]:
    """Return the pattern of a key that stands alone: no match begins inside a run."""
    return re.compile(rf"(?<![A-Za-z0-9_-])(?P<secret>(?:{prefix}){rest})(?![A-Za-z0-9_-])")


_NAMES = "password|passwd|passphrase|passwort|kennwort|mot de passe|contraseña|contrasena"
_SAID = re.compile(
    rf"\b(?:\w{{0,20}}_)?(?:{_NAMES}|pwd)\b[\"'`*]{{0,3}}\s{{0,3}}(?::=|=>|->|[:=]|is|ist|est|es)"
    r"\s{0,3}[\"'`*]{0,3}(?P<secret>[^\s\"'`,;<>()\[\]{}]{6,128})(?<![.:?])",
    re.IGNORECASE,
)
_PATTERNS = (
    _Pattern("api_key", ("akia", "asia"), _key("AKIA|ASIA", "[A-Z0-9]{16}"), _is_random),
    _Pattern(
        "api_key",
        ("sk-", "sk_live_", "rk_live_", "sk_test_"),
        _key("sk-(?:ant-|proj-|or-)?|[sr]k_(?:live|test)_", "[A-Za-z0-9_-]{20,256}"),
        lambda text: _is_random(text) and any(char.isdigit() for char in text),
    ),
    _Pattern("api_key", ("aiza",), _key("AIza", "[A-Za-z0-9_-]{35}"), _is_random),
    _Pattern(
        "api_key",
        ("sg.",),
        _key("SG", r"\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,64}"),
        _is_random,
    ),
    _Pattern(
        "token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        _key("gh[pousr]_|github_pat_", "[A-Za-z0-9_]{36,255}"),
        _is_random,
    ),
    _Pattern(
        "token",
        ("glpat-", "xox", "npm_", "pypi-", "hf_", "dam_"),
        _key("glpat-|xox[abprs]-|npm_|pypi-|hf_|dam_", "[A-Za-z0-9_-]{20,256}"),
        lambda text: _is_random(text) and any(char.isdigit() for char in text),
    ),
    _Pattern(
        "token",
        ("eyj",),
        _key("eyJ", r"[A-Za-z0-9_-]{8,4096}\.eyJ[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]{16,1024}"),
        _is_random,
    ),
    _Pattern(
        "token",
        ("bearer ",),
        re.compile(
            r"\bBearer (?P<secret>[A-Za-z0-9._~+/-]{20,512}=*)(?![A-Za-z0-9._~+/-])",
            re.IGNORECASE,
        ),
        lambda text: _is_random(text) and any(char.isdigit() for char in text),
    ),
    _Pattern(
        "password",
        (*_NAMES.split("|"), "pwd"),
        _SAID,
        _is_password,
    ),
    _Pattern(
        "password",
        ("://",),
        re.compile(
            r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://[^\s/:@?#]{0,100}:(?P<secret>[^\s/@]{3,128})@",
            re.IGNORECASE,
        ),
        _is_in_address,
    ),
)
