"""Many requests at once, right and wrong, read and written: AGENT_MEMORY_TEST_REQUESTS of them."""

from __future__ import annotations

import http.client
import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.api.live.server import Server

from .raw import PROBLEM

REQUESTS = int(os.environ.get("AGENT_MEMORY_TEST_REQUESTS", "160"))
CLIENTS = 16
WARM_UP = max(160, REQUESTS // 10)
GROWTH = 16  # megabytes a worker may hold more after the rest than after the warm-up
BODY = "x" * 500

WRONG: list[tuple[str, str, bytes, dict[str, str], int]] = [
    ("POST", "tools/recall/", b"[" * 5_000, {}, 400),
    ("POST", "tools/remember/", b'{"key":"k"', {}, 400),
    ("POST", "tools/nosuch/", b"{}", {}, 404),
    ("POST", "tools/other/recall/", b'{"key":"k"}', {}, 404),
    ("POST", "apply/", b'{"changes":[]}', {}, 400),
    ("POST", "notes/", b"\x1f\x8b", {"Content-Encoding": "gzip"}, 415),
    ("GET", "notes/?page_size=x", b"", {}, 400),
    ("GET", "index/", b"", {"Authorization": "Bearer nobody"}, 401),
    ("BREW", "index/", b"", {}, 405),
]


@dataclass
class Client:
    """One of the clients: it knows what it has written, and sends what it is told by chance."""

    server: Server
    number: int
    writes: int = 0
    kept: dict[str, int] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)

    def run(self, requests: int) -> None:
        """Send so many requests, each answered by what is right for it."""
        chance = random.Random(self.number)
        for _ in range(requests):
            kind = chance.random()
            if kind < 0.1:
                self.writes += 1
                self.write(f"c{self.number}/{self.writes % 20}")
            elif kind < 0.8:
                self.read(chance)
            else:
                method, address, body, headers, status = chance.choice(WRONG)
                self.send(method, address, body, headers, expected=status)

    def write(self, key: str) -> None:
        body = f"{self.writes} {BODY}"
        said = json.dumps({"key": key, "summary": "s", "body": body}).encode()
        name = {"Idempotency-Key": f"{self.number}/{self.writes}"}
        if self.send("POST", "tools/remember/", said, name) is not None:
            self.kept[key] = self.writes

    def read(self, chance: random.Random) -> None:
        if self.kept and chance.random() < 0.7:
            key = chance.choice(list(self.kept))
            answer = self.send("GET", f"tools/recall/?key={key}")
            assert answer is None or answer["body"] == f"{self.kept[key]} {BODY}"
        else:
            address = chance.choice(["index/", "notes/?page_size=5", "tools/search/?pattern=known"])
            self.send("GET", address)

    def send(
        self,
        method: str,
        address: str,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        *,
        expected: int = 200,
    ) -> Any:
        """Return the answer to the request, None if the server was busy."""
        said = {
            "Authorization": f"Bearer {self.server.secret}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            **(headers or {}),
        }
        response, raw = self.exchange(method, f"/memory/{address}", body, said)
        self.statuses[response.status] += 1
        if response.status == 503:
            assert int(response.headers["Retry-After"]) >= 1
            return None
        assert response.status == expected, (method, address, response.status, raw[:300])
        if expected >= 400:
            assert response.headers["Content-Type"] == PROBLEM
        return json.loads(raw)

    def exchange(self, *request: Any) -> tuple[http.client.HTTPResponse, bytes]:
        """Send it on the open connection, or on a new one if the server has closed that."""
        for attempt in range(2):
            try:
                self.connection.request(*request)
                response = self.connection.getresponse()
                return response, response.read()
            except ConnectionError:
                self.connection.close()
                if attempt:
                    raise
        raise AssertionError


@pytest.fixture
def crew(server: Server) -> Iterator[list[Client]]:
    crew = [Client(server, number) for number in range(CLIENTS)]
    yield crew
    for client in crew:
        client.connection.close()


def test_every_request_is_answered_and_memory_stays_flat(
    server: Server, crew: list[Client]
) -> None:
    """No status but the right one or 503, no worker lost, all that was acknowledged is there."""
    before = server.call("list_memories")["workspace_revision"]
    warm_up, rest = WARM_UP // CLIENTS, REQUESTS // CLIENTS
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda client: client.run(warm_up), crew))
        megabytes = server.megabytes()
        list(pool.map(lambda client: client.run(rest), crew))
    grown = server.megabytes() - megabytes
    statuses = sum((client.statuses for client in crew), Counter[int]())
    print(f"{server.kind}: {dict(statuses)}, {megabytes:.0f} MB and {grown:+.1f} MB")  # noqa: T201
    assert statuses.total() == (warm_up + rest) * CLIENTS
    assert statuses[503] < statuses.total() / 20
    assert grown < GROWTH
    kept = {key: number for client in crew for key, number in client.kept.items()}
    for key, number in kept.items():
        assert server.call("recall", key=key)["body"] == f"{number} {BODY}"
    assert server.call("list_memories")["workspace_revision"] > before
