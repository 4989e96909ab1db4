"""The main job, end to end: a real server, real text, an agent's turn, a person, a power cut."""

from __future__ import annotations

import ast
import http.client
import json
import re
import sysconfig
import tokenize
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.cookies import SimpleCookie
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from django_agent_memory.text.folding import fold
from tests.api.live.server import Server, live_server

MODULES = 200


def module_docstrings() -> dict[str, str]:
    """Return the docstrings of 200 modules of the standard library by path, read, not imported."""
    library = Path(sysconfig.get_paths()["stdlib"])
    found: dict[str, str] = {}
    for file in sorted(library.rglob("*.py")):
        path = file.relative_to(library)
        if {"site-packages", "test", "tests", "idlelib", "lib2to3"} & set(path.parts):
            continue
        docstring = _docstring(file)
        if docstring:
            found[path.with_suffix("").as_posix()] = docstring
        if len(found) == MODULES:
            break
    return found


def _docstring(file: Path) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tokenize.open(file) as source:
            return ast.get_docstring(ast.parse(source.read()), clean=False)


@pytest.fixture(scope="module")
def docstrings() -> dict[str, str]:
    """The text of the memories."""
    found = module_docstrings()
    assert len(found) == MODULES
    return found


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, docstrings: dict[str, str]
) -> Iterator[Server]:
    """A server that the docstrings have been stored in, eight at a time."""
    with live_server(tmp_path_factory.mktemp("live")) as server:

        def store(item: tuple[str, str]) -> str:
            key, body = item
            summary = body.strip().splitlines()[0]
            outcome: str = server.call("remember", key=key, summary=summary, body=body)["outcome"]
            return outcome

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(store, docstrings.items())) == {"created"}
        yield server


def every_row(server: Server, resource: str) -> list[dict[str, Any]]:
    """Return all rows of a resource, page by page."""
    rows: list[dict[str, Any]] = []
    address = f"{resource}/?page_size=200"
    while address:
        answer = server.get(address)
        assert answer.status == 200, answer.text
        page = answer.json()
        rows += page["results"]
        address = (page["next"] or "").removeprefix("/memory/")
    return rows


def assert_whole(server: Server) -> dict[str, dict[str, Any]]:
    """Assert that notes, index and revisions tell one story, and return the notes by key."""
    notes = {row["key"]: row for row in every_row(server, "notes")}
    entries = {row["key"]: row["summary"] for row in every_row(server, "index-entries")}
    revisions = every_row(server, "revisions")
    assert {key: note["summary"] for key, note in notes.items()} == entries
    assert [row["number"] for row in revisions] == list(range(len(revisions), 0, -1))
    last = {row["key"]: row for row in reversed(revisions)}
    stands = {key: row["number"] for key, row in last.items() if row["operation"] == "remember"}
    assert {key: note["revision"] for key, note in notes.items()} == stands
    index = server.get("index/", Accept="application/json").json()
    assert index["lines"] == len(notes)
    assert index["workspace_revision"] == len(revisions)
    return notes


def test_an_agents_turn(server: Server, docstrings: dict[str, str]) -> None:
    index = server.get("index/")
    etag = index.headers["ETag"]
    lines = index.text.split("\n")
    assert (lines[0], len(lines)) == ("[memory index]", MODULES + 1)
    assert [line.split(": ")[0][2:] for line in lines[1:]] == sorted(docstrings)
    assert server.get("index/", If_None_Match=etag).status == 304

    found = server.call("search", pattern="PARSE")
    matching = [k for k in sorted(docstrings) if "parse" in fold(f"{k}\x1f{docstrings[k]}")]
    assert found["total"] == len(matching) > 0
    assert [match["key"] for match in found["matches"]] == matching[:8]
    for key, docstring in docstrings.items():
        assert server.call("recall", key=key)["body"] == docstring

    saved = server.call("remember", key="user/name", summary="Name is Alice", body="Alice")
    assert saved["workspace_revision"] == MODULES + 1
    changed = server.get("index/", If_None_Match=etag)
    assert changed.status == 200
    assert changed.headers["ETag"] != etag
    assert "\n- user/name: Name is Alice" in changed.text
    assert server.call("forget", key="user/name")["outcome"] == "forgot"
    again = server.get("index/", If_None_Match=changed.headers["ETag"])
    assert (again.status, again.text) == (200, index.text)
    assert_whole(server)


