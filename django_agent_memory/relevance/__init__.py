"""The ranker of `find`: the same order on every database, from tables, within bounds.

The tables are read by `tables`; which notes hold what of the query is gathered by `evidence`; what
a note is worth is said by `formula` and reckoned by `ranking`; `selection` puts the notes in order.
"""

from .formula import PARTS
from .selection import Ranked, rank, ties

__all__ = ["PARTS", "Ranked", "rank", "ties"]
