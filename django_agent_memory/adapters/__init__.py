"""The memory behind the interfaces of agent frameworks.

Each module needs its framework and is imported by nothing here, so the app needs none. All of them
go through the verbs of `Memory`: locks, history, limits and the admin apply.
"""
