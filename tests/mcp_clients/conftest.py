"""The site under both kinds of server, for the clients that this environment has."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.api.live.server import Server, live_server

MCP = int(importlib.metadata.version("mcp").partition(".")[0])
"""The major version of the client of MCP."""


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


@pytest.fixture(scope="session", params=["sync", "uvicorn"])
def endpoint(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Endpoint]:
    directory = tmp_path_factory.mktemp(request.param)
    with live_server(directory, kind=request.param, workers=2) as server:
        yield Endpoint(server)
