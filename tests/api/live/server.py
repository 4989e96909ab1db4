"""gunicorn or uvicorn over a database of its own, and a client for it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
# How a site may be served: the command behind `python -m`, before the address.
KINDS: dict[str, list[str]] = {
    "sync": ["gunicorn", "tests.api.live.wsgi:application", "--worker-class", "sync"],
    "gthread": ["gunicorn", "tests.api.live.wsgi:application", "--threads", "8"],
    "uvicorn": ["uvicorn", "tests.api.live.asgi:application", "--no-access-log"],
}


@dataclass
class Answer:
    """Status, headers and body of a response."""

    status: int
    headers: Any
    raw: bytes

    @property
    def text(self) -> str:
        return self.raw.decode()

    def json(self) -> Any:
        return json.loads(self.raw)


@dataclass
class Server:
    """A server that can be started, killed and started again; `secret` is an agent key's."""

    database: str
    secret: str = ""
    port: int = 0
    kind: str = "sync"
    log: Path | None = None
    process: subprocess.Popen[bytes] | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.api.live.settings",
            "AGENT_MEMORY_LIVE_DB": self.database,
        }

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def start(self, workers: int = 4) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        command = [sys.executable, "-m", *KINDS[self.kind], "--log-level", "error"]
        if self.kind == "uvicorn":
            command += ["--port", str(self.port)]  # one process: the server is its own worker
        else:
            command += ["--bind", f"127.0.0.1:{self.port}", "--workers", str(workers)]
        with contextlib.ExitStack() as opened:
            log = None if self.log is None else opened.enter_context(self.log.open("ab"))
            # A session of its own, so that a kill reaches the workers too and nothing else.
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=self.environment, start_new_session=True, stderr=log
            )
        self._await()

    def workers(self) -> list[int]:
        """Return the ids of the processes that answer."""
        assert self.process is not None
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(child) for child in children] or [pid]

    def megabytes(self) -> float:
        """Return the memory that the largest worker holds now."""
        statuses = [Path(f"/proc/{pid}/status").read_text() for pid in self.workers()]
        return max(int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) / 1024 for status in statuses)

    def kill(self) -> None:
        """End the server and all its workers at once, as a power cut would."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def request(
        self,
        method: str,
        address: str,
        body: bytes | str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, address, body, headers or {})
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, address: str, **headers: str) -> Answer:
        """Ask as the agent; underscores in names of headers stand for dashes."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.request("GET", f"/memory/{address}", None, {**self._bearer(), **named})

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool as the agent; return the answer, or raise `AssertionError`."""
        headers = {**self._bearer(), "Content-Type": "application/json"}
        raw = json.dumps(arguments)
        answer = self.request("POST", f"/memory/tools/{tool}/", raw, headers)
        assert answer.status == 200, answer.text
        return answer.json()

    def _bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"}

    def _await(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, http.client.HTTPException):
                self.request("GET", "/memory/nosuch")
                return
            time.sleep(0.1)
        raise TimeoutError("the server did not come up")


@contextlib.contextmanager
def live_server(
    directory: Path, *, kind: str = "sync", workers: int = 4, log: Path | None = None
) -> Iterator[Server]:
    """Yield a running server; its database is in `directory`, or dropped in the end.

    What the server says of errors goes to the file `log`, if there is one.
    """
    on_file = os.environ.get("AGENT_MEMORY_TEST_DB", "sqlite") == "sqlite"
    name = f"live_{uuid.uuid4().hex[:12]}"
    server = Server(str(directory / f"{name}.sqlite3") if on_file else name, kind=kind, log=log)
    try:
        server.secret = server.run("-m", "tests.api.live.database", "create")
        server.start(workers)
        yield server
    finally:
        server.kill()
        server.run("-m", "tests.api.live.database", "drop")
