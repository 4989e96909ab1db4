"""The tools as models see them, and the one way to call them by name.

A `ToolSpec` is the single source: its schema, its checks and its text come from here for every
edge. No tool has a workspace argument; the memory it is called on is the caller's choice.
"""

from .dialects import STYLES, render
from .registry import TOOLS, dispatch
from .spec import Answer, Parameter, ToolSpec
from .toolset import Toolset

__all__ = ["STYLES", "TOOLS", "Answer", "Parameter", "ToolSpec", "Toolset", "dispatch", "render"]
