"""Persistent memory for language-model agents, inside a Django site's own database.

`Memory` is the whole Python interface; `Save`, `Store` and `Drop` are the changes that
`Memory.apply` takes, and `KEEP` stands in them for what stays as it is.
They are imported on first use, so that the package can stand in `INSTALLED_APPS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .memory import Memory
    from .writing import KEEP, Drop, Save, Store

__version__ = "0.1.0"
__all__ = ["KEEP", "Drop", "Memory", "Save", "Store"]


def __getattr__(name: str) -> Any:
    if name == "Memory":
        from .memory import Memory

        return Memory
    if name in ("KEEP", "Drop", "Save", "Store"):
        from . import writing

        return getattr(writing, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