def test_errors_come_as_problems_from_a_real_server(server: Server) -> None:
    huge = b'{"pattern":"' + b"x" * 17_000_000 + b'"}'
    headers = {"Authorization": f"Bearer {server.secret}", "Content-Type": "application/json"}
    for address, body, status in [
        ("tools/search/", huge, 413),
        ("tools/search/", b"{", 400),
        ("tools/nosuch/", b"{}", 404),
        ("nosuch", b"{}", 404),
    ]:
        answer = server.request("POST", f"/memory/{address}", body, headers)
        assert answer.status == status
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["status"] == status
    assert server.get("tools/recall/?key=%ff").status == 400
    assert server.get("tools/", Authorization="Bearer x").headers["WWW-Authenticate"] == "Bearer"


def test_a_body_without_a_declared_length(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"Authorization": f"Bearer {server.secret}", "Content-Type": "application/json"}
    pieces = iter([b'{"pattern":', b'"no such text anywhere"}'])
    connection.request("POST", "/memory/tools/search/", pieces, headers, encode_chunked=True)
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    assert (response.status, answer["pattern"]) == (200, "no such text anywhere")


def test_a_person_looks(server: Server, docstrings: dict[str, str]) -> None:
    login = reverse("admin:login")
    cookies: SimpleCookie = SimpleCookie()

    def ask(method: str, address: str, form: dict[str, str] | None = None) -> Any:
        headers = {"Cookie": "; ".join(f"{m.key}={m.value}" for m in cookies.values())}
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        answer = server.request(method, address, urlencode(form) if form else None, headers)
        for line in answer.headers.get_all("Set-Cookie", []):
            cookies.load(line)
        return answer

    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', ask("GET", login).text)
    assert token is not None
    form = {"csrfmiddlewaretoken": token[1], "username": "root", "password": "root"}
    assert ask("POST", login, {**form, "next": reverse("admin:index")}).status == 302
    assert "Agent memory" in ask("GET", reverse("admin:index")).text
    for model in ("workspace", "note", "revision", "agentkey"):
        page = ask("GET", reverse(f"admin:agent_memory_{model}_changelist"))
        assert page.status == 200, page.text[:2000]
    first = min(docstrings)
    notes = ask("GET", reverse("admin:agent_memory_note_changelist") + f"?q={first}")
    assert first in notes.text


def test_a_power_cut_amid_writes(tmp_path: Path) -> None:
    with live_server(tmp_path) as server:
        acknowledged: list[int] = []
        many = Event()

        def write(number: int) -> None:
            key, text = f"note/{number:03}", f"text of {number} " * 200
            try:
                server.call("remember", key=key, summary=f"summary of {number}", body=text)
            except (OSError, http.client.HTTPException):
                return
            acknowledged.append(number)
            if len(acknowledged) >= 40:
                many.set()

        with ThreadPoolExecutor(20) as pool:
            writes = [pool.submit(write, number) for number in range(200)]
            assert many.wait(60)
            server.kill()
        for done in writes:
            done.result()
        assert 40 <= len(acknowledged) < 200

        server.start()
        notes = assert_whole(server)
        for number in acknowledged:
            assert f"note/{number:03}" in notes
        for key, note in notes.items():
            number = int(key.removeprefix("note/"))
            assert note["summary"] == f"summary of {number}"
            assert server.call("recall", key=key)["body"] == f"text of {number} " * 200
        server.call("remember", key="after", summary="s", body="the memory goes on")
        assert_whole(server)
