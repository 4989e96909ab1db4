"""gunicorn over a database of its own with something in it, and who may call it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from django_agent_memory.tools import TOOLS
from tests.api.live.server import Server, live_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose `secret` is that of an agent with every tool."""
    # gunicorn would answer a long address itself, by a page of its own.
    os.environ["GUNICORN_CMD_ARGS"] = "--limit-request-line 0"
    with live_server(tmp_path_factory.mktemp("live")) as server:
        named = [part for tool in TOOLS for part in ("--tool", tool)]
        command = ("-m", "django", "agent_key", "create", "core", "contract", *named)
        server.secret = server.run(*command)
        for key in ("user/tea", "user/cat"):
            server.call("remember", key=key, summary="Green tea, never coffee", body="No sugar.")
        yield server
    del os.environ["GUNICORN_CMD_ARGS"]


@pytest.fixture(scope="module")
def schema(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The document that the server serves, as a file."""
    answer = server.get("schema/")
    assert answer.status == 200, answer.text
    assert json.loads(answer.raw)["servers"] == [{"url": "/memory"}]
    file = tmp_path_factory.mktemp("schema") / "schema.json"
    file.write_bytes(answer.raw)
    return file
