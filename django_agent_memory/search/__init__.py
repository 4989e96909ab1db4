"""Finding notes by what they say: the complete substring scan, and the keys near an unknown one."""

from .near_keys import near_keys
from .scan import search

__all__ = ["near_keys", "search"]
