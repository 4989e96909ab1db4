"""The reference MCP memory server, run by node and called through the official Python client.

A note is an entity with two observations. `AGENT_MEMORY_PEERS` names the folder it was installed
into with npm.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

NAME = "MCP server-memory"
_PACKAGE = "@modelcontextprotocol/server-memory"
_FOLDER = "AGENT_MEMORY_PEERS"
_BATCH = 1_000


class _McpServer:
    def __init__(self, portal: Any, client: Any) -> None:
        self._portal = portal
        self._client = client

    def fill(self, notes: Iterable[tuple[str, str, str]]) -> None:
        # Twenty thousand in one message ended the connection.
        rest = iter(notes)
        while batch := [_entity(*note) for note in islice(rest, _BATCH)]:
            self._call("create_entities", entities=batch)

    def put(self, key: str, summary: str, body: str) -> None:
        self._call("create_entities", entities=[_entity(key, summary, body)])

    def get(self, key: str) -> str | None:
        found = self._call("open_nodes", names=[key])["entities"]
        return found[0]["observations"][1] if found else None

    def search(self, text: str) -> list[str]:
        return [found["name"] for found in self._call("search_nodes", query=text)["entities"]]

    def _call(self, tool: str, **arguments: Any) -> Any:
        result = self._portal.call(partial(self._client.call_tool, tool, arguments))
        if result.is_error:
            raise RuntimeError(result.content)
        return result.structured_content


def missing() -> str:
    """Return what to install for it; "" if all is there."""
    if find_spec("mcp") is None:
        return "pip install -r tests/requirements/peers.txt"
    if shutil.which("node") is None or not _server().exists():
        return f"npm install --prefix FOLDER {_PACKAGE}, and set {_FOLDER}=FOLDER"
    return ""


@contextmanager
def opened(place: str) -> Iterator[_McpServer]:
    """Start a server on a file of its own at `place`."""
    from anyio.from_thread import start_blocking_portal
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(
        command="node", args=[str(_server())], env={"MEMORY_FILE_PATH": f"{place}.jsonl"}
    )
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server)) as client,
    ):
        yield _McpServer(portal, client)


def _server() -> Path:
    folder = os.environ.get(_FOLDER, "")
    return Path(folder) / "node_modules" / _PACKAGE / "dist" / "index.js"


def _entity(key: str, summary: str, body: str) -> dict[str, Any]:
    return {"name": key, "entityType": "note", "observations": [summary, body]}
