"""A client that a generator makes of the document plays an agent's turn."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.api.live.server import Server

GENERATOR = "openapi-python-client"
NAME = "memory_client"


@pytest.fixture(scope="module")
def made(schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of the generated package, which is there to import."""
    folder = tmp_path_factory.mktemp("client")
    tools = Path(sys.executable).parent
    command = [
        str(tools / GENERATOR),
        *("generate", "--path", str(schema), "--output-path", str(folder / NAME)),
        *("--meta", "none", "--fail-on-warning"),
    ]
    # It looks for ruff there, to bring what it makes into form.
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    yield NAME
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def client(server: Server, made: str) -> Any:
    """The client of an agent."""
    kind = importlib.import_module(f"{made}.client").AuthenticatedClient
    return kind(base_url=f"http://127.0.0.1:{server.port}/memory", token=server.secret)


def test_an_agents_turn(client: Any, made: str) -> None:
    models = importlib.import_module(f"{made}.models")

    def call(operation: str, **terms: Any) -> Any:
        return importlib.import_module(f"{made}.api.{operation}").sync_detailed(
            client=client, **terms
        )

    arguments = models.MemoryRememberArguments(
        key="team/rota", summary="Who is on call", body={"mon": ["Ada"]}
    )
    answer = call("tools.remember", body=arguments, idempotency_key="turn-1")
    assert answer.status_code == HTTPStatus.OK
    saved = answer.parsed
    assert isinstance(saved, models.MemoryToolWritten)
    assert (saved.key, saved.outcome) == ("team/rota", models.MemoryOutcomeWritten.CREATED)
    again = call("tools.remember", body=arguments, idempotency_key="turn-1")
    assert (again.content, again.headers["idempotency-replayed"]) == (answer.content, "true")

    index = call("index.index")
    assert "- team/rota: Who is on call" in index.parsed.splitlines()
    assert call("index.index", if_none_match=index.headers["etag"]).status_code == 304

    recalled = call("tools.recall", body=models.MemoryRecallArguments(key="team/rota")).parsed
    assert isinstance(recalled, models.MemoryToolRecalled)
    assert (recalled.body, recalled.revision) == ({"mon": ["Ada"]}, saved.revision)
    unknown = call("tools.recall_by_get", key="team/rote").parsed
    assert isinstance(unknown, models.MemoryToolUnknown)
    assert unknown.suggestions == ["team/rota"]

    found = call("tools.search", body=models.MemorySearchArguments(pattern="ADA")).parsed
    assert [match.key for match in found.matches] == ["team/rota"]

    arguments.expected_revision = saved.revision + 7
    conflict = call("tools.remember", body=arguments)
    assert conflict.status_code == HTTPStatus.CONFLICT
    assert isinstance(conflict.parsed, models.MemoryProblem)
    assert conflict.parsed.code == models.MemoryProblemCode.CONFLICT
    assert conflict.parsed.current_revision == saved.revision

    forgot = call(
        "tools.forget_in_workspace",
        workspace="core",
        body=models.MemoryForgetArguments(key="team/rota", expected_revision=saved.revision),
    ).parsed
    assert forgot.outcome == models.MemoryOutcomeGone.FORGOT
    page = call("resources.list_revisions", key="team/rota").parsed
    assert [row.operation for row in page.results] == [
        models.MemoryWriteOperation.FORGET,
        models.MemoryWriteOperation.REMEMBER,
    ]


def test_a_workspace_with_a_slash_in_its_path(client: Any, made: str) -> None:
    operation = importlib.import_module(f"{made}.api.index.index_in_workspace")
    answer = operation.sync_detailed(workspace="tenant-7/ann", client=client)
    assert answer.status_code == HTTPStatus.NOT_FOUND
    assert answer.parsed.detail == "There is no such workspace."
