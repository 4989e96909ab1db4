"""Where a live server speaks MCP."""

from __future__ import annotations

from dataclasses import dataclass

from .server import Server


@dataclass
class Endpoint:
    """Where the server answers, and the headers of a key to the workspace core."""

    server: Server

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}/memory/mcp/"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.server.secret}"}
