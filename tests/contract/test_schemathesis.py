"""No request that schemathesis thinks of breaks the server or is answered unlike described."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

from tests.api.live.server import Server

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "allow_header_conformance",
    "missing_required_header",
    "ignored_auth",
)
SECONDS = {"agent": 50, "user": 25}


def for_users(schema: Path) -> list[str]:
    """Return the ids of the operations that take no agent key."""
    paths = json.loads(schema.read_text(encoding="utf-8"))["paths"]
    operations = [operation for item in paths.values() for operation in item.values()]
    return [
        operation["operationId"]
        for operation in operations
        if {"MemoryAgentKey": []} not in operation["security"]
    ]


def fuzz(server: Server, schema: Path, seconds: int, *terms: str) -> None:
    """Run schemathesis; raise with what it says if it finds anything."""
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "schemathesis"),
            *("--config-file", str(Path(__file__).parent / "schemathesis.toml")),
            *("run", str(schema), "--origin", f"http://127.0.0.1:{server.port}"),
            *("--phases", "examples,coverage,fuzzing", "--checks", ",".join(CHECKS)),
            *("--max-time", str(seconds), "--workers", "2", "--continue-on-failure"),
            *("--no-color", "--warnings", "off", "--suppress-health-check", "all"),
            "--generation-deterministic",
            *terms,
        ],
        cwd=schema.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line[:400] for line in (done.stdout + done.stderr).splitlines()]
    assert done.returncode == 0, "\n".join(said)
    sent = re.search(r"(\d+) generated", done.stdout)
    assert sent is not None
    assert int(sent[1]) > 100, done.stdout


def test_an_agent_finds_nothing(server: Server, schema: Path) -> None:
    others = [part for name in for_users(schema) for part in ("--exclude-operation-id", name)]
    bearer = f"Authorization: Bearer {server.secret}"
    fuzz(server, schema, SECONDS["agent"], *others, "--header", bearer)


def test_a_user_finds_nothing(server: Server, schema: Path) -> None:
    only = [part for name in for_users(schema) for part in ("--include-operation-id", name)]
    cookies = signed_in(server)
    header = "; ".join(f"{name}={value}" for name, value in cookies.items())
    headers = ("--header", f"Cookie: {header}", "--header", f"X-CSRFToken: {cookies['csrftoken']}")
    # It would leave out the cookie by its name, and send the header all the same.
    given = ("--generation-with-security-parameters", "false")
    fuzz(server, schema, SECONDS["user"], *only, *headers, *given)


def signed_in(server: Server) -> dict[str, str]:
    """Return the cookies of the superuser root, who has logged in to the admin."""
    token = "a" * 32
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    try:
        form = {"username": "root", "password": "root", "csrfmiddlewaretoken": token}
        connection.request(
            "POST",
            "/admin/login/?next=/admin/",
            urlencode(form),
            {
                "Content-Type": "application/x-www-form-urlencoded",
                "Cookie": f"csrftoken={token}",
            },
        )
        response = connection.getresponse()
        assert response.status == 302, response.read()[:300]
        found: SimpleCookie = SimpleCookie()
        for header in response.headers.get_all("Set-Cookie", []):
            found.load(header)
        return {name: cookie.value for name, cookie in found.items()}
    finally:
        connection.close()
