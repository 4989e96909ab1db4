"""The Model Context Protocol, by which agents of any make call the tools.

`handle` answers one message, whatever carried it. Around it, `view` is the HTTP endpoint and
`stdio` the loop of `manage.py memory_mcp`. Only `wire` knows the shapes of messages, and only
`view` knows HTTP.
"""

from .engine import handle

__all__ = ["handle"]
