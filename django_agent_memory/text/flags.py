"""What a person should look at in a note: credentials, orders to the model, what is not seen.

A flag says what a text looks like and nothing else: it blocks nothing and changes nothing. Each is
precise rather than broad, since a list in which every note is flagged is a list without flags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .invisible import find_invisible
from .secrets import find_secrets

SECRETS = ("private_key", "api_key", "token", "password")
"""The flags whose texts are shown only when somebody asks for them."""

FLAGS = (*SECRETS, "instruction", "invisible", "large", "encoded")
"""All flags, in the order in which they are stored and shown."""

LARGE_BODY = 20_000
"""The most code points of a body that are usual: about 5,000 tokens for every recall."""

LARGE_SUMMARY = 300
"""The most code points of a summary that are usual: it is read on every turn."""

ENCODED_RUN = 1_000
"""The least code points without a blank that are data and not text."""

_SEPARATOR = " "
_ENCODED = re.compile(rf"[A-Za-z0-9+/=_-]{{{ENCODED_RUN}}}")
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|override)\s+(?:(?:all|any|of|the|your|these|my)\s+){0,4}"
    r"(?:(?:previous|prior|above|earlier|preceding|existing|system)\s+)"
    r"(?:\w+\s+){0,2}(?:instructions?|prompts?|directives?|guidelines)\b"
    r"|\bforget\s+(?:all\s+)?(?:of\s+)?your\s+(?:previous\s+|prior\s+)?instructions\b"
    r"|\b(?:do not|don't|don’t|never)\s+(?:tell|inform|alert|notify)\s+"
    r"the\s+(?:user|human|operator)\b"
    r"|\byou are now\s+(?:in\s+)?(?:dan\b|developer mode|jailbroken|unrestricted)"
    r"|\b(?:reveal|print|output|repeat|show|send)\s+(?:me\s+)?"
    r"(?:your|the)\s+(?:\w+\s+)?system prompt\b"
    r"|\bignorier\w{0,3}\s+(?:bitte\s+)?(?:alle\s+)?(?:deine\s+)?"
    r"(?:vorherigen|vorigen|bisherigen|obigen)\s+(?:anweisungen|instruktionen)\b"
    r"|\bignorez\s+(?:toutes\s+)?(?:les|vos)\s+(?:instructions|consignes)\s+"
    r"(?:précédentes|antérieures)"
    r"|\bignora(?:r|d)?\s+(?:todas\s+)?(?:las|tus)\s+instrucciones\s+(?:anteriores|previas)\b"
    r"|<\|(?:im_start|im_end|system|endoftext|eot_id|start_header_id|end_header_id)\|>"
    r"|\[/?inst\]|<</?sys>>|</?system[-_](?:prompt|message|reminder|instructions?)>",
)

_ORDER_MARKERS = (
    "instruction", "instruktion", "anweisung", "consignes", "instrucciones", "prompt", "directive",
    "guideline", "the user", "the human", "the operator", "you are now", "<|", "inst]", "sys>",
    "system-", "system_",
)  # fmt: skip
"""One of these is in whatever `_ORDERS` matches; looking for them costs a hundredth of that."""


def flags_of(
    *, key: str, summary: str, body: str, subject: str = "", contexts: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the flags of a note, in the order of `FLAGS`."""
    text = "\n".join((key, summary, body, subject, *contexts))
    found = {secret.kind for secret in find_secrets(text)}
    if _has_orders(text.lower()):
        found.add("instruction")
    # Each part by itself: a byte-order mark belongs at the beginning of its own.
    if any(any(True for _ in find_invisible(part)) for part in (key, summary, body, subject)):
        found.add("invisible")
    if len(body) > LARGE_BODY or len(summary) > LARGE_SUMMARY:
        found.add("large")
    if len(text) >= ENCODED_RUN and _ENCODED.search(text):
        found.add("encoded")
    return tuple(flag for flag in FLAGS if flag in found)


def _has_orders(lowered: str) -> bool:
    return any(marker in lowered for marker in _ORDER_MARKERS) and bool(_ORDERS.search(lowered))


def encode_flags(flags: Iterable[str]) -> str:
    """Return flags as one column holds them, "" for none."""
    return _SEPARATOR.join(flags)


def decode_flags(column: str) -> tuple[str, ...]:
    """Return the flags that a column holds; what is none is left out."""
    held = column.split(_SEPARATOR)
    return tuple(flag for flag in FLAGS if flag in held)
