"""Frameworks that agents are made with, the real packages: run in an environment that has them."""
