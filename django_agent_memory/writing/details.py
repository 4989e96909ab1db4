"""What a note has beside its text."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal


class _Keep(Enum):
    """Stands for "as the note has it"; None would be "no summary"."""

    KEEP = "keep"


KEEP: Final = _Keep.KEEP
Keep = Literal[_Keep.KEEP]
