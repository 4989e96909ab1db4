"""OpenAPI 3.0 for a site whose own schema is: what JSON schema says there in other words."""

from __future__ import annotations

from typing import Any


def as_3_0(value: Any) -> Any:
    """Return the operation or component in the words of OpenAPI 3.0."""
    if isinstance(value, list):
        return [as_3_0(item) for item in value]
    if not isinstance(value, dict):
        return value
    # What stands in an example is nobody's schema.
    inside = {name: part if name == "example" else as_3_0(part) for name, part in value.items()}
    return _schema(inside)


def _schema(value: dict[str, Any]) -> dict[str, Any]:
    kinds = value.get("type")
    if isinstance(kinds, list) and "null" in kinds:
        value = {**value, "type": kinds[0], "nullable": True}
    choices = value.get("anyOf")
    if isinstance(choices, list) and {"type": "null"} in choices:
        left = [choice for choice in choices if choice != {"type": "null"}]
        value = {**value, "anyOf": left, "nullable": True}
    if isinstance(value.get("const"), str):
        # Not an enum: the site's hooks would name it, and there are several of one property.
        value = {**value, "pattern": f"^{value['const']}$"}
    value.pop("const", None)
    return value
