"""Servers of every kind, none of which may lose a worker or log an error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.live.server import KINDS, Server, live_server

_HERE = Path(__file__).parent
# What a server makes of bytes does not depend on the database: elsewhere one kind is enough.
_KINDS = KINDS if os.environ.get("AGENT_MEMORY_TEST_DB", "sqlite") == "sqlite" else ["gthread"]

# What asyncio remarks, several times, of a client that went in the middle of its answer.
_CLIENT_WENT = "socket.send() raised exception."


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep these tests in one worker, which then starts each server once."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("hostility"))


@pytest.fixture(scope="session", params=list(_KINDS))
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server of each kind."""
    directory = tmp_path_factory.mktemp("hostility")
    log = directory / "log"
    with live_server(directory, kind=request.param, workers=2, log=log) as server:
        server.call("remember", key="known", summary="s", body="b")
        yield server


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    """The server; in the end its workers are the same, it logged nothing, and it still answers."""
    assert running.log is not None
    workers, logged = running.workers(), running.log.read_bytes()
    yield running
    assert running.call("recall", key="known")["body"] == "b"
    said = running.log.read_bytes()[len(logged) :].decode().splitlines()
    assert [line for line in said if line != _CLIENT_WENT] == []
    assert running.workers() == workers
