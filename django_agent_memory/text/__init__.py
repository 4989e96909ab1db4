"""Pure functions over text: what may enter, how it is folded for search, how it is shown.

No Django, no settings: every limit is an argument.
"""
