"""The site under both kinds of server, for the clients that this environment has."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator

import pytest

from tests.api.live.mcp import Endpoint
from tests.api.live.server import live_server

MCP = int(importlib.metadata.version("mcp").partition(".")[0])
"""The major version of the client of MCP."""


@pytest.fixture(scope="session", params=["sync", "uvicorn"])
def endpoint(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Endpoint]:
    directory = tmp_path_factory.mktemp(request.param)
    with live_server(directory, kind=request.param, workers=2) as server:
        yield Endpoint(server)
