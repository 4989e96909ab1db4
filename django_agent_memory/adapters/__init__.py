"""The memory as the frameworks for agents want it: a module each, which imports the framework.

Nothing else of the package imports any of them.
"""
