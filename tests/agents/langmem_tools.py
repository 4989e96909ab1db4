"""LangMem's tools, imported without the warnings that its own imports raise."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from langmem import create_manage_memory_tool, create_search_memory_tool

__all__ = ["create_manage_memory_tool", "create_search_memory_tool"]
