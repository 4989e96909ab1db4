"""Text that breaks careless folding: characters that grow, shrink, join and reorder."""

from __future__ import annotations

from hypothesis import strategies as st

AWKWARD = (
    "aZß\u1e9eİıΣσςΐ\u0390ΰŉǰﬁﬃéÉe\u0301\u0300\u0316\u0345\u0344\u0f71\u0f73ᾳᾼΩÅ\u212a"
    "가\u1100\u1161\u11a8각\u09c7\u09be\u3099かが語😀👩\u200d👧\U000e0041\u202e\u2067\u200b"
    " \t\r\n\x0b\x0c\x1c\x1e\x1f\u241f\x85\xa0\u2028\u2029\u3000%_\\.*[]()'\"-:"
)

storable = st.characters(exclude_categories=("Cs",), exclude_characters="\x00")
texts = st.text(st.one_of(st.sampled_from(AWKWARD), storable), max_size=80)
patterns = st.text(st.one_of(st.sampled_from(AWKWARD), storable), max_size=6)
