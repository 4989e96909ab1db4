"""Reads over HTTP beside plain views that read the same, and a tool by MCP beside the same by HTTP.

All under gunicorn, loaded by wrk.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from django_agent_memory.models import AgentKey

from .corpus import PATH, note, stored
from .timing import Row, turns

OURS, PLAIN = "Endpoint", "JsonResponse view"
GOAL = "≥ 0.55"
MCP, TOOL = "mcp/, tools/call", "tools/recall/"
MCP_GOAL = "≥ 0.77"  # 1.3 times as long at most
_WORKERS = 2
_CLIENTS = 8
_QUESTION = "invoice"


def run(scale: float) -> Iterator[Row]:
    """Measure requests a second, ours and a plain view taking turns on the same workers."""
    if shutil.which("wrk") is None:
        yield Row(case="HTTP recall", contender="skipped: wrk is not installed", p50="")
        return
    stored(max(10, int(1_000 * scale)))
    _, secret = AgentKey.objects.issue(
        workspace=PATH, name="wrk", tools=["recall", "find", "list_memories"]
    )
    key = quote(note(7)[0])
    cases = {
        "recall": ("tools/recall/", f"recall/?key={key}"),
        "index": ("index/", "index/"),
        "find": ("tools/find/", f"find/?query={quote(_QUESTION)}"),
    }
    with gunicorn() as site:
        for case, (ours, plain) in cases.items():
            query = plain.partition("?")[2]
            urls = {
                OURS: f"{site}/memory/{ours}{'?' * bool(query)}{query}",
                PLAIN: f"{site}/plain/{plain}",
            }
            yield from _compared(case, urls, secret, scale)
        yield from _by_mcp(site, secret, scale)


def _by_mcp(site: str, secret: str, scale: float) -> Iterator[Row]:
    """Measure the same tool called both ways, by POST."""
    arguments = {"key": note(7)[0]}
    params = {"name": "recall", "arguments": arguments}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    calls = {MCP: (f"{site}/memory/mcp/", call), TOOL: (f"{site}/memory/tools/recall/", arguments)}
    seconds = max(1, int(5 * scale))
    rates = [
        {name: _wrk(url, secret, seconds, body) for name, (url, body) in calls.items()}
        for _ in range(turns(scale))
    ]
    median = {name: statistics.median(each[name] for each in rates) for name in calls}
    for name in calls:
        yield Row(
            case="HTTP tool call",
            contender=name,
            p50=f"{median[name]:.0f} requests/s",
            ratio=f"{median[name] / median[TOOL]:.2f}",
            goal=MCP_GOAL if name == MCP else "",
        )


def _compared(case: str, urls: dict[str, str], secret: str, scale: float) -> Iterator[Row]:
    for url in urls.values():
        request(url, secret)
    seconds = max(1, int(5 * scale))
    rates = [
        {name: _wrk(url, secret, seconds) for name, url in urls.items()}
        for _ in range(turns(scale))
    ]
    median = {name: statistics.median(each[name] for each in rates) for name in urls}
    for name in urls:
        yield Row(
            case=f"HTTP {case}",
            contender=name,
            p50=f"{median[name]:.0f} requests/s",
            ratio=f"{median[name] / median[PLAIN]:.2f}",
            goal=GOAL if name == OURS else "",
        )


def request(url: str, secret: str) -> bytes:
    """Return the body of a GET with the key; raises for any status but 2xx."""
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {secret}"})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return bytes(answer.read())


@contextmanager
def gunicorn() -> Iterator[str]:
    """Serve this site with two sync workers on a free port and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "gunicorn", "--workers", str(_WORKERS), "--bind", address]
    server = subprocess.Popen(
        [*command, "--log-level", "warning", "tests.benchmarks.wsgi:application"]
    )
    try:
        _wait_for(address)
        yield f"http://{address}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def _wait_for(address: str) -> None:
    host, port = address.split(":")
    for _ in range(100):
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(f"Nothing listens on {address}.")


def _wrk(url: str, secret: str, seconds: int, body: object = None) -> float:
    """Return requests a second, GETs or POSTs of a JSON body; none may fail."""
    header = f"Authorization: Bearer {secret}"
    command = ["wrk", "-t1", f"-c{_CLIENTS}", f"-d{seconds}s", "-H", header]
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        if body is not None:
            quoted = json.dumps(json.dumps(body))
            script.write(f'wrk.method = "POST"\nwrk.body = {quoted}\n')
            script.write('wrk.headers["Content-Type"] = "application/json"\n')
            script.flush()
            command += ["-s", script.name]
        done = subprocess.run([*command, url], check=True, capture_output=True, text=True)
    if "Non-2xx" in done.stdout:
        raise RuntimeError(done.stdout)
    found = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    if found is None:
        raise RuntimeError(done.stdout)
    return float(found[1])
