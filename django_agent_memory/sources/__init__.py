"""Sources: plain functions that fill a memory from what a site has elsewhere.

A function in an installed app's `memory_sources.py`, registered with `@memory_source`, is given a
`SourceMemory` and calls its `store()`. `manage.py memory_sources` runs it. Run twice, it leaves the
same rows. `toml_file`, `git_history`, `text_folder` and `queryset` are what such a function may
call; `ModelSource` follows the saves of a model.
"""

from .folder import text_folder
from .gathering import SourceMemory
from .git import git_history
from .registry import Source, memory_source
from .rows import queryset
from .running import Ran, run
from .signals import ModelSource
from .toml import toml_file

__all__ = [
    "ModelSource",
    "Ran",
    "Source",
    "SourceMemory",
    "git_history",
    "memory_source",
    "queryset",
    "run",
    "text_folder",
    "toml_file",
]
