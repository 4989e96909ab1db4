"""Finding notes by what they say: the complete substring search, and the keys near an unknown one.

`substring` answers; `engines` knows what each database can do to be quick about it; `upkeep` makes,
mends and removes the search index that an engine may keep.
"""

from .near_keys import near_keys
from .substring import matching, search
from .upkeep import compact

__all__ = ["compact", "matching", "near_keys", "search"]
