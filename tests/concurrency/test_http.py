"""Sixteen clients write one new memory through gunicorn's four workers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from django.db import connection

from django_agent_memory.models import AgentKey

from .crew import in_threads
from .test_processes import EACH, PATH, assert_holds_exactly

_ROOT = Path(__file__).parents[2]


@pytest.fixture
def site() -> Iterator[str]:
    """The address of the test site under gunicorn, on the test database."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "gunicorn", "--workers", "4", "--bind", address]
    environment = {
        **os.environ,
        "AGENT_MEMORY_SERVED_DATABASE": str(connection.settings_dict["NAME"]),
        "DJANGO_SETTINGS_MODULE": "tests.concurrency.served",
    }
    server = subprocess.Popen(
        [*command, "--log-level", "error", "django.core.wsgi:get_wsgi_application()"],
        cwd=_ROOT,
        env=environment,
    )
    wait_for(address)
    yield f"http://{address}"
    server.terminate()
    server.wait(timeout=30)


def wait_for(address: str) -> None:
    """Return as soon as something listens there."""
    host, port = address.split(":")
    for _ in range(200):
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(f"Nothing listens on {address}.")


def remember_over_http(site: str, secret: str, worker: int) -> dict[str, int]:
    """Remember as an agent does and return key → revision; any status but 2xx raises."""
    kept = {}
    for number in range(EACH):
        key = f"w{worker:02}/n{number:02}"
        arguments = {"key": key, "summary": f"Summary of {key}", "body": f"Body of {key}"}
        request = urllib.request.Request(
            f"{site}/memory/tools/remember/",
            data=json.dumps(arguments).encode(),
            headers={"Authorization": f"Bearer {secret}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            said = json.load(answer)
        assert said["text"] == f'saved "{key}".'
        kept[key] = said["revision"]
    return kept


def test_everything_acknowledged_over_http_is_kept(site: str) -> None:
    _, secret = AgentKey.objects.issue(workspace=PATH, name="swarm")
    tasks = [partial(remember_over_http, site, secret, worker) for worker in range(16)]
    acknowledged = {key: number for kept in in_threads(tasks) for key, number in kept.items()}
    assert len(acknowledged) == 16 * EACH
    assert_holds_exactly(acknowledged)
