"""How fast the package is beside plain code that does the same: `python -m tests.benchmarks`.

Contenders take turns within one run, so that a machine that drifts slows all of them; the ratios
are what to look at. Nothing here is asserted to be fast.
"""
